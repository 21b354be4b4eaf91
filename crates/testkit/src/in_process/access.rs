//! Access rules of operations: who is refused (docs/api/authentication.md). Checks the rule of every operation that a
//! service's OpenAPI document lists.

use std::collections::BTreeMap;
use std::net::TcpListener;

use reqwest::multipart::Form;
use serde_json::{Value, json};

use super::app::{App, TestRequest, TestResponse};
use super::forged_tokens;
use super::operation::{Operation, operations};
use super::user::User;

/// The access rule of an operation.
pub enum AccessRule {
    /// Needs no token and ignores an invalid one.
    Public,
    /// Needs no token and ignores an invalid one. Refuses requests without a valid signature with 403.
    Signed,
    /// Allows every caller. The text says why no caller is refused.
    AnyCaller(&'static str),
    /// Refuses callers without the role `admin`, whatever the request.
    Admin,
    /// Refuses callers without an organisation, whatever the request.
    Member,
    /// Refuses strangers with 403 and changes nothing.
    Restricted(Vec<AccessCase>),
    /// Answers strangers with 200, without data of other organisations.
    Scoped(Vec<AccessCase>),
}

/// A request on existing resources, with the users who may and may not make it.
pub struct AccessCase {
    pub(crate) path: String,
    pub(crate) allowed: Vec<User>,
    pub(crate) denied: Vec<User>,
    /// What an administrator reads at this path is the same before and after a refusal.
    pub(crate) unchanged_path: Option<String>,
    /// Text that only responses to allowed users contain.
    pub(crate) disclosed: String,
    /// The allowed users remove the resource.
    pub(crate) removes: bool,
    body: Body,
}

enum Body {
    None,
    Json(Value),
    Form(fn() -> Form),
}

impl AccessCase {
    /// Creates a case for a path that these users may request. Users who own nothing are denied.
    pub fn new(path: impl Into<String>, allowed: &[&User]) -> Self {
        Self {
            path: path.into(),
            allowed: allowed.iter().copied().cloned().collect(),
            denied: strangers(),
            unchanged_path: None,
            disclosed: String::new(),
            removes: false,
            body: Body::None,
        }
    }

    /// Sets a JSON body.
    #[must_use]
    pub fn json(mut self, body: Value) -> Self {
        self.body = Body::Json(body);
        self
    }

    /// Sets a multipart form as the body.
    #[must_use]
    pub fn form(mut self, form: fn() -> Form) -> Self {
        self.body = Body::Form(form);
        self
    }

    /// Adds a user who is denied although the resource concerns them.
    #[must_use]
    pub fn denies(mut self, user: &User) -> Self {
        self.denied.push(user.clone());
        self
    }

    /// Requires that an administrator reads the same at this path before and after a refusal.
    #[must_use]
    pub fn leaves_unchanged(mut self, path: impl Into<String>) -> Self {
        self.unchanged_path = Some(path.into());
        self
    }

    /// States that the allowed users remove the resource: for denied users it is not there afterwards.
    #[must_use]
    pub fn removes(mut self) -> Self {
        self.removes = true;
        self
    }

    /// Requires that responses contain this text for allowed users only.
    #[must_use]
    pub fn discloses(mut self, text: impl Into<String>) -> Self {
        self.disclosed = text.into();
        self
    }

