//! Sends values that a database, a full-text search, a header or a template could interpret, and checks that error
//! responses reveal no paths, source code, dependencies, statements or addresses.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::app::{App, TestRequest, TestResponse};
use super::operation::{Operation, UNKNOWN_ID, operations};
use super::user::User;

/// The values include `pg_sleep(40)`: a response that takes this long executed it.
const MAX_RESPONSE_TIME: Duration = Duration::from_secs(30);

/// Values that databases, full-text searches, headers or templates could interpret.
fn values() -> Vec<String> {
    let values = [
        "'",
        "''",
        "\"",
        "`",
        "' OR '1'='1",
        "' OR 1=1 --",
        "') OR ('1'='1",
        "x' UNION SELECT document FROM loads --",
        "'; DROP TABLE loads; --",
        "1; SELECT pg_sleep(40)",
        "'||pg_sleep(40)||'",
        "\\",
        "\\'",
        "%",
        "%%",
        "_",
        "%_%",
        "\\%",
        "\u{0}",
        "a\u{0}b",
        "NEAR(",
        "\"a\" OR b*",
        "a AND",
        "NOT",
        "search_text:a",
        "^a",
        "*",
        "-a",
        "{a b}: c",
        "(",
        "$1",
        ":a",
        "?1",
        "@a",
        "/*",
        "--",
        "${jndi:ldap://x}",
        "{{7*7}}",
        "<script>",
        "\r\nX-Injected: y",
        "\u{1b}[2J",
        "../../../etc/passwd",
        "\u{202e}",
        "\u{feff}",
        "\u{1f404}",
        "e\u{301}",
        "-1",
        "0",
        "NaN",
        "1e309",
        "null",
        "true",
        "[]",
        "{}",
        ",",
        ",,,",
        "2026-13-45",
        "9999-12-31T23:59:59.999Z",
        "JSON",
        "CSV",
    ];
    let long = ["x", "%", "\"", "9", "a ", "\u{1f404}"].map(|value| value.repeat(1_000));
    values.iter().map(|value| (*value).to_owned()).chain(long).collect()
}

/// Asserts that no GET operation interprets its parameters. Sends hostile values as every query parameter and as path
/// parameters.
///
/// # Panics
/// If a response is a server error, takes 30 s, has an injected header, reveals internals or contains `foreign`, a text
/// that only other users may see.
pub async fn assert_parameters_resist_injection(app: &App, user: &User, foreign: &str) {
    let values = values();
    let mut sent = 0;
    for operation in operations(app).await.into_iter().filter(|operation| operation.method == "GET") {
        let base = format!("{}{}", app.url, operation.path());
        let queries = operation.query.iter().flat_map(|name| values.iter().map(move |value| (name, value)));
        let mut urls: Vec<_> = queries
            .map(|query| reqwest::Url::parse_with_params(&base, [query]).expect("a URL").to_string())
            .collect();
        if operation.pattern.contains('{') {
            for value in &values {
                let mut url = reqwest::Url::parse(&app.url).expect("a URL");
                let segments = operation.pattern.split('/').skip(1);
                let segments = segments.map(|segment| if segment.starts_with('{') { value } else { segment });
                url.path_segments_mut().expect("segments").clear().extend(segments);
                urls.push(url.to_string());
            }
        }
        for url in urls {
            let path = url.strip_prefix(&app.url).expect("this service");
            let context = format!("{}: {}", operation.id, &path[..path.len().min(200)]);
            let started = Instant::now();
            let response = app.get(path).by(user).send().await;
            assert!(response.status < 500, "{context}: {}", response.text());
            assert!(started.elapsed() < MAX_RESPONSE_TIME, "{context} slept");
            assert!(!response.text().contains(foreign), "{context}: {}", response.text());
            assert!(!response.headers.contains_key("x-injected"), "{context}");
            response.assert_no_internals();
            sent += 1;
        }
    }
    assert!(sent > values.len(), "no operation has parameters");
}

/// Asserts that no operation accepts a control character in a text of its body or in its path: 400, and 404 for paths
/// and resources that do not exist.
///
/// # Panics
/// If a response has another status or reveals internals.
pub async fn assert_control_characters_are_refused(app: &App) {
    let mut user = User::of("grain");
    user.claims["roles"] = json!(["admin"]);
    for operation in operations(app).await {
        for name in &operation.query {
            let path = format!("{}?{name}=a%00b", operation.path());
            let response = app.call(&operation.method, &path).by(&user).send().await;
            let context = format!("{} {name}: {} {}", operation.id, response.status, response.text());
            // 403 for links without a signature.
            assert!(matches!(response.status, 400 | 403 | 404), "{context}");
        }
        let context = |part: &str| format!("{} {part:?}", operation.id);
        if operation.pattern.contains('{') {
            let segment = |s: &str| if s.starts_with('{') { "a%00b".to_owned() } else { s.to_owned() };
            let path = operation.pattern.split('/').map(segment).collect::<Vec<_>>().join("/");
            let request = app.call(&operation.method, &path).by(&user);
            let request =
                if operation.example.is_null() { request } else { request.json(&operation.example) };
            let response = request.send().await;
            response.assert_no_internals();
            assert_eq!(response.status, 404, "{}: {}", context(&path), response.text());
        }
        for pointer in texts(&operation.body, String::new()) {
            for text in ["a\u{0}b", "\u{0}", "a\u{7}b", "\u{1b}[2J"] {
                let mut body = operation.body.clone();
                *body.pointer_mut(&pointer).expect("a text") = text.into();
                let response =
                    app.call(&operation.method, &operation.path()).by(&user).json(&body).send().await;
                response.assert_no_internals();
                let is_refused = matches!(response.status, 400 | 404);
                assert!(
                    is_refused,
                    "{} {text:?}: {} {}",
                    context(&pointer),
                    response.status,
                    response.text()
                );
            }
        }
    }
}

/// Returns the JSON pointers of all texts in a value.
fn texts(value: &Value, pointer: String) -> Vec<String> {
    match value {
        Value::String(_) => vec![pointer],
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.flat_map(|(index, item)| texts(item, format!("{pointer}/{index}"))).collect()
        }
        Value::Object(members) => {
            members.iter().flat_map(|(name, member)| texts(member, format!("{pointer}/{name}"))).collect()
        }
        _ => Vec::new(),
    }
}

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
