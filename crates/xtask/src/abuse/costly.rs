//! Requests that are small and dear: nested, repeated, with thousands of anything, or asking for the worst search.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::socket::{Ends, Socket, exchange, head};
use super::stage::{Bounds, Stage, Victim, load};

const JSON: (&str, &str) = ("content-type", "application/json");
const MIB: usize = 1 << 20;
/// MiB beyond the start.
const MEMORY: f64 = 128.0;

/// A request: its name, its head, its body, and what it is answered.
pub type Costly = (&'static str, String, Vec<u8>, &'static str);

/// All of them.
pub fn requests(stage: &Stage<'_>) -> Result<()> {
    let (system, logistics) = (&stage.system, &stage.logistics);
    let short = stage.trial.short;
    timed(
        stage,
        logistics,
        "JSON of 1 MiB, nested or full of members",
        bodies(logistics),
        if short { 5000 } else { 250 },
    )?;
    timed(
        stage,
        logistics,
        "thousands of parameters, headers of 60 KiB",
        heads(logistics, "/v1/loads", "406"),
        if short { 1000 } else { 100 },
    )?;
    timed(
        stage,
        system,
        "ranges, tags and headers of 60 KiB",
        heads(system, &stage.large, "200"),
        if short { 1000 } else { 100 },
    )?;
    timed(stage, logistics, "the dearest searches", searches(logistics), if short { 3000 } else { 500 })?;
    timed(stage, system, "the dearest places", places(), if short { 3000 } else { 250 })?;
    many_keys(stage)?;
    many_paths(stage)
}

/// Sends each some times; the longest may take so many milliseconds.
pub fn timed(
    stage: &Stage<'_>,
    victim: &Victim,
    what: &str,
    requests: Vec<Costly>,
    limit: u128,
) -> Result<()> {
    let wanted: Vec<_> = requests.iter().map(|(name, .., end)| format!("{name} {end}")).collect();
    let wanted: Vec<_> = wanted.iter().map(String::as_str).collect();
    let mut slowest = (Duration::ZERO, "");
    stage.abuse(what, victim, &Bounds { ends: &wanted, memory: MEMORY }, || {
        let mut ends = Ends::default();
        for (name, head, body, _) in requests {
            stage.trial.stop.check()?;
            // The quickest time says what it costs, whatever else the machine does.
            let mut best = Duration::MAX;
            for _ in 0..if stage.trial.short { 3 } else { 20 } {
                let begun = Instant::now();
                let end = exchange(victim.port(), &head, [body.clone()].into_iter())?;
                ends.add(format!("{name} {end}"));
                best = best.min(begun.elapsed());
            }
            slowest = slowest.max((best, name));
        }
        Ok(ends)
    })?;
    stage.trial.expect(
        slowest.0.as_millis() <= limit,
        format!("abuse, {}: the longest of: {what}", victim.service.name),
        format!("{:.1} ms ({})", slowest.0.as_secs_f64() * 1000.0, slowest.1),
        format!("at most {limit} ms"),
    )
}

