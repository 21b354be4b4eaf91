//! Sends values that a database, a full-text search, a header or a template could interpret.

use std::time::{Duration, Instant};

use crate::operation::operations;
use crate::{App, User};

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
