//! Webhooks, service accounts and saved searches.

use testkit::WebhookReceiver;
use wiremock::ResponseTemplate;

use super::market::{carys, create_listing_at};
use super::*;

/// Where a secret is shown.
const SECRET: &str = "/connections/secret";

/// A console with a market whose webhooks may reach this machine.
async fn local(office: &Office) -> (App, RunningConsole) {
    let settings = livestock::Settings {
        system_url: office.system.url.clone(),
        webhook_allow_private: true,
        ..Default::default()
    };
    let market = Box::pin(App::start::<Livestock>(Backend::Sqlite, settings)).await;
    let console = RunningConsole::start(Settings {
        system_url: office.system.url.clone(),
        logistics_url: office.logistics.url.clone(),
        livestock_url: market.url.clone(),
        ..development()
    })
    .await;
    (market, console)
}

async fn carys_at(console: &RunningConsole) -> Browser {
    let browser = Browser::new(&console.url);
    browser.post("/login/person", &[("person", "carys"), ("to", "/")]).await;
    browser
}

#[test]
fn a_webhook_is_made_tested_and_its_secret_is_shown_until_somebody_has_it() {
    testkit::block_on(async {
        let office = Office::start().await;
        let (_market, console) = local(&office).await;
        let receiver = WebhookReceiver::start(ResponseTemplate::new(202)).await;
        let browser = carys_at(&console).await;
        let path = "/connections/webhooks/market/new";
        let form = browser.get(path).await;
        let refused =
            browser.send_form(&form, path, &[("url", "ftp://x"), ("events", "listing.published")]).await;
        assert!(refused.status == 400 && refused.text.contains("error-url"), "{}", refused.text);
        let events = [("url", &*receiver.url()), ("description", "Office")];
        let made = browser.send_form(&refused, path, &events).await;
        assert_eq!((made.status, made.location()), (303, SECRET), "{}", made.text);
        // The secret stays, also when the page is loaded again, until the person has it.
        let form = browser.get(SECRET).await;
        assert_eq!(browser.get(SECRET).await.text, form.text);
        let text = &form.text;
        assert!(text.contains("value=\"whsec_") && text.contains("readonly data-copy"), "{text}");
        assert!(browser.get("/connections").await.ok().contains("A secret waits to be copied."));
        let stranger = carys_at(&console).await;
        assert_eq!(stranger.get(SECRET).await.location(), "/connections", "another browser");
        stranger.post("/login/person", &[("person", "silas"), ("to", "/")]).await;
        let cookies = stranger.cookies();
        let secret =
            browser.cookies().split("; ").find(|pair| pair.starts_with("drover-secret=")).unwrap().to_owned();
        stranger.set_cookies(&format!("{cookies}; {secret}"));
        assert_eq!(stranger.get(SECRET).await.location(), "/connections", "somebody else");
        let have = browser.send_form(&form, SECRET, &[]).await;
        let own = have.location().to_owned();
        assert!(own.starts_with("/connections/webhooks/market/"), "{own}");
        assert_eq!(browser.get(SECRET).await.location(), "/connections", "it is gone");
        let page = browser.get(&own).await;
        assert!(
            !page.text.contains("whsec_") && page.text.contains("nothing delivered yet"),
            "{}",
            page.text
        );

        // A test shows its outcome at once: status, time, body and headers.
        let tested = browser.send_form(&page, &format!("{own}/test"), &[("event", "listing.closed")]).await;
        assert!(tested.status == 303 && tested.location().contains("/deliveries/"), "{}", tested.text);
        let delivery = browser.get(tested.location()).await;
        for shown in [
            "Answered 202",
            " ms",
            "webhook-signature",
            "Drover-Webhook-Id",
            "&quot;test&quot;: true",
            "Delivered",
        ] {
            assert!(delivery.text.contains(shown), "{shown}: {}", delivery.text);
        }
        let again = browser.send_form(&delivery, &format!("{}/redeliver", tested.location()), &[]).await;
        assert_eq!((again.status, again.location()), (303, tested.location()), "{}", again.text);
        receiver.wait_for(2).await;

        // Two edits at the same time: what only the other one changed stays.
        let edit = format!("{own}/edit");
        let (form, other) = (browser.get(&edit).await, browser.get(&edit).await);
        assert_eq!(browser.send_form(&other, &edit, &[("description", "Shop")]).await.status, 303);
        let asked = browser.send_form(&form, &edit, &[("events", "listing.updated")]).await;
        assert!(asked.status == 412 && asked.text.contains("Shop"), "{}", asked.text);
        let saved = browser.send_form(&asked, &edit, &[("description", "Office")]).await;
        assert_eq!(saved.status, 303, "{}", saved.text);
        let page = browser.get(&own).await;
        assert!(page.text.contains("listing.updated"), "{}", page.text);

        for command in ["/rotate-secret", "{&quot;status&quot;:&quot;disabled&quot;}"] {
            assert!(page.text.contains(command), "{command}: {}", page.text);
        }
        let rotated = browser.send_form(&page, &format!("{own}/rotate"), &[]).await;
        assert!(browser.get(rotated.location()).await.ok().contains("value=\"whsec_"));
        let replayed = browser.send_form(&page, &format!("{own}/rotate"), &[]).await;
        assert!(replayed.text.contains("It was shown once"), "{}", replayed.text);
        let list = browser.get("/connections").await.ok();
        assert!(list.contains("100 % of 1 event delivered") && list.contains("Office"), "{list}");
        // Nobody else sees it.
        let stranger = Browser::new(&console.url);
        stranger.post("/login/person", &[("person", "silas"), ("to", "/")]).await;
        assert!(!stranger.get("/connections").await.ok().contains(&receiver.url()));
        assert!(matches!(stranger.get(&own).await.status, 403 | 404));
        let reply = browser.send_form(&page, &format!("{own}/delete"), &[]).await;
        assert_eq!(reply.location(), "/connections?done=deleted", "{}", reply.text);
    });
}

