//! The settings document.

use serde_json::{Value, json};
use testkit::{App, Backend, User};

use crate::echo::{Echo, start};

fn put(app: &App, level: &str, filter: &str) -> testkit::TestRequest {
    let body = json!({"logging": {"level": level, "filter": filter}});
    app.call("PUT", "/v1/settings").by(&User::admin()).json(&body)
}

async fn get(app: &App) -> Value {
    app.get("/v1/settings").by(&User::admin()).send().await.ok()["logging"].clone()
}

#[test]
fn admins_can_change_them_to_valid_values() {
    testkit::block_on(async {
        let app = start().await;
        assert_eq!(get(&app).await, json!({"level": "info", "filter": ""}));
        for method in ["GET", "PUT"] {
            let call = || app.call(method, "/v1/settings").json(&json!({}));
            assert_eq!(call().send().await.error(401), "unauthenticated");
            assert_eq!(call().by(&User::of("a")).send().await.error(403), "forbidden");
        }
        let result = put(&app, "DeBuG", "logistics=debug,actix_web=warn").send().await.ok();
        assert_eq!(result["status"], "success");
        assert_eq!(get(&app).await, json!({"level": "debug", "filter": "logistics=debug,actix_web=warn"}));
        for valid in ["", " ", "*", "warn", "a::b=trace", "[span{field=1}]=info"] {
            assert_eq!(put(&app, "warn", valid).send().await.status, 200, "{valid}");
        }
        for invalid in ["a=b=c", "logistics=loud", "[", "a=\u{1}"] {
            let reply = put(&app, "loud", invalid).send().await;
            assert_eq!(reply.errors(), ["logging.filter format", "logging.level enum"], "{invalid}");
        }
        let body = put(&app, "loud", "").send().await.json();
        assert_eq!(body["validation"][0]["data"]["allowed"][0], "off");
        assert_eq!(put(&app, "", "").send().await.errors(), ["logging.level length"]);
        assert_eq!(
            put(&app, "info", &"a=info,".repeat(200)).send().await.errors(),
            ["logging.filter length"]
        );
        let call = |body: Value| app.call("PUT", "/v1/settings").by(&User::admin()).json(&body);
        assert_eq!(call(json!({})).send().await.errors(), ["logging required"]);
        assert_eq!(call(json!({"logging": {}})).send().await.errors(), ["logging.level required"]);
        assert_eq!(call(json!({"logging": {"level": "error"}})).send().await.status, 200);
        assert_eq!(get(&app).await, json!({"level": "error", "filter": ""}));
    });
}

testkit::on_both! {
    async fn they_survive_a_restart(backend) {
        let app = App::start::<Echo>(backend, ()).await;
        put(&app, "warn", "echo=debug").send().await.ok();
        let app = App::start_on::<Echo>(app.stop().await, ()).await;
        assert_eq!(get(&app).await, json!({"level": "warn", "filter": "echo=debug"}));
    }
}

#[test]
fn another_replica_on_postgres_shows_them() {
    testkit::block_on(async {
        let one = App::start::<Echo>(Backend::Postgres, ()).await;
        let two = App::start_replica::<Echo>(&one, ()).await;
        put(&one, "trace", "").send().await.ok();
        // `GET` reads the stored document. `common::settings::tests` tests that the replica itself applies it.
        assert_eq!(get(&two).await["level"], "trace");
    });
}
