//! The security log (docs/operations/logs.md): each event once, and no more lines than a client is worth.

use std::time::Instant;

use serde_json::{Value, json};
use system::System;
use testkit::{Backend, Process, TestDatabase, User};

use crate::files::{form, id, part};
use crate::service_accounts::{FORM, credentials, decoded, named, path};
use crate::store_url;

async fn start(backend: Backend) -> (Process, TestDatabase, tempfile::TempDir) {
    let (database, folder) = (TestDatabase::new::<System>(backend).await, tempfile::tempdir().unwrap());
    let settings = [("DATABASE__URL", &*database.url), ("SERVICE__STORE_URL", &store_url(&folder))];
    (Process::start(env!("CARGO_BIN_EXE_system"), &settings), database, folder)
}

async fn token(service: &Process, account: &Value) -> String {
    let response = service.call("POST", "/v1/token").body(FORM, credentials(account)).send().await.ok();
    response["access_token"].as_str().unwrap().to_owned()
}

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["event"].as_str().unwrap()).collect()
}

testkit::on_both! {
    async fn events_are_logged_once(backend) {
        let (service, _database, _folder) = start(backend).await;
        let (farm, admin) = (User::of("farm"), User::admin());
        let call = |method: &str, path: &str| service.call(method, path).by(&farm).header("idempotency-key", "k");
        // Each is repeated: a replay is no event.
        let created = call("POST", "/v1/service-accounts").json(&named("Ottilie")).send().await.ok();
        call("POST", "/v1/service-accounts").json(&named("Ottilie")).send().await.ok();
        let account_path = path(&created);
        call("PATCH", &account_path).json(&json!({"roles": ["viewer"]})).send().await.ok();
        let wrong = format!("{}x", credentials(&created));
        for _ in 0..2 {
            assert_eq!(service.call("POST", "/v1/token").body(FORM, wrong.clone()).send().await.status, 401);
        }
        token(&service, &created).await;
        token(&service, &created).await;
        let rotate = format!("{account_path}/rotate-secret");
        let rotated = call("POST", &rotate).send().await.ok();
        call("POST", &rotate).send().await.ok();
        token(&service, &created).await;
        let valid = token(&service, &rotated).await;
        service.call("GET", "/v1/files").bearer(&valid).send().await.ok();
        for _ in 0..2 {
            let forged = User::of("farm").token_with_kid(decoded(&valid, 0)["kid"].as_str().unwrap());
            assert_eq!(service.call("GET", "/v1/files").bearer(&forged).send().await.status, 401);
        }
        let clear = json!({"secrets": true});
        service.call("POST", "/v1/cache").by(&admin).json(&clear).send().await.ok();
        let of_new_key = token(&service, &rotated).await;
        service.call("GET", "/v1/files").bearer(&of_new_key).send().await.ok();
        call("DELETE", &account_path).send().await.ok();

        let upload = form("files", "contract", "x").part("file", part(b"x"));
        let file = id(&service.call("POST", "/v1/files").by(&farm).form(upload).send().await.ok());
        for _ in 0..2 {
            let share = json!({"ids": [file], "shareWith": ["quarrington", "*"]});
            service.call("POST", "/v1/files/resolve").by(&farm).json(&share).send().await.ok();
            assert_eq!(service.call("GET", "/v1/settings").by(&farm).send().await.status, 403);
        }
        service.export_and_erase(&farm).await;
        let off = json!({"logging": {"level": "off", "filter": ""}});
        service.call("PUT", "/v1/settings").by(&admin).json(&off).send().await.ok();
        service.call("POST", "/v1/cache").by(&admin).json(&clear).send().await.ok();

        let events = service.security_events();
        assert_eq!(
            names(&events),
            [
                "signing_key_made",
                "service_account_created",
                "service_account_changed",
                "client_refused",
                "token_issued",
                "secret_rotated",
                "token_issued",
                "token_refused",
                "signing_key_made",
                "verification_keys_changed",
                "service_account_deleted",
                "sharing_changed",
                "access_refused",
                "personal_data_exported",
                "personal_data_erased",
                "settings_changed",
                "signing_key_made",
            ],
            "{events:?}"
        );
        let account = &created["id"];
        for at in [1, 2, 3, 4, 5, 6, 10] {
            assert_eq!(&events[at]["account"], account, "{}", events[at]);
        }
        assert_eq!((&events[1]["roles"], &events[2]["roles"]), (&json!(""), &json!("viewer")));
        let issued = |at: usize| (events[at]["is_first_use"].clone(), events[at]["failures_before"].clone());
        assert_eq!((issued(4), issued(6)), ((json!(true), json!(2)), (json!(true), json!(0))));
        let refused = &events[7];
        assert_eq!((&refused["reason"], &refused["issuer"]), (&json!("the key is unknown"), &json!(testkit::ISSUER)));
        assert_eq!(refused["kid"], decoded(&valid, 0)["kid"]);
        assert_eq!(refused["span"]["route"], "/v1/files");
        let shared = &events[11];
        assert_eq!((&shared["files"], &shared["shared_with"], &shared["is_public"]), (&json!(file), &json!(2), &json!(true)));
        assert_eq!(events[12]["operation"], "find_settings");
        assert_eq!(events[15]["log_level"], "off");
    }
}

#[test]
fn a_client_does_not_fill_the_log() {
    testkit::block_on(async {
        let (service, _database, _folder) = start(Backend::Sqlite).await;
        let started = Instant::now();
        for n in 0..60 {
            let kid = format!("key-{n}");
            let token = User::of("farm").token_with_kid(&kid);
            assert_eq!(service.call("GET", "/v1/files").bearer(&token).send().await.status, 401);
            let client =
                format!("grant_type=client_credentials&client_id={}&client_secret=x", database::Id::new());
            assert_eq!(service.call("POST", "/v1/token").body(FORM, client).send().await.status, 401);
        }
        // Each minute has its lines, and a slow machine takes more than one.
        let minutes = usize::try_from(started.elapsed().as_secs() / 60 + 2).unwrap();
        let events = service.security_events();
        let count = |name: &str| names(&events).into_iter().filter(|event| *event == name).count();
        let (tokens, clients) = (count("token_refused"), count("client_refused"));
        assert!((1..=minutes).contains(&tokens), "{tokens} {events:?}");
        assert!((9..=10 * minutes).contains(&clients), "{clients} {events:?}");
    });
}