#[test]
fn a_disabled_webhook_is_a_banner_and_what_failed_is_counted() {
    testkit::block_on(async {
        let office = Office::start().await;
        let (market, console) = local(&office).await;
        create_listing_at(&market, "sheep", &json!({})).await;
        // 410 switches it off.
        let receiver = WebhookReceiver::start(ResponseTemplate::new(410)).await;
        let browser = carys_at(&console).await;
        let path = "/connections/webhooks/market/new";
        let typed = [("url", &*receiver.url()), ("events", "listing.published")];
        let made = browser.fill(path, path, &typed).await;
        let secret = browser.get(made.location()).await;
        let own = browser.send_form(&secret, SECRET, &[]).await.location().to_owned();
        let page = browser.get(&own).await;
        browser.send_form(&page, &format!("{own}/test"), &[]).await;
        let list = browser.get("/connections").await.ok();
        assert!(list.contains("is switched off") && list.contains("role=\"alert\""), "{list}");
        assert!(list.contains("1 event did not arrive"), "{list}");
        let today = browser.get("/").await.ok();
        assert!(
            today.contains("1 webhook switched off") && today.contains("1 delivery to webhooks failed"),
            "{today}"
        );
        let page = browser.get(&own).await;
        assert!(
            page.text.contains("It has been off since")
                && page.text.contains("No event happened meanwhile")
                && page.text.contains("event feed"),
            "{}",
            page.text
        );
        // What it misses is counted: events of its types, until it gets them again.
        let missed = create_listing_at(&market, "sheep", &json!({})).await;
        create_listing_at(&market, "sheep", &json!({})).await;
        let edit = market.call("PATCH", &format!("/v1/listings/{missed}")).by(&carys());
        edit.json(&json!({"description": "Sound."})).send().await.ok();
        let page = browser.get(&own).await;
        assert!(page.text.contains("2 events happened meanwhile, which are not kept"), "{}", page.text);
        let enabled = browser.send_form(&page, &format!("{own}/enable"), &[]).await;
        let page = browser.get(enabled.location()).await;
        assert!(
            page.text.contains("1 event failed in all")
                && page.text.contains("It was off since")
                && page.text.contains("2 events happened meanwhile, which are not kept for it")
                && page.text.contains("name=\"since\" value=\"")
                && !page.text.contains("is switched off"),
            "{}",
            page.text
        );
        let wrong = browser.send_form(&page, &format!("{own}/redeliver"), &[("since", "soon")]).await;
        assert_eq!(wrong.status, 400, "{}", wrong.text);
        let reply = browser.send_form(&page, &format!("{own}/redeliver"), &[("since", "1 Jan 2026")]).await;
        assert_eq!(reply.location(), format!("{own}?done=redelivered&count=1"), "{}", reply.text);
        let failed = browser.get(&format!("{own}?status=failed")).await.ok();
        assert!(failed.contains("Deliveries"), "{failed}");
    });
}

