//! No operation for somebody who may not: walks what the service itself says it offers.

use std::collections::BTreeMap;
use std::net::TcpListener;

use crate::access_case::strangers;
use crate::client::TestResponse;
use crate::{AccessCase, AccessRule, App, User, forged_tokens};

/// An operation of the document.
pub(crate) struct Operation {
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) pattern: String,
    /// The names of its query parameters.
    pub(crate) query: Vec<String>,
    secured: bool,
}

impl Operation {
    /// It with ids that name nothing.
    pub(crate) fn path(&self) -> String {
        let nothing = "0190f5fe-0000-7000-8000-000000000000";
        let part = |part: &str| if part.starts_with('{') { nothing.to_owned() } else { part.to_owned() };
        self.pattern.split('/').map(part).collect::<Vec<_>>().join("/")
    }

    /// True if a path is one of this operation's.
    fn has(&self, path: &str) -> bool {
        let path = path.split('?').next().unwrap_or_default();
        let (parts, pattern) = (path.split('/'), self.pattern.split('/'));
        parts.clone().count() == pattern.clone().count()
            && parts.zip(pattern).all(|(part, pattern)| part == pattern || pattern.starts_with('{'))
    }
}

/// Holds every operation of the service's document against its rule, and fails by name for one that has none, or for a
/// rule that no operation has. Whoever does not prove who they are gets 401, whatever else is wrong with the request.
pub async fn assert_access_rules(app: &App, rules: Vec<(&str, AccessRule)>) {
    let operations = operations(app).await;
    let mut found = BTreeMap::new();
    for (id, rule) in rules {
        assert!(found.insert(id, rule).is_none(), "{id} has two rows");
    }
    let mut rules = found;
    let lacking: Vec<_> = operations.iter().filter(|o| !rules.contains_key(&*o.id)).map(|o| &o.id).collect();
    assert!(lacking.is_empty(), "operations without a row in tests/it/authorization.rs: {lacking:?}");
    let attacker = TcpListener::bind("127.0.0.1:0").expect("a free port");
    attacker.set_nonblocking(true).expect("a listener that does not wait");
    let forged = forged_tokens::tokens(&format!("http://{}", attacker.local_addr().expect("an address")));
    for operation in &operations {
        let rule = rules.remove(&*operation.id).expect("a rule");
        let open = matches!(rule, AccessRule::Public);
        assert_eq!(
            operation.secured, !open,
            "{}: what the document says of a token, and its row",
            operation.id
        );
        if open {
            for token in [None, Some(forged[0].1.clone())] {
                let reply = send(app, operation, token.as_deref()).await;
                assert!(![401, 403].contains(&reply.status), "{}: {}", operation.id, reply.text());
            }
        } else {
            refuses_the_unknown(app, operation, &forged).await;
        }
        holds(app, operation, rule).await;
    }
    assert!(attacker.accept().is_err(), "keys were fetched from where a token said");
    assert!(rules.is_empty(), "rows without an operation: {:?}", rules.keys());
}

pub(crate) async fn operations(app: &App) -> Vec<Operation> {
    let document = app.get("/openapi.json").send().await.ok();
    let mut operations = Vec::new();
    for (pattern, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let query = parameters.filter(|p| p["in"] == "query");
            let bearer = |s: &serde_json::Value| s.get("bearer").is_some();
            operations.push(Operation {
                id: operation["operationId"].as_str().expect("an operation id").to_owned(),
                method: method.to_uppercase(),
                pattern: pattern.clone(),
                query: query.map(|p| p["name"].as_str().expect("a name").to_owned()).collect(),
                secured: operation["security"].as_array().is_some_and(|s| s.iter().any(bearer)),
            });
        }
    }
    assert!(!operations.is_empty(), "the document has no operations");
    operations
}

async fn send(app: &App, operation: &Operation, token: Option<&str>) -> TestResponse {
    let call = app.call(&operation.method, &operation.path());
    token.into_iter().fold(call, crate::TestRequest::bearer).send().await
}