fn bodies(victim: &Victim) -> Vec<Costly> {
    let whole = load("x").to_string();
    let with = |member: &str| whole.replacen('{', &format!("{{{member},"), 1);
    let nested = |depth: usize| with(&format!("\"a\":{}{}", "[".repeat(depth), "]".repeat(depth)));
    let objects = |depth: usize| with(&format!("\"tags\":{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth)));
    let room = MIB - whole.len() - 100;
    let members = (0..70_000).map(|n| format!("\"m{n}\":1,")).collect::<Vec<_>>().concat();
    let texts = ["reference", "carrierId", "deliveryDateISO", "pickupPostcode", "vehicleRegistration"];
    let texts = texts.map(|name| format!("\"{name}\":\"{}\"", "a ".repeat(room / 10 - 20))).join(",");
    let tags = |tag: &str| {
        with(&format!("\"tags\":[{tag}{}]", format!(",{tag}").repeat(room / (tag.len() + 1) - 1)))
    };
    let files = format!("{{\"files\":[{{}}{}],{}", ",{}".repeat(room / 3 - 9), &whole[1..]);
    let all = [
        ("1,000 levels", nested(1000), "400"),
        ("100,000 levels", nested(100_000), "400"),
        ("100,000 objects", objects(100_000), "400"),
        ("brackets", "[".repeat(MIB), "400"),
        ("braces", "{\"a\":".repeat(MIB / 5), "400"),
        ("members", with(&format!("{members}\"commodityId\":{{}}")), "200"),
        ("a member again and again", with(&("\"weight\":1,".repeat(room / 11 - 1) + "\"weight\":[]")), "200"),
        ("digits", with(&format!("\"weight\":{}", "9".repeat(room))), "400"),
        ("decimals", with(&format!("\"weight\":0.{}", "9".repeat(room))), "200"),
        ("1e999999", with("\"weight\":1e999999"), "400"),
        ("texts", with(&texts), "400"),
        ("tags", tags("1"), "200"),
        ("empty tags", tags("\"\""), "200"),
        ("files", files, "400"),
        ("escapes", with(&format!("\"reference\":\"{}\"", "\\ud83d\\ude00".repeat(room / 12))), "200"),
        ("half escapes", with(&format!("\"reference\":\"{}\"", "\\ud83d".repeat(room / 6))), "400"),
        ("spaces", " ".repeat(MIB), "400"),
    ];
    let request = |(name, body, end): (&'static str, String, &'static str)| {
        let length = body.len().to_string();
        let headers = [JSON, ("content-length", length.as_str())];
        let head = head("POST", "/v1/loads/carrier", Some(&victim.token), &headers) + "\r\n";
        (name, head, body.into_bytes(), end)
    };
    all.map(request).into()
}

fn heads(victim: &Victim, path: &str, accept: &'static str) -> Vec<Costly> {
    let get = |path: &str, headers: &[(&str, &str)]| head("GET", path, Some(&victim.token), headers) + "\r\n";
    let with = |name: &'static str, piece: &str, end| {
        (name, get(path, &[(name, &piece.repeat(60_000 / piece.len()))]), Vec::new(), end)
    };
    let parameters = |name: &'static str, piece: &str, end| {
        let query = piece.repeat(60_000 / piece.len());
        (name, get(&format!("{path}?{query}"), &[]), Vec::new(), end)
    };
    vec![
        parameters("unknown parameters", "a=b&", "200"),
        parameters("tags", "f:status=completed&", "200"),
        parameters("percent", "query=%25%25&", "200"),
        parameters("equals", "=", "200"),
        with("accept", "a/b;q=0.1,", accept),
        with("accept-encoding", "gzip;q=0.1,", "200"),
        with("range", "0-0,", "200"),
        (
            "ranges",
            get(path, &[("range", &format!("bytes={}0-0", "0-0,".repeat(15_000)))]),
            Vec::new(),
            "200",
        ),
        with("if-none-match", "\"a\",", "200"),
        with("if-range", "\"a\",", "200"),
        with("forwarded", "for=1.1.1.1,", "200"),
        with("x-forwarded-for", "1.1.1.1,", "200"),
        with("cookie", "a=b;", "200"),
        with("traceparent", "00-", "200"),
        with("x-request-id", "a", "200"),
        with("idempotency-key", "a", "200"),
        with("accept-language", "en;q=0.1,", "200"),
        with("content-type", "multipart/form-data;", "200"),
    ]
}

