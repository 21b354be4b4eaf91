//! Checks that error responses reveal no paths, source code, dependencies, statements or addresses.

use crate::client::TestResponse;
use crate::operation::{Operation, UNKNOWN_ID, operations};
use crate::{App, TestRequest, User};

/// Parts of paths, SQL statements, source locations, crate names and addresses, in lower case.
const INTERNALS: [&str; 31] = [
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
    /// Asserts that an error response reveals no internals and has the error body (docs/api/errors.md). Accepts any
    /// response with a status below 400.
    pub fn assert_no_internals(&self) {
        if self.status < 400 {
            return;
        }
        let headers = self.headers.iter().map(|(name, value)| format!("{name}: {value:?}\n"));
        let response = (headers.collect::<String>() + &self.text()).to_lowercase();
        for internal in INTERNALS {
            assert!(!response.contains(internal), "{internal:?} in {response}");
        }
        let body = self.json();
        assert_eq!((body["status"].as_str(), body["stack"].as_str()), (Some("error"), Some("")), "{body}");
        assert!(
            body["validation"].is_array() && body["message"].is_string() && body["code"].is_string(),
            "{body}"
        );
    }
}

/// Asserts that no error of any operation reveals internals. Sends malformed requests first, then breaks the database
/// with the statements `break_sql` to provoke server errors.
pub async fn assert_errors_hide_internals(app: &App, break_sql: &str) {
    let operations = operations(app).await;
    let mut statuses = Vec::new();
    for operation in &operations {
        for request in malformed_requests(app, operation) {
            let response = request.by(&User::admin().with("org", "farm")).send().await;
            assert!(response.status < 500, "{}: {}", operation.id, response.text());
            response.assert_no_internals();
            statuses.push(response.status);
        }
    }
    for status in [400, 404, 405, 406, 413, 415] {
        assert!(statuses.contains(&status), "{status} was not provoked");
    }
    app.database.execute(break_sql);
    for operation in &operations {
        let response = app.call(&operation.method, &operation.path()).by(&User::admin()).send().await;
        response.assert_no_internals();
        // Operations that read one resource look it up before anything else can fail.
        if operation.method == "GET" && operation.secured && operation.pattern.contains('{') {
            assert_eq!(response.status, 500, "{}: {}", operation.id, response.text());
        }
    }
}

fn malformed_requests(app: &App, operation: &Operation) -> Vec<TestRequest> {
    let path = operation.path();
    let request = |path: &str| app.call(&operation.method, path);
    let (json, form) = ("application/json", "multipart/form-data; boundary=x");
    let mut requests = vec![
        request(&path),
        request(&path).header("accept", "image/x"),
        request(&format!(
            "{path}?limit=x&cursor=%FF&sortBy='&format=xml&ids=x&startDateISO=x&lat=x&countryISO=x"
        )),
        request(&format!("{path}/more")),
        app.call("PATCH", &path),
        request(&path).header("idempotency-key", &"k".repeat(300)).body(json, "{}"),
        request(&path).body("text/plain", "{}"),
        request(&path).body(json, vec![b' '; (1 << 20) + 1]),
        request(&path).body(form, "--x\r\nno header\r\n\r\nx\r\n--x--\r\n"),
        request(&path)
            .body(form, "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\ncut"),
        request(&path).body(form, vec![b'-'; 70_000]),
    ];
    for body in ["", "{", "[]", "5", "{\"a\": \u{0}}", "{\"logging\": {\"level\": 5, \"filter\": \"[\"}}"] {
        requests.push(request(&path).body(json, body));
    }
    for id in ["%00", "'", "..%2f..%2fetc%2fpasswd", "%2e%2e%2f", "a\\b"] {
        requests.extend(path.contains(UNKNOWN_ID).then(|| request(&path.replace(UNKNOWN_ID, id))));
    }
    requests
}
