//! Values that somebody would rather have taken for something else.

use std::time::{Duration, Instant};

use crate::authorization::operations;
use crate::{App, User};

/// What databases, full-text searches, headers and templates might read in a text.
pub(crate) fn texts() -> Vec<String> {
    let texts = [
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
    let long = ["x", "%", "\"", "9", "a ", "\u{1f404}"].map(|text| text.repeat(1_000));
    texts.iter().map(|text| (*text).to_owned()).chain(long).collect()
}

/// Gives hostile values to every query parameter of every GET operation, and to its path: it is always an answer, never
/// a failure, and never shows what only others may see.
pub async fn assert_parameters_resist_injection(app: &App, user: &User, foreign: &str) {
    let texts = texts();
    let mut asked = 0;
    for operation in operations(app).await.into_iter().filter(|operation| operation.method == "GET") {
        let at = format!("{}{}", app.url, operation.path());
        let queries = operation.query.iter().flat_map(|name| texts.iter().map(move |text| (name, text)));
        let mut urls: Vec<_> = queries
            .map(|(name, text)| {
                reqwest::Url::parse_with_params(&at, [(name, text)]).expect("a URL").to_string()
            })
            .collect();
        if operation.pattern.contains('{') {
            for text in &texts {
                let mut url = reqwest::Url::parse(&app.url).expect("a URL");
                let parts = operation.pattern.split('/').skip(1);
                let parts = parts.map(|part| if part.starts_with('{') { text } else { part });
                url.path_segments_mut().expect("segments").clear().extend(parts);
                urls.push(url.to_string());
            }
        }
        for url in urls {
            let path = url.strip_prefix(&app.url).expect("this service");
            let told = &path[..path.len().min(200)];
            let started = Instant::now();
            let reply = app.get(path).by(user).send().await;
            assert!(reply.status < 500, "{}: {told}: {}", operation.id, reply.text());
            assert!(started.elapsed() < Duration::from_secs(30), "{}: {told} slept", operation.id);
            assert!(!reply.text().contains(foreign), "{}: {told}: {}", operation.id, reply.text());
            assert!(!reply.headers.contains_key("x-injected"), "{}: {told}", operation.id);
            reply.assert_no_internals();
            asked += 1;
        }
    }
    assert!(asked > texts.len(), "no operation has parameters");
}