fn searches(victim: &Victim) -> Vec<Costly> {
    let words = ('a'..='z').map(String::from).collect::<Vec<_>>().join("%20");
    let paths = [
        ("deep", "offset=1000000&limit=100&count=true".to_owned(), "200"),
        ("percent", "query=%25%25%25&count=true&limit=100".into(), "200"),
        ("a letter", "query=a&count=true&limit=100&sortBy=commodity&offset=5000".into(), "200"),
        ("all letters", format!("query={words}&count=true&limit=100"), "400"),
        ("a thousand words", format!("query={}", "batch%20".repeat(1000)), "400"),
        ("a long word", format!("query={}", "b".repeat(50_000)), "400"),
        ("underscores", format!("query={}", "_".repeat(200)), "200"),
        ("all at once", "query=a&f:status=upcoming&startDateISO=0001-01-01&endDateISO=9999-12-31&sortBy=weight&sortDesc=true&count=true&limit=100".into(), "200"),
    ];
    let request = |(name, query, end)| {
        let head = head("GET", &format!("/v1/loads?{query}"), Some(&victim.token), &[]) + "\r\n";
        (name, head, Vec::new(), end)
    };
    paths.map(request).into()
}

fn places() -> Vec<Costly> {
    let words = |word: &str, count| vec![word; count].join("%20");
    let paths = [
        ("nonsense", format!("/v1/addresses?query={}", "qxzjvkw".repeat(25)), "200"),
        ("long nonsense", format!("/v1/addresses?query={}", "qxzjvkw".repeat(5000)), "400"),
        ("words", format!("/v1/addresses?query={}", words("a", 1000)), "400"),
        ("a letter", "/v1/addresses?query=a&limit=100&offset=1000".into(), "200"),
        ("near nothing", "/v1/addresses?query=zzzzzzzzzz&limit=100".into(), "200"),
        ("three words", "/v1/locations/three-words?query=aaaaaaa.bbbbbbb.ccccccc".into(), "400"),
        (
            "three long words",
            format!("/v1/locations/three-words?query={0}.{0}.{0}", "ab".repeat(5000)),
            "400",
        ),
        ("many words", format!("/v1/locations/three-words?query={}", vec!["a"; 10_000].join(".")), "400"),
    ];
    let request =
        |(name, path, end): (_, String, _)| (name, head("GET", &path, None, &[]) + "\r\n", Vec::new(), end);
    paths.map(request).into()
}

/// Answers that are kept, each under another key: no more are than there is room for.
fn many_keys(stage: &Stage<'_>) -> Result<()> {
    let count = if stage.trial.short { 1000 } else { 50_000 };
    let what = format!("{count} places, each another one to keep");
    let paths = (0..count).map(|n| format!("/v1/locations/coordinates?lat=52.{n:05}&lon=-2.{n:05}"));
    one_after_another(stage, &stage.system, &what, &["200"], paths)
}

/// Paths and methods that nobody knows: metrics do not count each.
fn many_paths(stage: &Stage<'_>) -> Result<()> {
    let (victim, count) = (&stage.logistics, if stage.trial.short { 1000 } else { 10_000 });
    let size = || Ok::<_, anyhow::Error>(victim.service.get("/metrics", &victim.token)?.bytes.len());
    let before = size()?;
    let paths = (0..count).map(|n| format!("/v1/loads/{n}/none-{n}"));
    one_after_another(stage, victim, &format!("{count} paths that nobody knows"), &["404"], paths)?;
    let after = size()?;
    stage.trial.expect(
        after <= before + 8192,
        format!("abuse, {}: what /metrics says before and after that", victim.service.name),
        format!("{before} and {after} bytes"),
        "8 KiB more",
    )
}

/// Asks for one path after the other on one connection.
pub fn one_after_another(
    stage: &Stage<'_>,
    victim: &Victim,
    what: &str,
    answered: &[&str],
    paths: impl Iterator<Item = String>,
) -> Result<()> {
    let mut socket = Socket::open(victim.port())?;
    stage.abuse(what, victim, &Bounds { ends: answered, memory: MEMORY }, || {
        let mut ends = Ends::default();
        for path in paths {
            stage.trial.stop.check()?;
            let request = head("GET", &path, Some(&victim.token), &[]) + "\r\n";
            ends.add(socket.ask(&request));
        }
        Ok(ends)
    })
}
