//! What administrators do: personal data, and how the services are doing.

use super::market::create_listing;
use super::*;

#[test]
fn a_person_is_found_exported_and_erased() {
    testkit::block_on(async {
        let office = Office::start().await;
        office.create_load(&json!({})).await;
        create_listing(&office, "sheep", &json!({})).await;
        let anna = office.browser("anna").await;
        assert!(anna.get("/personal-data").await.ok().contains("Search a person"));
        let found = anna.get("/personal-data?user=carys").await.ok();
        assert!(found.contains("<dt>Listings</dt><dd>1</dd>") && found.contains("Erase carys"), "{found}");
        let export = anna.get("/personal-data/export?user=carys").await;
        assert!(export.header("content-disposition").starts_with("attachment"), "{:?}", export.headers);
        let document: Value = serde_json::from_str(&export.text).unwrap();
        assert_eq!(document["livestock"]["listings"].as_array().unwrap().len(), 1);
        assert!(document["system"].is_object() && document["logistics"].is_object());

        let page = anna.get("/personal-data?user=owen").await;
        let erase = "/personal-data/erase";
        let refused = anna.send_form(&page, erase, &[("confirmation", "Owen")]).await;
        assert!(
            refused.status == 400 && refused.text.contains("Type the user id exactly"),
            "{}",
            refused.text
        );
        let unknown = anna.get("/personal-data?user=Owen+Pryce").await.ok();
        assert!(
            unknown.contains("Nothing is stored under the user id") && !unknown.contains(erase),
            "nothing to erase: {unknown}"
        );
        let nobody = anna.send_form(&page, erase, &[("user", ""), ("confirmation", "")]).await;
        assert!(nobody.status == 400 && nobody.text.contains("Type a user id."), "{}", nobody.text);
        assert_eq!(anna.get("/personal-data?user=..").await.status, 404, "no other path");
        let page = anna.send_form(&refused, erase, &[("confirmation", "owen")]).await;
        assert!(
            page.status == 200 && page.text.contains("changed") && page.text.contains("Go on"),
            "{}",
            page.text
        );
        let done = anna.send_form(&page, erase, &[]).await;
        assert!(done.text.contains("Nothing is left"), "{}", done.text);
        for path in ["/personal-data", "/personal-data?user=carys", "/personal-data/export?user=carys"] {
            let reply = office.browser("owen").await.get(path).await;
            assert!(reply.status == 403 && !reply.text.contains("Penybont"), "{path}: {}", reply.text);
        }
    });
}

#[test]
fn the_state_of_the_services_is_shown_and_the_log_level_changed() {
    testkit::block_on(async {
        let office = Office::start().await;
        let anna = office.browser("anna").await;
        let page = anna.get("/operations").await;
        for shown in [
            "System",
            "Logistics",
            "Livestock",
            ">Ready</span>",
            "Database",
            "Version",
            "Requests",
            "99 of 100 within",
        ] {
            assert!(page.text.contains(shown), "{shown}: {}", page.text);
        }
        let log = "/operations/log";
        let reply = anna.send_form(&page, log, &[("service", "livestock"), ("level", "debug")]).await;
        assert_eq!(reply.location(), "/operations?done=log", "{}", reply.text);
        let settings = office.livestock.get("/v1/settings").by(&moderation::anna()).send().await.ok();
        assert_eq!(settings["logging"]["level"], "debug");
        let wrong = anna.send_form(&page, log, &[("filter", "a=b=c")]).await;
        assert!(wrong.status == 400 && wrong.text.contains("role=\"alert\""), "{}", wrong.text);
        for (what, done) in [("places", "cache"), ("keys", "keys")] {
            let reply = anna.send_form(&page, "/operations/cache", &[("what", what)]).await;
            assert_eq!(reply.location(), format!("/operations?done={done}"), "{}", reply.text);
        }
        let owen = office.browser("owen").await;
        let refused = owen.get("/operations").await;
        assert!(refused.status == 403 && refused.text.contains("href=\"/account\""), "{}", refused.text);
        let account = owen.get("/account").await;
        assert!(account.text.contains("<b>Owen</b> of Border Grain Merchants"), "{}", account.text);
        assert!(owen.send_form(&account, "/logout", &[]).await.ok().contains("You are logged out"));
    });
}

#[test]
fn a_service_that_is_away_leaves_the_rest_usable() {
    testkit::block_on(async {
        let office = Office::start().await;
        let console = RunningConsole::start(Settings {
            system_url: "http://127.0.0.1:9".to_owned(),
            logistics_url: office.logistics.url.clone(),
            livestock_url: office.livestock.url.clone(),
            ..development()
        })
        .await;
        let id = create_listing(&office, "sheep", &json!({})).await;
        let browser = Browser::new(&console.url);
        browser.post("/login/person", &[("person", "anna"), ("to", "/")]).await;
        for path in [
            "/market",
            &format!("/market/{id}"),
            "/market/new/sheep",
            "/connections",
            "/moderation",
            "/personal-data?user=x",
        ] {
            assert_eq!(browser.get(path).await.status, 200, "{path}");
        }
        let files = browser.get("/files").await.ok();
        assert!(files.contains("The service with files is away"), "{files}");
        let operations = browser.get("/operations").await.ok();
        assert!(operations.contains(">Away</span>") && operations.contains(">Ready</span>"), "{operations}");
        assert_eq!(browser.get("/personal-data/export?user=x").await.status, 503);
    });
}