#[test]
fn what_a_webhook_of_loads_misses_is_counted() {
    testkit::block_on(async {
        let office = Office::start().await;
        let browser = office.browser("owen").await;
        let path = "/connections/webhooks/loads/new";
        let typed = [("url", "https://hooks.example.com/drover"), ("events", "load.created")];
        let made = browser.fill(path, path, &typed).await;
        let secret = browser.get(made.location()).await;
        let own = browser.send_form(&secret, SECRET, &[]).await.location().to_owned();
        let create = async |count: usize| {
            for number in 0..count {
                office.create_load(&json!({"reference": format!("BG-{number}")})).await;
            }
        };
        let switch = async |action: &str| {
            let reply = browser.fill(&own, &format!("{own}/{action}"), &[]).await;
            assert_eq!(reply.status, 303, "{}", reply.text);
            reply.location().to_owned()
        };
        create(1).await;
        let off = switch("disable").await;
        create(1).await;
        let page = browser.get(&off).await.ok();
        assert!(page.contains("1 event happened meanwhile, which is not kept"), "{page}");
        let on = switch("enable").await;
        create(1).await;
        let page = browser.get(&on).await.ok();
        assert!(page.contains("1 event happened meanwhile"), "what came afterwards is not missed: {page}");
        let off = switch("disable").await;
        create(20).await;
        let page = browser.get(&off).await.ok();
        assert!(page.contains("20 or more events happened meanwhile"), "{page}");
    });
}

#[test]
fn a_program_gets_an_account() {
    testkit::block_on(async {
        let office = Office::start().await;
        let browser = office.browser("carys").await;
        let path = "/connections/accounts/new";
        let refused = browser.fill(path, path, &[]).await;
        assert!(refused.status == 400 && refused.text.contains("error-name"), "{}", refused.text);
        let made =
            browser.send_form(&refused, path, &[("name", "Weighbridge"), ("roles", "weighbridge")]).await;
        let secret = browser.get(made.location()).await;
        assert!(
            secret.text.contains("Client secret") && secret.text.contains("I have it"),
            "{}",
            secret.text
        );
        browser.fill("/", "/logout", &[]).await;
        assert_eq!(browser.cookies(), "", "log-out forgets it");
        let browser = office.browser("carys").await;
        let list = browser.get("/connections").await;
        for shown in ["Weighbridge", "only weighs", "never used"] {
            assert!(list.text.contains(shown), "{shown}: {}", list.text);
        }
        let action =
            list.text.split("action=\"").find(|part| part.starts_with("/connections/accounts/")).unwrap();
        let rotate = action.split('"').next().unwrap();
        let rotated = browser.send_form(&list, rotate, &[]).await;
        assert!(
            rotate.ends_with("/rotate") && browser.get(rotated.location()).await.ok().contains("data-copy")
        );
        // A double click makes one secret.
        let again = browser.send_form(&list, rotate, &[]).await;
        assert!(again.text.contains("It was shown once"), "{}", again.text);
        let delete = rotate.replace("/rotate", "/delete");
        assert_eq!(browser.send_form(&list, &delete, &[]).await.location(), "/connections?done=deleted");
        assert!(!browser.get("/connections").await.ok().contains("Weighbridge<"));
    });
}

#[test]
fn a_saved_search_opens_and_is_deleted() {
    testkit::block_on(async {
        let office = Office::start().await;
        let browser = office.browser("tom").await;
        let save = "/market/save?breed=Texel&within=50&near=LD3";
        let reply = browser.fill(save, "/market/save", &[("name", "Ewes")]).await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        let list = browser.get("/connections").await;
        assert!(list.text.contains("Ewes") && list.text.contains("Breed: Texel"), "{}", list.text);
        let path =
            list.text.split("href=\"").find(|part| part.starts_with("/connections/searches/")).unwrap();
        let path = path.split('"').next().unwrap();
        let opened = browser.get(path).await;
        assert_eq!((opened.status, opened.location()), (303, "/market?breed=Texel&near=LD3&within=50"));
        let rest = format!("{path}/rest");
        assert_eq!(browser.send_form(&list, &rest, &[]).await.location(), "/connections?done=saved");
        let list = browser.get("/connections").await;
        assert!(list.text.contains("Count new ones"), "{}", list.text);
        let reply = browser.send_form(&list, &format!("{path}/delete"), &[]).await;
        assert_eq!(reply.location(), "/connections?done=deleted");
        assert_eq!(office.browser("carys").await.get(path).await.status, 404);
    });
}