    pub(crate) fn request(&self, app: &App, method: &str) -> TestRequest {
        let request = app.call(method, &self.path);
        match &self.body {
            Body::None => request,
            Body::Json(body) => request.json(body),
            Body::Form(form) => request.form(form()),
        }
    }
}

/// Returns users who own nothing: of another organisation, of none, of organisations whose ids look like patterns or
/// differ from others in case only, and with claims that resemble the role `admin`.
pub(crate) fn strangers() -> Vec<User> {
    let mut strangers = vec![User::of("stranger"), User::individual("nobody")];
    strangers.extend(["*", "%", "GRAIN", "FARM"].map(User::of));
    for roles in [serde_json::json!("admin"), serde_json::json!(["Admin", "administrator", ""])] {
        let mut user = User::of("stranger");
        user.claims["roles"] = roles;
        strangers.push(user);
    }
    strangers
}

/// Operations that take an `Idempotency-Key` of which this test repeats no request: they need a resource that exists,
/// which [`AccessRule::AnyCaller`] and [`AccessRule::Admin`] do not name.
const NOT_REPEATED: [&str; 3] = ["redeliver_notification", "resolve_report", "send_enquiry"];

/// Asserts that each operation of the service enforces its access rule. Operations with authorization answer 401
/// without a valid token, whatever else is wrong with the request. Operations that take an `Idempotency-Key` answer a
/// request that is repeated with its key as they did before, and change nothing.
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
            assert_roles(app, operation, &rule).await;
        }
        let is_repeated = assert_rule(app, operation, rule).await;
        let may_be_missing = !operation.takes_key || NOT_REPEATED.contains(&&*operation.id);
        assert!(is_repeated || may_be_missing, "{}: no request was repeated with its key", operation.id);
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

