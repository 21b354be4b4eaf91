//! Forged tokens, secrets in logs, and the role `viewer` against sharing.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use system::System;
use testkit::{ISSUER, Process, TestDatabase, User};

use super::{FORM, Started, basic, create, credentials, decoded, named, path, start, status, token};
use crate::files::{form, id, part};
use crate::store_url;

/// Returns a token with other claims or another header, and the signature of the original.
fn changed(token: &str, part: usize, members: &Value) -> String {
    let mut content = decoded(token, part);
    for (name, value) in members.as_object().unwrap() {
        content[name] = value.clone();
    }
    let mut parts: Vec<_> = token.split('.').map(str::to_owned).collect();
    parts[part] = URL_SAFE_NO_PAD.encode(content.to_string());
    parts.join(".")
}

testkit::on_both! {
    async fn forged_tokens_are_refused(backend) {
        let Started { app, .. } = &start(backend).await;
        let account = create(app, &User::of("farm"), named("a")).await;
        let valid = token(app, &account).await;
        assert_eq!(status(app, &valid).await, 200);
        let (kid, subject) = (decoded(&valid, 0)["kid"].clone(), decoded(&valid, 1)["sub"].clone());
        let subject = subject.as_str().unwrap();
        // Signed by the identity provider, which must not issue the tokens of service accounts, nor use their key ids.
        let of_provider = User::of("farm").with("sub", subject);
        let foreign = of_provider.clone().with("iss", &app.url);
        let mut forged = vec![
            of_provider.token(),
            foreign.token(),
            changed(&foreign.token(), 0, &json!({"kid": kid})),
            foreign.token_with_kid(kid.as_str().unwrap()),
            User::of("farm").token_with_kid(kid.as_str().unwrap()),
            changed(&valid, 1, &json!({"iss": ISSUER})),
            changed(&valid, 1, &json!({"roles": ["admin"]})),
            changed(&valid, 1, &json!({"org": "other"})),
            changed(&valid, 1, &json!({"exp": 4_000_000_000_u64})),
            changed(&valid, 0, &json!({"kid": "test"})),
            changed(&valid, 0, &json!({"kid": null})),
            changed(&valid, 0, &json!({"alg": "none"})),
            format!("{}.", valid.rsplit_once('.').unwrap().0),
        ];
        let keys = app.get("/.well-known/jwks.json").send().await;
        let x = keys.json()["keys"][0]["x"].as_str().unwrap().to_owned();
        for secret in [x.as_bytes().to_vec(), URL_SAFE_NO_PAD.decode(&x).unwrap(), keys.bytes.clone()] {
            let head = changed(&valid, 0, &json!({"alg": "HS256"}));
            let signed = head.rsplit_once('.').unwrap().0;
            let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, &secret);
            let signature = aws_lc_rs::hmac::sign(&key, signed.as_bytes());
            forged.push(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)));
        }
        for token in &forged {
            assert_eq!(status(app, token).await, 401, "{} {}", decoded(token, 0), decoded(token, 1));
        }
        assert_eq!(status(app, &valid).await, 200);
        assert_eq!(status(app, &User::of("farm").token()).await, 200);
    }

    async fn an_account_acts_for_its_organisation_only(backend) {
        let Started { app, .. } = &start(backend).await;
        let (farm, other) = (User::of("farm"), User::of("other"));
        let file = form("files", "contract", "secret").part("file", part(b"x"));
        let file = id(&app.post("/v1/files").by(&farm).form(file).send().await.ok());
        let account = create(app, &other, named("a")).await;
        let token = token(app, &account).await;
        assert_eq!(app.get(&format!("/v1/files/{file}")).bearer(&token).send().await.error(403), "forbidden");
        assert_eq!(app.get("/v1/files").bearer(&token).send().await.ok(), json!([]));
        assert_eq!(app.get("/v1/settings").bearer(&token).send().await.error(403), "forbidden");
        assert_eq!(app.get(&path(&account)).by(&farm).send().await.error(403), "forbidden");
    }

    async fn a_viewer_resolves_and_links_files_and_shares_none(backend) {
        let Started { app, .. } = &start(backend).await;
        let farm = User::of("farm");
        let file = form("files", "contract", "x").part("file", part(b"x"));
        let file = id(&app.post("/v1/files").by(&farm).form(file).send().await.ok());
        let resolve = async |roles: &[&str], body: Value| {
            let user = farm.clone().with_roles(roles);
            app.post("/v1/files/resolve").by(&user).json(&body).send().await.status
        };
        let info = async || app.get(&format!("/v1/files/{file}/info")).by(&farm).send().await.ok();
        let before = info().await;
        for change in [json!({"shareWith": ["*"]}), json!({"unshareWith": ["x"]}), json!({"leave": true})] {
            let mut body = change;
            body["ids"] = json!([file]);
            assert_eq!(resolve(&["viewer"], body.clone()).await, 403, "{body}");
            assert_eq!(resolve(&["viewer", "weighbridge"], body.clone()).await, 403, "{body}");
        }
        assert_eq!(info().await, before);
        assert_eq!(resolve(&["viewer"], json!({"ids": [file]})).await, 200);
        assert_eq!(resolve(&["viewer"], json!({"ids": [file], "shareWith": []})).await, 200);
        assert_eq!(resolve(&["weighbridge"], json!({"ids": [file], "shareWith": ["haulier"]})).await, 200);
        let viewer = farm.clone().with_roles(&["viewer"]);
        app.post(&format!("/v1/files/{file}/link")).by(&viewer).send().await.ok();
    }

    async fn logs_contain_no_client_secrets(backend) {
        let (database, folder) = (TestDatabase::new::<System>(backend).await, tempfile::tempdir().unwrap());
        let settings = [("DATABASE__URL", &*database.url), ("SERVICE__STORE_URL", &store_url(&folder))];
        let service = Process::start(env!("CARGO_BIN_EXE_system"), &settings);
        service.enable_trace_logs().await;
        let farm = User::of("farm");
        let account = service.call("POST", "/v1/service-accounts").by(&farm).json(&named("Ottilie")).send().await.ok();
        let rotate = format!("{}/rotate-secret", path(&account));
        let rotated = service.call("POST", &rotate).by(&farm).header("idempotency-key", "k").send().await.ok();
        let mut secrets = vec!["Ottilie".to_owned()];
        for account in [&account, &rotated] {
            let response = service.call("POST", "/v1/token").body(FORM, credentials(account)).send().await.ok();
            let wrong = format!("{}x", credentials(account));
            assert_eq!(service.call("POST", "/v1/token").body(FORM, wrong).send().await.status, 401);
            let header = basic(account);
            let call = service.call("POST", "/v1/token").header("authorization", &header);
            call.body(FORM, "grant_type=client_credentials").send().await.ok();
            let token = response["access_token"].as_str().unwrap();
            service.call("GET", "/v1/files").bearer(token).send().await.ok();
            secrets.push(account["clientSecret"].as_str().unwrap().to_owned());
            secrets.push(header.trim_start_matches("Basic ").to_owned());
            secrets.extend(token.split('.').skip(1).map(str::to_owned));
        }
        let metrics = service.call("GET", "/metrics").send().await.text();
        let log = service.log();
        assert!(log.contains("a service account was created"), "{log}");
        for secret in secrets {
            assert!(!log.contains(&secret), "{secret}: {log}");
        }
        for line in ["{outcome=\"issued\"} 4", "{outcome=\"invalid_client\"} 2", "{outcome=\"rate_limited\"} 0"] {
            assert!(metrics.contains(&format!("drover_token_requests_total{line}")), "{metrics}");
        }
    }
}
