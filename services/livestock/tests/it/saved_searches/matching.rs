//! Listings that match saved searches with `notify`.

use livestock::{Livestock, Settings};
use serde_json::{Value, json};
use testkit::{App, Backend, User, WebhookReceiver, wait_until};
use wiremock::ResponseTemplate;

use super::{new_matches, save, stored_matches, wait_until_matched};
use crate::lifecycle::{draft, read_as_sent, to};
use crate::sample::{create, full, ids, plain, start, with};

fn breed(name: &str) -> Value {
    plain(&json!({"breed": name}))
}

/// Records that an active listing was edited.
fn record_edit(app: &App, backend: Backend, id: &str) {
    let at = if backend == Backend::Postgres { "now()" } else { "1" };
    app.database.execute(&format!(
        "INSERT INTO listing_events (listing_id, user_id, from_status, to_status, at)
         VALUES ({}, 'u', 'active', 'active', {at})",
        backend.id(id)
    ));
}

testkit::on_both! {
    async fn a_match_is_an_event_to_the_webhooks_of_the_users_organisation(backend) {
        let settings = Settings {
            system_url: "http://127.0.0.1:1".into(), webhook_allow_private: true, webhook_retry_seconds: 0,
            ..Settings::default()
        };
        let app = App::start::<Livestock>(backend, settings).await;
        let (own, other) = (WebhookReceiver::start(ResponseTemplate::new(200)).await, WebhookReceiver::start(ResponseTemplate::new(200)).await);
        let (ann, seller) = (User::of("buyers").with("sub", "ann"), User::of("seller"));
        let register = async |organisation: &str, receiver: &WebhookReceiver| {
            let form = json!({"url": receiver.url(), "events": ["listing.matched"]});
            app.post("/v1/webhooks").by(&User::of(organisation)).json(&form).send().await.ok()
        };
        let webhook = register("buyers", &own).await;
        register("seller", &other).await;
        let secret = webhook["secret"].as_str().unwrap();
        let form = json!({"name": "\"Herefords\" \\ 🐄", "parameters": {"f:commodityBreed": ["hereford"]}, "notify": true});
        let saved = app.post("/v1/saved-searches").by(&ann).json(&form).send().await.ok();
        let path = format!("/v1/saved-searches/{}", saved["id"].as_str().unwrap());
        let silent = save(&app, &ann, json!({"f:commodityBreed": ["hereford"]}), false).await;
        // The user acts for another organisation later on.
        let ann = User::individual("ann");
        create(&app, &seller, &breed("Texel")).await;
        let listing = create(&app, &seller, &full()).await;
        let requests = own.wait_for(1).await;
        let message: Value = serde_json::from_slice(&requests[0].body).unwrap();
        assert_eq!(message, json!({
            "id": message["id"], "type": "listing.matched", "timestamp": message["timestamp"],
            "data": {"savedSearchId": saved["id"], "name": saved["name"], "userId": "ann",
                "matches": [{"savedSearchId": saved["id"], "name": saved["name"], "userId": "ann"}],
                "listing": read_as_sent(&app, &ann, &listing).await},
        }));
        assert_eq!(requests[0].headers["webhook-signature"].to_str().unwrap(), testkit::webhook_signature(&requests[0], secret));
        assert_eq!((new_matches(&app, &ann, &path).await, new_matches(&app, &ann, &silent).await), (json!(1), json!(0)));
        wait_until_matched(&app, backend).await;
        assert_eq!((own.requests().await.len(), other.requests().await.len()), (1, 0));
    }

    async fn texts_are_compared_folded(backend) {
        let (app, ann, seller) = (start(backend).await, User::of("buyers"), User::of("seller").with("orgName", "\u{c9}mile & Sons"));
        let mut paths = Vec::new();
        for parameters in [
            json!({"f:commodityBreed": ["Our\u{2019}s Own"]}), json!({"f:commodityBreed": "OURS-OWN"}), json!({"query": "obrien emile-and"}),
            json!({"f:commodityBreedSociety": ["Soci\u{e9}t\u{e9}"], "query": "(M\u{f4}n)"}), json!({"f:commodityBreed": ["Our"]}),
        ] {
            paths.push(save(&app, &ann, parameters, true).await);
        }
        let properties = json!({"breed": "our's  own", "breedSociety": "SOCIETE"});
        let listing = with(plain(&properties), "/description", json!("O\u{2bc}Brien, Ynys Mon"));
        create(&app, &seller, &listing).await;
        wait_until_matched(&app, backend).await;
        for (path, matches) in paths.iter().zip([1, 1, 1, 1, 0]) {
            assert_eq!(new_matches(&app, &ann, path).await, json!(matches), "{path}");
        }
    }

    async fn a_webhook_of_scope_all_gets_the_matches_of_all_users(backend) {
        let settings = Settings {
            system_url: "http://127.0.0.1:1".into(), webhook_allow_private: true, webhook_retry_seconds: 0,
            ..Settings::default()
        };
        let app = App::start::<Livestock>(backend, settings).await;
        let (all, own) = (WebhookReceiver::start(ResponseTemplate::new(200)).await, WebhookReceiver::start(ResponseTemplate::new(200)).await);
        let (alone, buyer) = (User::individual("ann"), User::of("buyers"));
        let warned = save(&app, &alone, json!({}), true).await;
        assert_eq!(app.get(&warned).by(&alone).send().await.ok()["warnings"][0]["code"], "no_webhook");
        let form = json!({"url": all.url(), "events": ["listing.matched"], "scope": "all"});
        app.post("/v1/webhooks").by(&User::admin()).json(&form).send().await.ok();
        let form = json!({"url": own.url(), "events": ["listing.matched"]});
        app.post("/v1/webhooks").by(&buyer).json(&form).send().await.ok();
        assert_eq!(app.get(&warned).by(&alone).send().await.ok().get("warnings"), None);
        save(&app, &buyer, json!({}), true).await;
        create(&app, &User::of("seller"), &full()).await;
        let data = async |receiver: &WebhookReceiver| {
            let message: Value = serde_json::from_slice(&receiver.wait_for(1).await[0].body).unwrap();
            let matches = message["data"]["matches"].as_array().unwrap();
            let mut users: Vec<_> = matches.iter().map(|found| found["userId"].as_str().unwrap().to_owned()).collect();
            users.sort();
            users
        };
        assert_eq!(data(&own).await, ["user-of-buyers"]);
        assert_eq!(data(&all).await, ["ann", "user-of-buyers"]);
        wait_until_matched(&app, backend).await;
        assert_eq!((all.requests().await.len(), own.requests().await.len()), (1, 1), "one event of a listing");
    }

    /// Many searches and webhooks multiply neither the bodies of listings nor the events of a webhook.
    async fn a_listing_is_one_event_of_a_webhook(backend) {
        let app = start(backend).await;
        let (buyer, seller) = (User::of("buyers"), User::of("seller"));
        for _ in 0..20 {
            let hook = json!({"url": "https://127-0-0-1.invalid/", "events": ["listing.matched"]});
            app.post("/v1/webhooks").by(&buyer).json(&hook).send().await.ok();
        }
        for _ in 0..50 {
            save(&app, &buyer, json!({}), true).await;
        }
        for _ in 0..5 {
            let mut large = full();
            large["description"] = json!("a large animal ".repeat(600));
            create(&app, &seller, &large).await;
        }
        wait_until_matched(&app, backend).await;
        let stored = |table: &str| app.database.count(table);
        assert_eq!((stored_matches(&app, backend), stored("webhook_deliveries"), stored("webhook_messages")), (250, 100, 5));
        assert_eq!(stored("webhook_message_users"), 5, "a user of all searches");
    }

    async fn new_matches_count_until_the_listings_are_read(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let path = save(&app, &farm, json!({"f:commodityBreed": ["hereford"]}), true).await;
        // Listings of the own organisation match too. A draft matches once it is published.
        let (first, second) = (create(&app, &farm, &full()).await, draft(&app, &farm).await);
        wait_until_matched(&app, backend).await;
        assert_eq!(new_matches(&app, &farm, &path).await, json!(1));
        to(&app, &farm, &second, "active").send().await.ok();
        wait_until_matched(&app, backend).await;
        let unread = app.get(&path).by(&farm).send().await;
        assert_eq!((unread.header("etag"), unread.json()["newMatches"].take()), ("\"3\"", json!(2)));
        let found = app.get(&format!("{path}/listings?limit=1")).by(&farm).send().await.ok();
        assert_eq!(ids(&found), [second.as_str()]);
        let reply = app.get(&path).by(&farm).send().await;
        assert_eq!((reply.header("etag"), reply.json()["newMatches"].take()), ("\"4\"", json!(0)));
        app.get(&format!("{path}/listings")).by(&farm).send().await.ok();
        assert_eq!(app.get(&path).by(&farm).header("if-none-match", "\"4\"").send().await.status, 304);
        to(&app, &farm, &first, "sold").send().await.ok();
        create(&app, &farm, &full()).await;
        wait_until_matched(&app, backend).await;
        assert_eq!(new_matches(&app, &farm, &path).await, json!(1));
        // What matched a closed listing is forgotten.
        assert_eq!(stored_matches(&app, backend), 2);
    }

    async fn an_edit_matches_for_the_first_time_only(backend) {
        let (app, farm, ann) = (start(backend).await, User::of("farm"), User::individual("ann"));
        let path = save(&app, &ann, json!({"f:commodityBreed": ["angus"]}), true).await;
        let listing = create(&app, &farm, &breed("Hereford")).await;
        for (parameters, expected) in [
            (json!({}), 0),
            (json!({"f:commodityBreed": ["hereford", "texel"]}), 1),
            (json!({"f:commodityType": "cattle"}), 1),
            (json!({"f:commodityBreed": ["angus"]}), 1),
            (json!({"f:commodityBreed": ["hereford"]}), 1),
        ] {
            app.call("PATCH", &path).by(&ann).json(&json!({"parameters": parameters})).send().await.ok();
            for _ in 0..2 {
                record_edit(&app, backend, &listing);
            }
            wait_until_matched(&app, backend).await;
            assert_eq!(new_matches(&app, &ann, &path).await, json!(expected), "{parameters}");
        }
    }

    /// While a replica of 1.1 is replaced by one of 1.2.
    async fn matches_of_the_previous_release_count_and_are_not_stored_again(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let first = create(&app, &farm, &full()).await;
        wait_until_matched(&app, backend).await;
        let path = save(&app, &farm, json!({}), true).await;
        let search = backend.id(path.rsplit('/').next().unwrap());
        let match_as_before = |listing: &str| {
            app.database.execute(&format!(
                "INSERT INTO saved_search_matches (search_id, listing_id, number) VALUES ({search}, {}, 1)",
                backend.id(listing)
            ));
            app.database.execute(&format!(
                "UPDATE saved_searches SET matched = matched + 1, revision = revision + 1 WHERE id = {search}"
            ));
        };
        let state = async || {
            let reply = app.get(&path).by(&farm).send().await;
            (reply.header("etag").to_owned(), reply.json()["newMatches"].take())
        };
        match_as_before(&first);
        assert_eq!(state().await, ("\"2\"".to_owned(), json!(1)));
        record_edit(&app, backend, &first);
        wait_until_matched(&app, backend).await;
        assert_eq!(state().await, ("\"2\"".to_owned(), json!(1)), "it has matched before");
        create(&app, &farm, &full()).await;
        wait_until_matched(&app, backend).await;
        assert_eq!(state().await, ("\"3\"".to_owned(), json!(2)));
        let draft = draft(&app, &farm).await;
        match_as_before(&draft);
        assert_eq!(state().await, ("\"4\"".to_owned(), json!(3)));
        let listed = app.get("/v1/saved-searches").by(&farm).send().await.ok();
        assert_eq!(listed[0]["newMatches"], 3);
        app.get(&format!("{path}/listings")).by(&farm).send().await.ok();
        assert_eq!(state().await, ("\"5\"".to_owned(), json!(0)));
        let patch = async |if_match: &str| {
            app.call("PATCH", &path).by(&farm).header("if-match", if_match).json(&json!({"name": "other"})).send().await
        };
        assert_eq!(patch("\"4\"").await.json()["body"]["revision"], 5);
        let patched = patch("\"5\"").await;
        assert_eq!((patched.header("etag"), patched.status), ("\"6\"", 200));
        assert_eq!(state().await, ("\"6\"".to_owned(), json!(0)));
        // What the listing matched is forgotten when it is closed, and the rest with the search.
        to(&app, &farm, &first, "sold").send().await.ok();
        wait_until_matched(&app, backend).await;
        assert_eq!(app.database.count("saved_search_matches"), 1);
        app.call("DELETE", &path).by(&farm).send().await.ok();
        assert_eq!(app.database.count("saved_search_matches"), 0);
    }

    async fn changed_searches_match_as_they_are(backend) {
        let (app, farm, ann) = (start(backend).await, User::of("farm"), User::individual("ann"));
        // Older than the search.
        create(&app, &farm, &full()).await;
        let path = save(&app, &ann, json!({"f:commodityBreed": ["hereford"]}), false).await;
        create(&app, &farm, &full()).await;
        let patch = async |change: Value| app.call("PATCH", &path).by(&ann).json(&change).send().await.ok();
        patch(json!({"notify": true})).await;
        wait_until_matched(&app, backend).await;
        assert_eq!(new_matches(&app, &ann, &path).await, json!(0));
        create(&app, &farm, &full()).await;
        wait_until_matched(&app, backend).await;
        patch(json!({"parameters": {"f:commodityBreed": ["texel"]}})).await;
        create(&app, &farm, &full()).await;
        create(&app, &farm, &breed("Texel")).await;
        wait_until_matched(&app, backend).await;
        assert_eq!(new_matches(&app, &ann, &path).await, json!(2));
        patch(json!({"notify": false})).await;
        create(&app, &farm, &breed("Texel")).await;
        wait_until_matched(&app, backend).await;
        assert_eq!(new_matches(&app, &ann, &path).await, json!(2));
        let other = save(&app, &ann, json!({}), true).await;
        app.call("DELETE", &other).by(&ann).send().await.ok();
        create(&app, &farm, &full()).await;
        wait_until_matched(&app, backend).await;
        assert_eq!(stored_matches(&app, backend), 2);
    }

    async fn wishlists_are_those_at_the_time_of_the_match(backend) {
        let (app, farm, bob) = (start(backend).await, User::of("farm"), User::of("farm").with("sub", "bob"));
        let mut paths = Vec::new();
        for user in [&farm, &bob] {
            paths.push(save(&app, user, json!({"isWishlisted": "true", "f:commodityBreed": ["hereford"]}), true).await);
        }
        let (wished, other) = (draft(&app, &farm).await, draft(&app, &farm).await);
        app.call("PUT", &format!("/v1/listings/{wished}/wishlist")).by(&farm).send().await.ok();
        for id in [&wished, &other] {
            to(&app, &farm, id, "active").send().await.ok();
        }
        wait_until_matched(&app, backend).await;
        assert_eq!(new_matches(&app, &farm, &paths[0]).await, json!(1));
        assert_eq!(new_matches(&app, &bob, &paths[1]).await, json!(0));
    }

    async fn many_searches_match_one_listing(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let mut saved = Vec::new();
        for user in 0..9 {
            let user = User::individual(&format!("user {user}"));
            for _ in 0..50 {
                saved.push((user.clone(), save(&app, &user, json!({"f:commodityType": "cattle"}), true).await));
            }
        }
        for _ in 0..2 {
            create(&app, &farm, &full()).await;
        }
        wait_until(async || app.database.count("saved_search_counts WHERE matched = 2") == 450).await;
        wait_until_matched(&app, backend).await;
        assert_eq!(stored_matches(&app, backend), 900);
        assert_eq!(new_matches(&app, &saved[449].0, &saved[449].1).await, json!(2));
    }
}
