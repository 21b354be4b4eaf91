//! Requests that are larger than anything that is taken, or say that they are, or are packed.

use anyhow::Result;

use super::packed::{deflated, gzip};
use super::socket::{Ends, Socket, chunked, exchange, head, repeated};
use super::stage::{Bounds, Stage, Victim};

const JSON: (&str, &str) = ("content-type", "application/json");
const FORM: (&str, &str) = ("content-type", "multipart/form-data; boundary=x");
const CHUNKED: (&str, &str) = ("transfer-encoding", "chunked");
const LOADS: &str = "/v1/loads/carrier";
const FILES: &str = "/v1/files";
/// MiB beyond the start that any of them may cost.
const MEMORY: f64 = 24.0;

type Pieces = Box<dyn Iterator<Item = Vec<u8>>>;

/// A request, named by what is large of it.
struct Large {
    name: &'static str,
    head: String,
    rest: Pieces,
    end: &'static str,
}

/// All of them.
pub fn requests(stage: &Stage<'_>) -> Result<()> {
    let size = (if stage.trial.short { 20 } else { 100 }) << 20;
    let mib = size >> 20;
    send(format!("{mib} MiB of one request"), stage, &stage.logistics, loads(&stage.logistics, size))?;
    send(format!("{mib} MiB of a form"), stage, &stage.system, forms(&stage.system, size))?;
    let what = "packed bodies that unpack to 1 GiB";
    send(what.into(), stage, &stage.logistics, packed(&stage.logistics, LOADS, JSON))?;
    send(what.into(), stage, &stage.system, packed(&stage.system, FILES, FORM))?;
    pipelined(stage)
}

fn send(what: String, stage: &Stage<'_>, victim: &Victim, requests: Vec<Large>) -> Result<()> {
    let wanted: Vec<_> = requests.iter().map(|large| format!("{} {}", large.name, large.end)).collect();
    let wanted: Vec<_> = wanted.iter().map(String::as_str).collect();
    stage.abuse(what, victim, &Bounds { ends: &wanted, memory: MEMORY }, || {
        let mut ends = Ends::default();
        for Large { name, head, rest, .. } in requests {
            stage.trial.stop.check()?;
            ends.add(format!("{name} {}", exchange(victim.port(), &head, rest)?));
        }
        Ok(ends)
    })
}

fn loads(victim: &Victim, size: usize) -> Vec<Large> {
    let token = Some(victim.token.as_str());
    let get = head("GET", "/v1/loads", token, &[]);
    let post = |headers: &[(&str, &str)]| head("POST", LOADS, token, &[&[JSON], headers].concat());
    let length = size.to_string();
    let announced = ("content-length", length.as_str());
    let body = |head: String| head + "\r\n";
    let large = |name, head, rest: Pieces, end| Large { name, head, rest, end };
    let spaces = || repeated(" ", size);
    vec![
        large("header", format!("{get}x: "), Box::new(repeated("y", size)), "431"),
        large("headers", get, Box::new(repeated("a: b\r\n", size)), "431"),
        large("path", "GET /v1/loads?query=".into(), Box::new(repeated("a", size)), "431"),
        large("method", String::new(), Box::new(repeated("G", size)), "431"),
        large("JSON", body(post(&[announced])), Box::new(spaces()), "413"),
        large("chunked JSON", body(post(&[CHUNKED])), Box::new(chunked(spaces())), "413"),
        large(
            "expected JSON",
            body(post(&[announced, ("expect", "100-continue")])),
            Box::new(spaces()),
            "413",
        ),
        large(
            "more than announced",
            body(post(&[("content-length", "2")])),
            Box::new(repeated("{}", size)),
            "400",
        ),
        large(
            "without token",
            body(head("POST", LOADS, None, &[JSON, announced])),
            Box::new(spaces()),
            "401",
        ),
        large("chunk sizes", body(post(&[CHUNKED])), Box::new(repeated("f", size)), "400"),
        // Less of it: the server reads over these byte by byte.
        large("chunk extension", body(post(&[CHUNKED])) + "1;", Box::new(repeated("x", size / 20)), "400"),
    ]
}

fn forms(victim: &Victim, size: usize) -> Vec<Large> {
    let post = |kind| head("POST", FILES, Some(&victim.token), &[("content-type", kind), CHUNKED]) + "\r\n";
    let form = |name, begin: &str, piece: &str, end| {
        let rest = [begin.as_bytes().to_vec()].into_iter().chain(repeated(piece, size));
        let (head, rest): (_, Pieces) = (post(FORM.1), Box::new(chunked(rest)));
        Large { name, head, rest, end }
    };
    let part = |name: &str| format!("--x\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n");
    vec![
        form("parts", "", &(part("z") + "\r\n"), "400"),
        form("preamble", "", "no boundary\r\n", "400"),
        form("first line", "", "-", "400"),
        form("part headers", "--x\r\n", "a: b\r\n", "400"),
        form("part header", "--x\r\na: ", "b", "400"),
        form("field", &part("name"), "y", "413"),
        form("fields", "", &(part("name") + &"y".repeat(1000) + "\r\n"), "400"),
        form("after the end", "--x--\r\n", "y", "400"),
        Large {
            name: "boundary",
            head: post(&format!("multipart/form-data; boundary={}", "x".repeat(60_000))),
            rest: Box::new(chunked(repeated("x", size))),
            end: "400",
        },
    ]
}

fn packed(victim: &Victim, path: &str, kind: (&str, &str)) -> Vec<Large> {
    let bomb = gzip(&deflated(&vec![b' '; 1 << 20], 1024));
    let length = bomb.len().to_string();
    let codings = [
        ("gzip", "gzip"),
        ("deflate", "deflate"),
        ("br", "br"),
        ("zstd", "zstd"),
        ("twice", "gzip, gzip"),
        ("unknown", "x"),
    ];
    codings
        .map(|(name, coding)| {
            let headers = [kind, ("content-length", length.as_str()), ("content-encoding", coding)];
            let head = head("POST", path, Some(&victim.token), &headers) + "\r\n";
            Large { name, head, rest: Box::new([bomb.clone()].into_iter()), end: "415" }
        })
        .into()
}

/// Thousands of requests before the first answer is read.
fn pipelined(stage: &Stage<'_>) -> Result<()> {
    let (victim, turns) = (&stage.logistics, if stage.trial.short { 5 } else { 50 });
    let requests = (head("GET", "/healthz", None, &[]) + "\r\n").repeat(500);
    let what = format!("{} requests in one go", turns * 500);
    stage.abuse(what, victim, &Bounds { ends: &["200"], memory: MEMORY }, || {
        let (mut socket, mut ends) = (Socket::open(victim.port())?, Ends::default());
        for _ in 0..turns {
            socket.send(requests.as_bytes());
            let (mut answers, mut tail) = (0, Vec::new());
            while answers < 500 {
                let Some(bytes) = socket.read(64 << 10).filter(|bytes| !bytes.is_empty()) else { break };
                tail.extend(bytes);
                let found = tail.windows(12).filter(|bytes| *bytes == b"HTTP/1.1 200").count();
                (answers, tail) = (answers + found, tail.split_off(tail.len().saturating_sub(11)));
            }
            (0..answers).for_each(|_| ends.add("200"));
            (answers..500).for_each(|_| ends.add("none"));
        }
        Ok(ends)
    })
}
