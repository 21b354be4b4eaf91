//! The limits of saved searches: of each user, of one search, and of all in memory.

use livestock::{Livestock, Settings};
use serde_json::{Value, json};
use testkit::{App, Backend, User};

use super::{new_matches, save, wait_until_matched};
use crate::sample::{create, full, start};

/// Saves a search. Returns the status of the response.
async fn try_save(app: &App, user: &User) -> u16 {
    let form = json!({"name": "x", "parameters": {}, "notify": false});
    app.post("/v1/saved-searches").by(user).json(&form).send().await.status
}

testkit::on_both! {
    async fn a_user_has_at_most_50_searches(backend) {
        let (app, ann) = (start(backend).await, User::individual("ann"));
        let mut paths = Vec::new();
        for _ in 0..48 {
            paths.push(save(&app, &ann, json!({}), false).await);
        }
        let attempts = (0..10).map(|_| try_save(&app, &ann));
        let mut statuses = futures_util::future::join_all(attempts).await;
        statuses.sort_unstable();
        assert_eq!(statuses[..2], [200; 2]);
        assert!(statuses[2..].iter().all(|status| *status == 409), "{statuses:?}");
        let form = json!({"name": "x", "parameters": {}, "notify": true});
        let refused = app.post("/v1/saved-searches").by(&ann).json(&form).send().await;
        assert_eq!(refused.error(409), "conflict");
        assert_eq!(try_save(&app, &User::individual("bob")).await, 200);
        app.call("DELETE", &paths[7]).by(&ann).send().await.ok();
        assert_eq!(try_save(&app, &ann).await, 200);
        assert_eq!(try_save(&app, &ann).await, 409);
    }

    async fn the_parameters_of_a_search_have_at_most_4_kib_and_50_values(backend) {
        let (app, ann) = (start(backend).await, User::individual("ann"));
        let post = async |parameters: &Value, notify: bool| {
            let form = json!({"name": "x", "parameters": parameters, "notify": notify});
            app.post("/v1/saved-searches").by(&ann).json(&form).send().await
        };
        // 4,096 bytes as JSON, 21 of them are names, quotes and braces.
        let of_size = |bytes: usize| {
            let society = "x".repeat(990);
            let rest = "x".repeat(bytes - json!({"f:commodityBreedSociety": vec![&society; 4], "query": ""}).to_string().len());
            json!({"f:commodityBreedSociety": vec![society; 4], "query": rest})
        };
        assert_eq!(of_size(4096).to_string().len(), 4096);
        for notify in [true, false] {
            post(&of_size(4096), notify).await.ok();
            assert_eq!(post(&of_size(4097), notify).await.errors(), ["parameters length"]);
        }
        // Values separated by commas count each, and so does every other parameter.
        let values = |count: usize| {
            let breeds = (0..count - 3).map(|n| format!("b{n}")).collect::<Vec<_>>().join(",");
            json!({"f:commodityBreed": [breeds, "c"], "f:commodityBreedSociety": "a", "minAge": "5"})
        };
        post(&values(50), true).await.ok();
        assert_eq!(post(&values(51), true).await.errors(), ["parameters length"]);
        let saved = post(&values(51), false).await.ok();
        // Without notify there are more, and they stay when something else is changed.
        let path = format!("/v1/saved-searches/{}", saved["id"].as_str().unwrap());
        let patch = async |patch: Value| app.call("PATCH", &path).by(&ann).json(&patch).send().await;
        patch(json!({"name": "other"})).await.ok();
        assert_eq!(patch(json!({"notify": true})).await.errors(), ["parameters length"]);
        patch(json!({"notify": true, "parameters": {"minAge": null}})).await.ok();
        assert_eq!(patch(json!({"parameters": {"minAge": "5"}})).await.errors(), ["parameters length"]);
    }

    async fn searches_with_notify_have_a_budget_of_memory(backend) {
        let large = start(backend).await;
        let ann = User::individual("ann");
        let matching = save(&large, &ann, json!({"f:commodityBreed": "hereford"}), true).await;
        let breeds = |count: usize| json!({"f:commodityBreed": (0..count).map(|n| format!("b{n}")).collect::<Vec<_>>()});
        let long = save(&large, &ann, breeds(50), true).await;
        // A replica, or a later start, with a budget that they exceed. On SQLite both use one file here.
        let settings = Settings { saved_search_bytes: 5_000, ..Settings::default() };
        let app = App::start_replica::<Livestock>(&large, settings).await;
        let post = async |notify: bool| {
            let form = json!({"name": "x", "parameters": {}, "notify": notify});
            app.post("/v1/saved-searches").by(&ann).json(&form).send().await
        };
        let refused = post(true).await;
        assert_eq!(refused.json()["body"]["reason"], "limit_reached");
        assert_eq!(refused.error(409), "conflict");
        let silent = format!("/v1/saved-searches/{}", post(false).await.ok()["id"].as_str().unwrap());
        let patch = async |path: &str, patch: Value| app.call("PATCH", path).by(&ann).json(&patch).send().await;
        assert_eq!(patch(&silent, json!({"notify": true})).await.error(409), "conflict");
        assert_eq!(patch(&matching, json!({"parameters": {"query": "quiet"}})).await.error(409), "conflict");
        // The present ones work, and may become smaller.
        create(&app, &User::of("seller"), &full()).await;
        wait_until_matched(&app, backend).await;
        assert_eq!(new_matches(&app, &ann, &matching).await, 1);
        patch(&long, json!({"name": "other", "parameters": breeds(49)})).await.ok();
        patch(&long, json!({"notify": false})).await.ok();
        patch(&silent, json!({"notify": true})).await.ok();
        let mut saved = 0;
        while post(true).await.status == 200 {
            saved += 1;
        }
        assert_eq!(saved, 5, "each takes 704 bytes, and the others 1,468");
    }
}

#[test]
fn the_limit_holds_across_replicas_on_postgres() {
    testkit::block_on(async {
        let first = start(Backend::Postgres).await;
        let second = App::start_replica::<Livestock>(&first, Settings::default()).await;
        let ann = User::individual("ann");
        for _ in 0..49 {
            save(&first, &ann, json!({}), false).await;
        }
        let attempts = (0..8).map(|n| try_save(if n % 2 == 0 { &first } else { &second }, &ann));
        let statuses = futures_util::future::join_all(attempts).await;
        assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
        assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 7, "{statuses:?}");
    });
}