/// Asserts that an operation enforces its rule. Returns true if a request was repeated with its key.
async fn assert_rule(app: &App, operation: &Operation, rule: AccessRule) -> bool {
    let id = &operation.id;
    let send_as = async |user: &User| send(app, operation, Some(&user.token())).await;
    let (denied, allowed): (Vec<User>, User) = match rule {
        AccessRule::Public | AccessRule::Signed => return false,
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
    let mut example = operation.example.clone();
    if !operation.takes_key || operation.method != "POST" {
        return false;
    }
    if let Some(files) = example.get_mut("files") {
        *files = Value::Null;
    }
    let request = || {
        let request = app.post(&operation.path()).by(&allowed).header("idempotency-key", "k");
        if example.is_null() { request } else { request.json(&example) }
    };
    let first = request().send().await;
    let is_repeated = first.status == 200;
    if is_repeated {
        assert_repeated(id, first, request().send().await);
    }
    is_repeated
}

/// Asserts that a response is that of an earlier request with the same key.
///
/// # Panics
/// If it is another.
fn assert_repeated(id: &str, first: TestResponse, again: TestResponse) {
    assert_eq!(again.header("idempotency-replayed"), "true", "{id}: {}", again.text());
    assert_eq!(again.header("location"), first.header("location"), "{id}");
    let (mut first, again) = (first.ok(), again.ok());
    // Secrets are shown only once.
    for name in ["secret", "clientSecret"] {
        if again.get(name).is_none() {
            first.as_object_mut().and_then(|members| members.remove(name));
        }
    }
    assert_eq!(again, first, "{id}");
}

/// Sends the request of case number `n` as this user. All users and operations share its `Idempotency-Key`, which must
/// give a user neither the stored response of another user nor that of another operation.
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
        request.header("idempotency-key", &format!("k-{n}")).send().await
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

// The roles `viewer` and `weighbridge` (docs/api/authentication.md, "Roles"). Only the next two lists and the methods
// decide, so a new operation that changes something refuses both roles.

/// The operations other than GET that `viewer` may call: they change nothing, or only what is its own.
const VIEWER: [&str; 8] = [
    "resolve_files",
    "create_link",
    "create_links",
    "create_saved_search",
    "update_saved_search",
    "delete_saved_search",
    "add_listing_to_wishlist",
    "remove_listing_from_wishlist",
];

/// The operations that `weighbridge` may call.
const WEIGHBRIDGE: [&str; 27] = [
    "list_files",
    "find_file",
    "download_file",
    "find_storage_usage",
    "create_link",
    "create_links",
    "resolve_files",
    "upload_file",
    "list_commodities",
    "search_loads",
    "summarize_loads",
    "list_load_batches",
    "collect_load",
    "create_note",
    "reject_load",
    "find_load",
    "list_loads_by_ids",
    "export_completed_loads",
    "list_load_events",
    "list_events",
    "stream_events",
    "list_load_drivers",
    "list_notifications",
    "list_notifications_of_load",
    "prove_delivery",
    "prove_delivery_of_load",
    "correct_proof_of_delivery",
];

/// The sets of roles that callers are tried with.
const ROLES: [&[&str]; 3] = [&["viewer"], &["weighbridge"], &["viewer", "weighbridge"]];

/// Returns true if a caller with this role may call the operation, as far as roles decide.
fn admits(name: &str, operation: &Operation, rule: &AccessRule) -> bool {
    match (rule, name) {
        (AccessRule::Admin, _) => false,
        (_, "viewer") => operation.method == "GET" || VIEWER.contains(&&*operation.id),
        // The feed of listings has the ids of that of loads, and a scope.
        _ => WEIGHBRIDGE.contains(&&*operation.id) && !operation.query.iter().any(|name| name == "scope"),
    }
}

/// Asserts that an operation declares the roles that may call it, and refuses others: with 403, before it reads the
/// request, whatever else the request is. `admin` has precedence over both roles.
///
/// # Panics
/// If it does not.
async fn assert_roles(app: &App, operation: &Operation, rule: &AccessRule) {
    let id = &operation.id;
    let declared = operation.roles.as_ref().unwrap_or_else(|| panic!("{id} declares no x-roles"));
    let mut expected: Vec<_> =
        ["viewer", "weighbridge"].into_iter().filter(|role| admits(role, operation, rule)).collect();
    if matches!(rule, AccessRule::Admin) {
        expected.push("admin");
    }
    assert_eq!(*declared, expected, "{id}: x-roles");
    let is_refused = async |user: User| {
        let response = send(app, operation, Some(&user.token())).await;
        response.status == 403 && response.text().contains("The role ")
    };
    for roles in ROLES {
        let is_admitted = roles.iter().all(|role| admits(role, operation, rule));
        for user in [User::of("stranger"), User::individual("nobody")] {
            assert_eq!(is_refused(user.with_roles(roles)).await, !is_admitted, "{id}: {roles:?}");
        }
    }
    let admin = User::admin().with_roles(&["viewer", "admin", "weighbridge"]);
    assert!(!is_refused(admin).await, "{id}: admin has precedence");
}

/// Asserts that the users whom a case allows are refused with a role that the operation does not admit, and change
/// nothing.
///
/// # Panics
/// If they are not.
async fn assert_case_refuses_roles(app: &App, operation: &Operation, n: usize, case: &AccessCase) {
    let declared = operation.roles.iter().flatten().map(String::as_str).collect::<Vec<_>>();
    let before = state(app, case).await;
    for roles in ROLES {
        if roles.iter().all(|role| declared.contains(role)) {
            continue;
        }
        for user in case.allowed.iter().filter(|user| user.claims["roles"].is_null()) {
            let user = user.clone().with_roles(roles);
            let response = send_case(app, operation, n, case, &user).await;
            assert_eq!(response.status, 403, "{}: {}: {}", operation.id, user.claims, response.text());
            assert_eq!(response.error(403), "forbidden");
        }
    }
    assert_eq!(state(app, case).await, before, "{}: a role changed it", operation.id);
}

async fn assert_restricted(app: &App, operation: &Operation, cases: &[AccessCase]) -> bool {
    let id = &operation.id;
    assert!(!cases.is_empty(), "{id}: no cases");
    for (n, case) in cases.iter().enumerate() {
        assert_case_refuses_roles(app, operation, n, case).await;
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
                if operation.takes_key {
                    let before = state(app, case).await;
                    assert_repeated(id, response, send_case(app, operation, n, case, user).await);
                    assert_eq!(state(app, case).await, before, "{id}: the repeat changed it");
                }
            }
        }
        assert!(!case.allowed.is_empty(), "{id}: no user is allowed");
    }
    operation.takes_key
}

