//! What no error may tell: where the program lies, what it is made of, what it asks of others and where those are.

use crate::authorization::{Operation, operations};
use crate::client::TestResponse;
use crate::{App, TestRequest, User};

/// Parts of paths, statements, sources and names of crates, in lower case.
const INSIDE: [&str; 31] = [
    "/root",
    "/work",
    "/tmp",
    "/home",
    "/var",
    ".cargo",
    ".rs",
    "src/",
    "panicked",
    "backtrace",
    "select ",
    "insert into",
    "delete from",
    "no such table",
    "relation \"",
    "constraint",
    "sqlite",
    "postgres",
    "diesel",
    "actix",
    "serde",
    "tokio",
    "hyper",
    "reqwest",
    "jsonwebtoken",
    "127.0.0.1",
    "localhost",
    "os error",
    "redis",
    "s3://",
    "drover_",
];

impl TestResponse {
    /// Panics if this is an error that tells of the inside, or has not the error's body.
    pub fn assert_no_internals(&self) {
        if self.status < 400 {
            return;
        }
        let headers = self.headers.iter().map(|(name, value)| format!("{name}: {value:?}\n"));
        let told = (headers.collect::<String>() + &self.text()).to_lowercase();
        for inside in INSIDE {
            assert!(!told.contains(inside), "{inside:?} in {told}");
        }
        let body = self.json();
        assert_eq!((body["status"].as_str(), body["stack"].as_str()), (Some("error"), Some("")), "{body}");
        assert!(
            body["validation"].is_array() && body["message"].is_string() && body["code"].is_string(),
            "{body}"
        );
    }
}

/// Provokes the errors of every operation, and then those that come of tables that `broken` (statements) takes away.
pub async fn assert_errors_hide_internals(app: &App, broken: &str) {
    let operations = operations(app).await;
    let mut statuses = Vec::new();
    for operation in &operations {
        for call in mistakes(app, operation) {
            let reply = call.by(&User::admin().with("org", "farm")).send().await;
            assert!(reply.status < 500, "{}: {}", operation.id, reply.text());
            reply.assert_no_internals();
            statuses.push(reply.status);
        }
    }
    for status in [400, 404, 405, 406, 413, 415] {
        assert!(statuses.contains(&status), "{status} was not provoked");
    }
    app.database.execute(broken);
    for operation in &operations {
        let reply = app.call(&operation.method, &operation.path()).by(&User::admin()).send().await;
        reply.assert_no_internals();
        // What is read by an id is looked for before anything else is.
        if operation.method == "GET" && operation.pattern.contains('{') {
            assert_eq!(reply.status, 500, "{}: {}", operation.id, reply.text());
        }
    }
}

fn mistakes(app: &App, operation: &Operation) -> Vec<TestRequest> {
    let path = operation.path();
    let call = |path: &str| app.call(&operation.method, path);
    let (json, form) = ("application/json", "multipart/form-data; boundary=x");
    let mut calls = vec![
        call(&path),
        call(&path).header("accept", "image/x"),
        call(&format!(
            "{path}?limit=x&cursor=%FF&sortBy='&format=xml&ids=x&startDateISO=x&lat=x&countryISO=x"
        )),
        call(&format!("{path}/more")),
        app.call("PATCH", &path),
        call(&path).header("idempotency-key", &"k".repeat(300)).body(json, "{}"),
        call(&path).body("text/plain", "{}"),
        call(&path).body(json, vec![b' '; (1 << 20) + 1]),
        call(&path).body(form, "--x\r\nno header\r\n\r\nx\r\n--x--\r\n"),
        call(&path)
            .body(form, "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\ncut"),
        call(&path).body(form, vec![b'-'; 70_000]),
    ];
    for body in ["", "{", "[]", "5", "{\"a\": \u{0}}", "{\"logging\": {\"level\": 5, \"filter\": \"[\"}}"] {
        calls.push(call(&path).body(json, body));
    }
    for id in ["%00", "'", "..%2f..%2fetc%2fpasswd", "%2e%2e%2f", "a\\b"] {
        let nothing = "0190f5fe-0000-7000-8000-000000000000";
        calls.extend(path.contains(nothing).then(|| call(&path.replace(nothing, id))));
    }
    calls
}