async fn refuses_the_unknown(app: &App, operation: &Operation, forged: &[(String, String)]) {
    let id = &operation.id;
    // What is refused below must be for what is wrong with it, not for how it was made.
    let good = send(app, operation, Some(&User::admin().token())).await;
    assert_ne!(good.status, 401, "{id}: {}", good.text());
    let anonymous = std::iter::once(("nobody", None));
    for (why, token) in anonymous.chain(forged.iter().map(|(why, token)| (&**why, Some(&**token)))) {
        let reply = send(app, operation, token).await;
        assert!(!reply.header("www-authenticate").is_empty(), "{id}: {why}");
        assert_eq!(reply.status, 401, "{id}: {why}: {}", reply.text());
        assert_eq!(reply.error(401), "unauthenticated", "{id}: {why}");
    }
    if operation.method == "GET" {
        assert_eq!(app.call("HEAD", &operation.path()).send().await.status, 401, "{id}: HEAD");
    }
}

async fn holds(app: &App, operation: &Operation, rule: AccessRule) {
    let id = &operation.id;
    let call = async |user: &User| send(app, operation, Some(&user.token())).await;
    let (refused, good): (Vec<User>, User) = match rule {
        AccessRule::Public => return,
        AccessRule::AnyCaller(_) => (vec![], User::individual("nobody")),
        AccessRule::Admin => (strangers(), User::admin()),
        AccessRule::Member => (vec![User::individual("nobody"), User::admin()], User::of("stranger")),
        AccessRule::Restricted(asks) => return foreign(app, operation, &asks).await,
        AccessRule::Scoped(asks) => return scoped(app, operation, &asks).await,
    };
    for user in refused {
        let reply = call(&user).await;
        assert_eq!(reply.status, 403, "{id}: {}: {}", user.claims, reply.text());
        assert_eq!(reply.error(403), "forbidden", "{id}: {}", user.claims);
    }
    let reply = call(&good).await;
    assert!(!matches!(reply.status, 401 | 403 | 500..), "{id}: {}: {}", good.claims, reply.text());
}

/// Sends a request for each user, always under the same `Idempotency-Key`: it must not open anybody's answer to others.
async fn ask(app: &App, operation: &Operation, ask: &AccessCase, n: usize, user: &User) -> TestResponse {
    let id = &operation.id;
    assert!(operation.has(&ask.path), "{id}: {} is not {}", ask.path, operation.pattern);
    let call = ask.call(app, &operation.method).by(user);
    let key = format!("{id}-{n}");
    if operation.method == "POST" {
        call.header("idempotency-key", &key).send().await
    } else {
        call.send().await
    }
}

/// What an administrator reads of the thing.
async fn kept(app: &App, ask: &AccessCase) -> String {
    match &ask.kept {
        Some(path) => app.get(path).by(&User::admin()).send().await.ok().to_string(),
        None => String::new(),
    }
}

async fn foreign(app: &App, operation: &Operation, asks: &[AccessCase]) {
    let id = &operation.id;
    assert!(!asks.is_empty(), "{id}: nothing is asked");
    for (n, one) in asks.iter().enumerate() {
        // Strangers come again once it was done by those who may.
        for done in [false, true] {
            let before = kept(app, one).await;
            for user in &one.strangers {
                let reply = ask(app, operation, one, n, user).await;
                assert_eq!(reply.status, 403, "{id}: {}: {}", user.claims, reply.text());
                assert_eq!(reply.error(403), "forbidden", "{id}: {}", user.claims);
                assert_eq!(kept(app, one).await, before, "{id}: {} changed it", user.claims);
            }
            for user in one.may.iter().filter(|_| !done) {
                let reply = ask(app, operation, one, n, user).await;
                assert_eq!(reply.status, 200, "{id}: {} may: {}", user.claims, reply.text());
            }
        }
        assert!(!one.may.is_empty(), "{id}: nobody may");
    }
}

async fn scoped(app: &App, operation: &Operation, asks: &[AccessCase]) {
    let id = &operation.id;
    assert!(!asks.is_empty(), "{id}: nothing is asked");
    for (n, one) in asks.iter().enumerate() {
        assert!(!one.may.is_empty() && !one.shown.is_empty(), "{id}: nobody sees anything");
        let sees = async |user: &User| {
            let reply = ask(app, operation, one, n, user).await;
            assert_eq!(reply.status, 200, "{id}: {}: {}", user.claims, reply.text());
            reply.text().contains(&one.shown)
        };
        let before = kept(app, one).await;
        for user in &one.strangers {
            assert!(!sees(user).await, "{id}: {} sees what is others'", user.claims);
        }
        assert_eq!(kept(app, one).await, before, "{id}: strangers changed it");
        for user in &one.may {
            assert!(sees(user).await, "{id}: {} does not see it", user.claims);
        }
    }
}
