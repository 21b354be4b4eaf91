//! The token endpoint (RFC 6749, section 4.4) and its metadata.

use chrono::{TimeDelta, Utc};
use serde_json::json;
use testkit::{AUDIENCE, User};

use super::{FORM, Started, basic, create, credentials, decoded, named, oauth_error, path, request_token};
use super::{start, start_with, status, token};
use crate::files::{form, id, part};

testkit::on_both! {
    async fn a_token_acts_for_the_organisation(backend) {
        let Started { app, .. } = &start(backend).await;
        let farm = User::of("farm");
        let account = create(app, &farm, json!({"name": "Bridge", "roles": ["weighbridge"]})).await;
        assert_eq!(account.get("lastUsedAtUTC"), None);
        let response = request_token(app, credentials(&account)).await;
        assert_eq!((response.header("cache-control"), response.header("pragma")), ("no-store", "no-cache"));
        let body = response.ok();
        assert_eq!((&body["token_type"], &body["expires_in"]), (&json!("Bearer"), &json!(600)));
        assert_eq!(body.as_object().unwrap().len(), 3);
        let token = body["access_token"].as_str().unwrap();
        let claims = decoded(token, 1);
        let metadata = app.get("/.well-known/oauth-authorization-server").send().await.ok();
        let issued = claims["iat"].as_i64().unwrap();
        assert!((issued - Utc::now().timestamp()).abs() < 30);
        assert_eq!(claims, json!({
            "iss": metadata["issuer"], "aud": AUDIENCE, "iat": issued, "exp": issued + 600,
            "sub": format!("service-account:{}", account["id"].as_str().unwrap()), "name": "Bridge",
            "org": "farm", "orgName": "Organisation farm", "roles": ["weighbridge"],
        }));
        assert_eq!(metadata["issuer"], app.url);
        assert_eq!(metadata["token_endpoint"], format!("{}/v1/token", app.url));
        assert_eq!(metadata["jwks_uri"], format!("{}/.well-known/jwks.json", app.url));
        let keys = app.get("/.well-known/jwks.json").send().await.ok();
        assert_eq!(keys["keys"][0]["kid"], decoded(token, 0)["kid"]);
        assert!(keys["keys"][0].get("d").is_none());

        // By HTTP Basic, with another spelling of the media type.
        let charset = "Application/X-WWW-Form-Urlencoded; charset=utf-8";
        let by_header = app.post("/v1/token").header("authorization", &basic(&account));
        by_header.body(charset, "grant_type=client_credentials").send().await.ok();

        let upload = form("files", "weighbridge", "Ticket").part("file", part(b"x"));
        let uploaded = id(&app.post("/v1/files").bearer(token).form(upload).send().await.ok());
        let file = app.get(&format!("/v1/files/{uploaded}/info")).by(&farm).send().await.ok();
        assert_eq!((&file["userId"], &file["userName"]), (&claims["sub"], &json!("Bridge")));
        assert_eq!(file["organisationId"], "farm");
        let used = app.get(&path(&account)).by(&farm).send().await.ok();
        let at = used["lastUsedAtUTC"].as_str().unwrap().parse::<chrono::DateTime<Utc>>().unwrap();
        assert!((Utc::now() - at).abs() < TimeDelta::seconds(30));
    }

    async fn errors_are_those_of_the_rfc(backend) {
        let Started { app, .. } = &start(backend).await;
        let account = create(app, &User::of("farm"), named("a")).await;
        let valid = credentials(&account);
        for (form, status, error) in [
            (String::new(), 400, "invalid_request"),
            (valid.replace("grant_type=client_credentials", "x=y"), 400, "invalid_request"),
            (valid.replace("client_credentials", "authorization_code"), 400, "unsupported_grant_type"),
            (format!("{valid}&scope=everything"), 400, "invalid_scope"),
            (format!("{valid}&client_id=x"), 400, "invalid_request"),
            ("grant_type=client_credentials".to_owned(), 401, "invalid_client"),
            (format!("{valid}x"), 401, "invalid_client"),
            (valid.replace("client_id=", "client_id=0"), 401, "invalid_client"),
            (valid.replace("client_id=", "client_id=%00"), 401, "invalid_client"),
        ] {
            let response = request_token(app, form.clone()).await;
            let is_challenged = response.header("www-authenticate") == "Basic realm=\"drover\"";
            assert_eq!(is_challenged, status == 401, "{form}");
            assert_eq!(oauth_error(response, status), error, "{form}");
        }
        let both = app.post("/v1/token").header("authorization", &basic(&account)).body(FORM, valid.clone());
        assert_eq!(oauth_error(both.send().await, 400), "invalid_request");
        let json = app.post("/v1/token").json(&json!({"grant_type": "client_credentials"})).send().await;
        assert_eq!(json.error(415), "unsupported_media_type");
        assert_eq!(app.post("/v1/token").send().await.error(415), "unsupported_media_type");
        assert_eq!(app.get("/v1/token").send().await.error(405), "method_not_allowed");
        let large = request_token(app, format!("{valid}&x={}", "x".repeat(2 << 20))).await;
        assert_eq!(large.error(413), "payload_too_large");
        let key = app.post("/v1/token").header("idempotency-key", "k").body(FORM, valid).send().await;
        assert_eq!(key.header("idempotency-replayed"), "");
        key.ok();
    }

    async fn accounts_that_are_deleted_or_expired_get_no_tokens(backend) {
        let Started { app, .. } = &start(backend).await;
        let farm = User::of("farm");
        let soon = (Utc::now() + TimeDelta::seconds(3)).to_rfc3339();
        let expiring = create(app, &farm, json!({"name": "a", "expiresAtUTC": soon})).await;
        let deleted = create(app, &farm, named("b")).await;
        let tokens = [token(app, &expiring).await, token(app, &deleted).await];
        app.call("DELETE", &path(&deleted)).by(&farm).send().await.ok();
        testkit::wait_until(async || request_token(app, credentials(&expiring)).await.status != 200).await;
        for account in [&expiring, &deleted] {
            assert_eq!(oauth_error(request_token(app, credentials(account)).await, 401), "invalid_client");
        }
        for token in &tokens {
            assert_eq!(status(app, token).await, 200, "tokens given before live for ten minutes");
        }
    }

    async fn a_replaced_secret_works_for_a_day(backend) {
        let Started { app, .. } = &start(backend).await;
        let farm = User::of("farm");
        let first = create(app, &farm, named("a")).await;
        let rotate = async || app.post(&format!("{}/rotate-secret", path(&first))).by(&farm).send().await.ok();
        let (second, third) = (rotate().await, rotate().await);
        for account in [&first, &second, &third] {
            token(app, account).await;
        }
        // A day later.
        app.database.execute("UPDATE service_accounts SET secrets = replace(secrets, '\"until\":', '\"until\":-')");
        token(app, &third).await;
        for account in [&first, &second] {
            assert_eq!(oauth_error(request_token(app, credentials(account)).await, 401), "invalid_client");
        }
    }

    async fn a_deployment_can_have_no_service_accounts(backend) {
        let Started { app, .. } = &start_with(backend, |config| config.auth.service_accounts = Some(false)).await;
        let account = create(app, &User::of("farm"), named("a")).await;
        assert_eq!(request_token(app, credentials(&account)).await.error(404), "not_found");
        for path in ["/.well-known/jwks.json", "/.well-known/oauth-authorization-server"] {
            assert_eq!(app.get(path).send().await.error(404), "not_found");
        }
    }

    async fn failures_are_limited_for_a_client_and_an_address(backend) {
        let Started { app, .. } = &start_with(backend, |config| {
            config.server.trusted_proxies = vec!["127.0.0.0/8".into()];
        }).await;
        let (one, other) = (create(app, &User::of("farm"), named("a")).await, create(app, &User::of("farm"), named("b")).await);
        let attempt = async |form: String, address: &str| {
            app.post("/v1/token").header("x-forwarded-for", address).body(FORM, form).send().await
        };
        let wrong = format!("{}x", credentials(&one));
        // At once, so that no request passes the limit while others are checked.
        let attempts = (0..80).map(|_| attempt(wrong.clone(), "192.0.2.1"));
        let statuses: Vec<_> = futures_util::future::join_all(attempts).await.iter().map(|r| r.status).collect();
        let count = |status| statuses.iter().filter(|s| **s == status).count();
        assert_eq!((count(401), count(429)), (60, 20));
        let blocked = attempt(credentials(&one), "192.0.2.1").await;
        let wait: u64 = blocked.header("retry-after").parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
        assert_eq!(blocked.error(429), "rate_limited");
        let (id, secret) = (one["clientId"].as_str().unwrap(), one["clientSecret"].as_str().unwrap());
        let upper = format!("grant_type=client_credentials&client_id={}&client_secret={secret}", id.to_uppercase());
        assert_eq!(attempt(upper, "192.0.2.1").await.error(429), "rate_limited", "the same client in upper case");
        attempt(credentials(&one), "192.0.2.2").await.ok();
        attempt(credentials(&other), "192.0.2.1").await.ok();
        assert_eq!(oauth_error(attempt(format!("{wrong}y"), "192.0.2.3").await, 401), "invalid_client");
    }
}
