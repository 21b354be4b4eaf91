//! Checks the access rule of every operation that a service's OpenAPI document lists.

use std::collections::BTreeMap;
use std::net::TcpListener;

use crate::access_case::strangers;
use crate::client::{TestRequest, TestResponse};
use crate::operation::{Operation, operations};
use crate::{AccessCase, AccessRule, App, User, forged_tokens};

/// Asserts that each operation of the service enforces its access rule. Operations with authorization answer 401
/// without a valid token, whatever else is wrong with the request.
///
/// # Panics
/// If an operation has no rule or a rule no operation (the message names it), if a rule occurs twice or is violated.
pub async fn assert_access_rules(app: &App, rules: Vec<(&str, AccessRule)>) {
    let operations = operations(app).await;
    let mut rules_by_id = BTreeMap::new();
    for (id, rule) in rules {
        assert!(rules_by_id.insert(id, rule).is_none(), "{id} has two rows");
    }
    let missing: Vec<_> = operations
        .iter()
        .map(|operation| &operation.id)
        .filter(|id| !rules_by_id.contains_key(&***id))
        .collect();
    assert!(missing.is_empty(), "operations without a row in tests/it/authorization.rs: {missing:?}");
    let attacker = TcpListener::bind("127.0.0.1:0").expect("a free port");
    attacker.set_nonblocking(true).expect("a non-blocking listener");
    let forged = forged_tokens::tokens(&format!("http://{}", attacker.local_addr().expect("an address")));
    for operation in &operations {
        let rule = rules_by_id.remove(&*operation.id).expect("a rule");
        let signed = matches!(rule, AccessRule::Signed);
        let public = signed || matches!(rule, AccessRule::Public);
        assert_eq!(
            operation.secured, !public,
            "{}: the document's security differs from its row",
            operation.id
        );
        if public {
            for token in [None, Some(forged[0].1.clone())] {
                let response = send(app, operation, token.as_deref()).await;
                let refused =
                    if signed { response.status != 403 } else { [401, 403].contains(&response.status) };
                assert!(!refused, "{}: {}", operation.id, response.text());
            }
        } else {
            assert_rejects_unauthenticated(app, operation, &forged).await;
        }
        assert_rule(app, operation, rule).await;
    }
    assert!(attacker.accept().is_err(), "keys were fetched from an address in a token");
    assert!(rules_by_id.is_empty(), "rows without an operation: {:?}", rules_by_id.keys());
}

async fn send(app: &App, operation: &Operation, token: Option<&str>) -> TestResponse {
    let request = app.call(&operation.method, &operation.path());
    token.into_iter().fold(request, TestRequest::bearer).send().await
}

async fn assert_rejects_unauthenticated(app: &App, operation: &Operation, forged: &[(String, String)]) {
    let id = &operation.id;
    // A valid token passes, so the requests below fail because of their tokens.
    let valid = send(app, operation, Some(&User::admin().token())).await;
    assert_ne!(valid.status, 401, "{id}: {}", valid.text());
    let anonymous = std::iter::once(("no token", None));
    for (defect, token) in anonymous.chain(forged.iter().map(|(defect, token)| (&**defect, Some(&**token)))) {
        let response = send(app, operation, token).await;
        assert!(!response.header("www-authenticate").is_empty(), "{id}: {defect}");
        assert_eq!(response.status, 401, "{id}: {defect}: {}", response.text());
        assert_eq!(response.error(401), "unauthenticated", "{id}: {defect}");
    }
    if operation.method == "GET" {
        assert_eq!(app.call("HEAD", &operation.path()).send().await.status, 401, "{id}: HEAD");
    }
}

async fn assert_rule(app: &App, operation: &Operation, rule: AccessRule) {
    let id = &operation.id;
    let send_as = async |user: &User| send(app, operation, Some(&user.token())).await;
    let (denied, allowed): (Vec<User>, User) = match rule {
        AccessRule::Public | AccessRule::Signed => return,
        AccessRule::AnyCaller(_) => (vec![], User::individual("nobody")),
        AccessRule::Admin => (strangers(), User::admin()),
        AccessRule::Member => (vec![User::individual("nobody"), User::admin()], User::of("stranger")),
        AccessRule::Restricted(cases) => return assert_restricted(app, operation, &cases).await,
        AccessRule::Scoped(cases) => return assert_scoped(app, operation, &cases).await,
    };
    for user in denied {
        let response = send_as(&user).await;
        assert_eq!(response.status, 403, "{id}: {}: {}", user.claims, response.text());
        assert_eq!(response.error(403), "forbidden", "{id}: {}", user.claims);
    }
    let response = send_as(&allowed).await;
    assert!(!matches!(response.status, 401 | 403 | 500..), "{id}: {}: {}", allowed.claims, response.text());
}

/// Sends the request of case number `n` as this user. All users share one `Idempotency-Key`, which must not give one
/// user's stored response to another.
async fn send_case(
    app: &App,
    operation: &Operation,
    n: usize,
    case: &AccessCase,
    user: &User,
) -> TestResponse {
    let id = &operation.id;
    assert!(operation.matches(&case.path), "{id}: {} does not match {}", case.path, operation.pattern);
    let request = case.request(app, &operation.method).by(user);
    if operation.method == "POST" {
        request.header("idempotency-key", &format!("{id}-{n}")).send().await
    } else {
        request.send().await
    }
}

/// Returns what an administrator reads at the path that a refusal must leave unchanged.
async fn state(app: &App, case: &AccessCase) -> String {
    match &case.unchanged_path {
        Some(path) => app.get(path).by(&User::admin()).send().await.ok().to_string(),
        None => String::new(),
    }
}

async fn assert_restricted(app: &App, operation: &Operation, cases: &[AccessCase]) {
    let id = &operation.id;
    assert!(!cases.is_empty(), "{id}: no cases");
    for (n, case) in cases.iter().enumerate() {
        // Denied users try before and after the allowed ones succeeded.
        for succeeded in [false, true] {
            if succeeded && case.removes {
                continue;
            }
            let before = state(app, case).await;
            for user in &case.denied {
                let response = send_case(app, operation, n, case, user).await;
                assert_eq!(response.status, 403, "{id}: {}: {}", user.claims, response.text());
                assert_eq!(response.error(403), "forbidden", "{id}: {}", user.claims);
                assert_eq!(state(app, case).await, before, "{id}: {} changed it", user.claims);
            }
            for user in case.allowed.iter().filter(|_| !succeeded) {
                let response = send_case(app, operation, n, case, user).await;
                assert_eq!(response.status, 200, "{id}: {} is allowed: {}", user.claims, response.text());
            }
        }
        assert!(!case.allowed.is_empty(), "{id}: no user is allowed");
    }
}

async fn assert_scoped(app: &App, operation: &Operation, cases: &[AccessCase]) {
    let id = &operation.id;
    assert!(!cases.is_empty(), "{id}: no cases");
    for (n, case) in cases.iter().enumerate() {
        assert!(!case.allowed.is_empty() && !case.disclosed.is_empty(), "{id}: no user sees anything");
        let sees = async |user: &User| {
            let response = send_case(app, operation, n, case, user).await;
            assert_eq!(response.status, 200, "{id}: {}: {}", user.claims, response.text());
            response.text().contains(&case.disclosed)
        };
        let before = state(app, case).await;
        for user in &case.denied {
            assert!(!sees(user).await, "{id}: {} sees data of others", user.claims);
        }
        assert_eq!(state(app, case).await, before, "{id}: denied users changed it");
        for user in &case.allowed {
            assert!(sees(user).await, "{id}: {} does not see it", user.claims);
        }
    }
}
