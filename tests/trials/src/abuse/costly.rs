//! Small requests that are expensive to parse: nested, repeated, or with thousands of elements.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::Result;
use testkit::market::carried_load;

use super::services::{ORG, Services};
use super::socket;
use super::target::{Case, Target};

/// Limit of a JSON body in bytes.
const MAX_BODY_SIZE: usize = 1 << 20;
/// Additional memory in MiB.
pub const MEMORY: f64 = 128.0;

/// Sends all requests, and many unknown paths.
pub fn run(services: &Services<'_>) -> Result<()> {
    let Services { system, logistics, large_file, .. } = services;
    let limit = |debug, release| if services.trial.short { debug } else { release };
    send(logistics, "1 MiB of JSON, nested or full of members", bodies(logistics), limit(5000, 250))?;
    let heads_limit = limit(1000, 100);
    send(
        logistics,
        "60 KiB of parameters or of one header",
        heads(logistics, "/v1/loads", "406", "200"),
        heads_limit,
    )?;
    send(
        system,
        "60 KiB of parameters or of one header",
        heads(system, large_file, "200", "400"),
        heads_limit,
    )?;
    unknown_paths(logistics)
}

/// Sends each request several times. The shortest duration of each has a limit in milliseconds.
pub fn send(target: &Target<'_>, attack: &str, requests: Vec<Case<String>>, limit: u128) -> Result<()> {
    let mut slowest = (Duration::ZERO, "");
    target.attack_with(attack, MEMORY, requests, |name, request| {
        // The shortest duration is the cost of the request, whatever else the machine does.
        let (mut shortest, mut statuses) = (Duration::MAX, BTreeSet::new());
        for _ in 0..if target.trial.short { 3 } else { 20 } {
            let begun = Instant::now();
            statuses.insert(socket::send(target.port(), &request)?);
            shortest = shortest.min(begun.elapsed());
        }
        slowest = slowest.max((shortest, name));
        Ok(statuses.into_iter().collect::<Vec<_>>().join(" or "))
    })?;
    let (duration, name) = slowest;
    target.expect(
        duration.as_millis() <= limit,
        &format!("slowest of {attack}"),
        format!("{:.1} ms ({name})", duration.as_secs_f64() * 1000.0),
        format!("{limit} ms"),
    )
}

/// Loads of up to 1 MiB of JSON.
fn bodies(target: &Target<'_>) -> Vec<Case<String>> {
    let load = carried_load(ORG, "x").to_string();
    // The members of the load follow and win.
    let with = |members: &str| load.replacen('{', &format!("{{{members},"), 1);
    let nested = |depth: usize| with(&format!("\"a\":{}{}", "[".repeat(depth), "]".repeat(depth)));
    let objects = |depth: usize| with(&format!("\"tags\":{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth)));
    let size = MAX_BODY_SIZE - load.len() - 100;
    let members = (0..70_000).map(|n| format!("\"m{n}\":1,")).collect::<Vec<_>>().concat();
    let texts = ["reference", "carrierId", "deliveryDateISO", "pickupPostcode", "vehicleRegistration"];
    let texts = texts.map(|name| format!("\"{name}\":\"{}\"", "a ".repeat(size / 10 - 20))).join(",");
    let tags = |tag: &str| {
        with(&format!("\"tags\":[{tag}{}]", format!(",{tag}").repeat(size / (tag.len() + 1) - 1)))
    };
    let files = format!("{{\"files\":[{{}}{}],{}", ",{}".repeat(size / 3 - 9), &load[1..]);
    let all = [
        ("1,000 levels", nested(1000), "400"),
        ("100,000 levels", nested(100_000), "400"),
        ("100,000 objects", objects(100_000), "400"),
        ("brackets", "[".repeat(MAX_BODY_SIZE), "400"),
        ("braces", "{\"a\":".repeat(MAX_BODY_SIZE / 5), "400"),
        ("members", with(&format!("{members}\"commodityId\":{{}}")), "200"),
        ("a repeated member", with(&("\"weight\":1,".repeat(size / 11 - 1) + "\"weight\":[]")), "200"),
        ("digits", with(&format!("\"weight\":{}", "9".repeat(size))), "400"),
        ("decimals", with(&format!("\"weight\":0.{}", "9".repeat(size))), "200"),
        ("1e999999", with("\"weight\":1e999999"), "400"),
        ("texts", with(&texts), "400"),
        ("tags", tags("1"), "200"),
        ("empty tags", tags("\"\""), "200"),
        ("files", files, "400"),
        ("escapes", with(&format!("\"reference\":\"{}\"", "\\ud83d\\ude00".repeat(size / 12))), "200"),
        ("half escapes", with(&format!("\"reference\":\"{}\"", "\\ud83d".repeat(size / 6))), "400"),
        ("spaces", " ".repeat(MAX_BODY_SIZE), "400"),
    ];
    let case = |(name, body, status): (_, String, _)| {
        let length = body.len().to_string();
        let headers = [("content-type", "application/json"), ("content-length", length.as_str())];
        (name, target.head("POST", "/v1/loads/carrier", &headers) + &body, status)
    };
    all.map(case).into()
}

/// Requests of a path with 60 KiB of parameters or of one header. `accept` is the status for unknown media types,
/// `filters` that for `f:status`.
fn heads(target: &Target<'_>, path: &str, accept: &'static str, filters: &'static str) -> Vec<Case<String>> {
    let get = |path: &str, headers: &[(&str, &str)]| target.head("GET", path, headers);
    let header = |name: &'static str, text: &str, status| {
        (name, get(path, &[(name, &text.repeat(60_000 / text.len()))]), status)
    };
    let parameters = |name: &'static str, text: &str, status| {
        let query = text.repeat(60_000 / text.len());
        (name, get(&format!("{path}?{query}"), &[]), status)
    };
    let ranges = format!("bytes={}0-0", "0-0,".repeat(15_000));
    vec![
        parameters("unknown parameters", "a=b&", "200"),
        parameters("filters", "f:status=completed&", filters),
        parameters("percent", "query=%25%25&", "200"),
        parameters("equals", "=", "200"),
        header("accept", "a/b;q=0.1,", accept),
        header("accept-encoding", "gzip;q=0.1,", "200"),
        header("range", "0-0,", "200"),
        ("ranges", get(path, &[("range", &ranges)]), "200"),
        header("if-none-match", "\"a\",", "200"),
        header("if-range", "\"a\",", "200"),
        header("forwarded", "for=1.1.1.1,", "200"),
        header("x-forwarded-for", "1.1.1.1,", "200"),
        header("cookie", "a=b;", "200"),
        header("traceparent", "00-", "200"),
        header("x-request-id", "a", "200"),
        header("idempotency-key", "a", "200"),
        header("accept-language", "en;q=0.1,", "200"),
        header("content-type", "multipart/form-data;", "200"),
    ]
}

/// Requests many unknown paths. The metrics must not have a series for each.
fn unknown_paths(target: &Target<'_>) -> Result<()> {
    let count = if target.trial.short { 1000 } else { 10_000 };
    let metrics_size = || Ok::<_, anyhow::Error>(target.service.get("/metrics", &target.token)?.bytes.len());
    let before = metrics_size()?;
    let paths = (0..count).map(|number| format!("/v1/loads/{number}/none-{number}"));
    target.attack_paths(&format!("{count} unknown paths"), MEMORY, "404", paths)?;
    let after = metrics_size()?;
    target.expect(
        after <= before + (8 << 10),
        "size of /metrics before and after them",
        format!("{before} → {after} bytes"),
        "8 KiB more",
    )
}