async fn assert_scoped(app: &App, operation: &Operation, cases: &[AccessCase]) -> bool {
    let id = &operation.id;
    assert!(!cases.is_empty(), "{id}: no cases");
    for (n, case) in cases.iter().enumerate() {
        assert_case_refuses_roles(app, operation, n, case).await;
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
    false
}

/// The paths of webhooks for [`webhook_access_rules`].
pub struct TestWebhooks {
    changed: String,
    deleted: Vec<String>,
    /// A delivery of `changed`.
    delivery: String,
    /// The form of a webhook for the events of every organisation.
    for_all: Value,
}

/// Creates webhooks of an organisation that subscribe to an event. Their receivers do not exist.
pub async fn webhooks(app: &App, organisation: &str, event: &str) -> TestWebhooks {
    let user = User::of(organisation);
    let form = json!({"url": "https://127-0-0-1.invalid/", "events": [event]});
    let mut paths = Vec::new();
    for _ in 0..3 {
        let webhook = app.post("/v1/webhooks").by(&user).json(&form).send().await.ok();
        paths.push(format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap()));
    }
    let changed = paths.remove(0);
    let test = app.post(&format!("{changed}/test")).by(&user).send().await.ok();
    let for_all = json!({"url": form["url"], "events": form["events"], "scope": "all"});
    TestWebhooks { changed, deleted: paths, delivery: test["id"].as_str().unwrap().to_owned(), for_all }
}

/// Returns the rows of the operations on webhooks.
pub fn webhook_access_rules(webhooks: &TestWebhooks, organisation: &str) -> Vec<(&'static str, AccessRule)> {
    let TestWebhooks { changed, deleted, delivery, for_all } = webhooks;
    let (own, admin) = (User::of(organisation), User::admin());
    let (stranger, alone) = (User::of("another"), User::individual("nobody"));
    let case = |path: String| AccessCase::new(path, &[&own, &admin]).denies(&stranger).denies(&alone);
    let change = |path: String| case(path).leaves_unchanged(changed);
    let id = changed.rsplit('/').next().unwrap();
    let delete = |(path, user): (&String, &User)| {
        AccessCase::new(path, &[user]).denies(&stranger).denies(&alone).leaves_unchanged(path).removes()
    };
    vec![
        // For the events of every organisation. Each may create webhooks for its own ones.
        (
            "create_webhook",
            AccessRule::Restricted(vec![
                AccessCase::new("/v1/webhooks", &[&admin]).denies(&own).json(for_all.clone()),
            ]),
        ),
        (
            "list_webhooks",
            AccessRule::Scoped(vec![
                AccessCase::new("/v1/webhooks", &[&own, &admin]).denies(&stranger).discloses(id),
            ]),
        ),
        ("find_webhook", AccessRule::Restricted(vec![case(changed.clone())])),
        (
            "update_webhook",
            AccessRule::Restricted(vec![change(changed.clone()).json(json!({"description": "edited"}))]),
        ),
        ("delete_webhook", AccessRule::Restricted(deleted.iter().zip([&own, &admin]).map(delete).collect())),
        ("test_webhook", AccessRule::Restricted(vec![case(format!("{changed}/test"))])),
        ("rotate_webhook_secret", AccessRule::Restricted(vec![change(format!("{changed}/rotate-secret"))])),
        ("list_webhook_deliveries", AccessRule::Restricted(vec![case(format!("{changed}/deliveries"))])),
        (
            "find_webhook_delivery",
            AccessRule::Restricted(vec![case(format!("{changed}/deliveries/{delivery}"))]),
        ),
        (
            "redeliver_webhook_deliveries",
            AccessRule::Restricted(vec![
                case(format!("{changed}/deliveries/redeliver")).json(json!({"sinceUTC": "2026-03-01"})),
            ]),
        ),
        (
            "redeliver_webhook_delivery",
            AccessRule::Restricted(vec![case(format!("{changed}/deliveries/{delivery}/redeliver"))]),
        ),
    ]
}
