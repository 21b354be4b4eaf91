//! No operation without a caller: walks what the service itself says it offers.

use serde_json::{Value, json};

use crate::{App, User};

/// Calls every operation without a token and with tokens that are not good; each must answer 401, whatever else is
/// wrong with the request. Operations that need no token must be named in `open`. Returns how many were called.
pub async fn every_operation_needs_a_caller(app: &App, open: &[&str]) -> usize {
    let document = app.get("/openapi.json").send().await.ok();
    let mut called = 0;
    for (pattern, item) in document["paths"].as_object().expect("paths") {
        let path = pattern.replace("{id}", "0190f5fe-0000-7000-8000-000000000000");
        for (method, operation) in item.as_object().expect("operations") {
            let id = operation["operationId"].as_str().expect("an operation id");
            let secured =
                operation["security"].as_array().is_some_and(|s| s.iter().any(|s| s.get("bearer").is_some()));
            assert_eq!(
                secured,
                !open.contains(&id),
                "{id}: documented as needing a token, or listed as open"
            );
            if !secured {
                continue;
            }
            called += 1;
            for token in bad_tokens() {
                let call = app.call(&method.to_uppercase(), &path);
                let call = token.iter().fold(call, |call, token| call.bearer(token));
                let reply = call.send().await;
                assert!(!reply.header("www-authenticate").is_empty(), "{id}");
                assert_eq!(reply.error(401), "unauthenticated", "{id} {token:?}");
            }
        }
    }
    called
}

fn bad_tokens() -> Vec<Option<String>> {
    let changed = |claim: &str, value: Value| {
        let mut user = User::admin();
        user.claims[claim] = value;
        Some(user.token())
    };
    let good = User::admin().token();
    let (signed, signature) = good.rsplit_once('.').expect("a signature");
    let other = User::alone("other").token();
    let forged = format!("{signed}.{}", other.rsplit_once('.').expect("a signature").1);
    vec![
        None,
        Some("nonsense".into()),
        Some(format!("{signed}.")),
        Some(format!("e30.{signature}")),
        Some(forged),
        changed("exp", json!(1_000_000_000)),
        changed("nbf", json!(32_000_000_000_u64)),
        changed("aud", json!("somebody-else")),
        changed("iss", json!("somebody-else")),
        changed("name", json!("a\u{0}b")),
        changed("org", json!("x".repeat(201))),
    ]
}
