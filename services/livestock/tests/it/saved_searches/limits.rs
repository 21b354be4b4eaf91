//! The limit of saved searches.

use livestock::{Livestock, Settings};
use serde_json::json;
use testkit::{App, Backend, User};

use super::save;
use crate::sample::start;

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
}

#[test]
fn the_limit_holds_across_replicas() {
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
