//! Requests that are larger than any limit, or announce so, or are compressed.

use anyhow::Result;

use super::services::Services;
use super::socket::{Socket, chunked, head, repeated, send_pieces};
use super::target::{Case, Limits, Target};
use crate::abuse::bombs::{deflate, gzip};
use crate::abuse::target::Outcomes;

const JSON: (&str, &str) = ("content-type", "application/json");
const FORM: &str = "multipart/form-data; boundary=x";
const CHUNKED: (&str, &str) = ("transfer-encoding", "chunked");
const LOADS: &str = "/v1/loads/carrier";
const FILES: &str = "/v1/files";
/// Additional memory in MiB.
const MEMORY: f64 = 24.0;
/// Requests that are sent before the first response is read.
const PIPELINED: usize = 500;

/// A request in pieces.
type Pieces = Box<dyn Iterator<Item = Vec<u8>>>;

/// Sends all requests.
pub fn run(services: &Services<'_>) -> Result<()> {
    let Services { trial, system, logistics, .. } = services;
    let mib = if trial.short { 20 } else { 100 };
    send(logistics, &format!("{mib} MiB in one part of a request"), loads(logistics, mib << 20))?;
    send(system, &format!("{mib} MiB of a form"), forms(system, mib << 20))?;
    for (target, path, media_type) in [(logistics, LOADS, JSON), (system, FILES, ("content-type", FORM))] {
        send(target, "bodies that unpack to 1 GiB", compressed(target, path, media_type))?;
    }
    pipelined(logistics)
}

fn send(target: &Target<'_>, attack: &str, requests: Vec<Case<Pieces>>) -> Result<()> {
    target.attack_with(attack, MEMORY, requests, |_, pieces| send_pieces(target.port(), pieces))
}

fn pieces(begin: String, rest: impl Iterator<Item = Vec<u8>> + 'static) -> Pieces {
    Box::new([begin.into_bytes()].into_iter().chain(rest))
}

/// Requests of logistics in which one part has `size` bytes.
fn loads(target: &Target<'_>, size: usize) -> Vec<Case<Pieces>> {
    let get = || head("GET", "/v1/loads", Some(&target.token), &[]);
    let post = |headers: &[(&str, &str)]| target.head("POST", LOADS, &[&[JSON], headers].concat());
    let length = size.to_string();
    let announced = ("content-length", length.as_str());
    let without_token = head("POST", LOADS, None, &[JSON, announced]) + "\r\n";
    let case = |name, begin: String, rest: &str, status| (name, pieces(begin, repeated(rest, size)), status);
    let chunks = pieces(post(&[CHUNKED]), chunked(repeated(" ", size)));
    // The server reads a chunk extension byte by byte.
    let extension = pieces(post(&[CHUNKED]) + "1;", repeated("x", size / 20));
    vec![
        case("header", get() + "x: ", "y", "431"),
        case("headers", get(), "a: b\r\n", "431"),
        case("path", "GET /v1/loads?query=".into(), "a", "414"),
        case("method", String::new(), "G", "414"),
        case("JSON", post(&[announced]), " ", "413"),
        ("chunked JSON", chunks, "413"),
        case("expected JSON", post(&[announced, ("expect", "100-continue")]), " ", "413"),
        case("more than announced", post(&[("content-length", "2")]), "{}", "400"),
        case("without token", without_token, " ", "401"),
        case("chunk sizes", post(&[CHUNKED]), "f", "400"),
        ("chunk extension", extension, "400"),
    ]
}

/// Uploads in which one part of the form has `size` bytes.
fn forms(target: &Target<'_>, size: usize) -> Vec<Case<Pieces>> {
    let post = |media_type: &str| target.head("POST", FILES, &[("content-type", media_type), CHUNKED]);
    let case = |name, begin: &str, rest: &str, status| {
        let body = [begin.as_bytes().to_vec()].into_iter().chain(repeated(rest, size));
        (name, pieces(post(FORM), chunked(body)), status)
    };
    let part = |name: &str| format!("--x\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n");
    vec![
        case("parts", "", &(part("z") + "\r\n"), "400"),
        case("preamble", "", "no boundary\r\n", "400"),
        case("first line", "", "-", "400"),
        case("part headers", "--x\r\n", "a: b\r\n", "400"),
        case("part header", "--x\r\na: ", "b", "400"),
        case("field", &part("name"), "y", "413"),
        case("fields", "", &(part("name") + &"y".repeat(1000) + "\r\n"), "400"),
        case("after the end", "--x--\r\n", "y", "400"),
        (
            "boundary",
            pieces(post(&format!("{FORM}{}", "x".repeat(60_000))), chunked(repeated("x", size))),
            "400",
        ),
    ]
}

/// Compressed bodies, with the codings as they are announced.
fn compressed(target: &Target<'_>, path: &str, media_type: (&str, &str)) -> Vec<Case<Pieces>> {
    let bomb = gzip(&deflate(&vec![b' '; 1 << 20], 1024));
    let length = bomb.len().to_string();
    let case = |coding| {
        let headers = [media_type, ("content-length", length.as_str()), ("content-encoding", coding)];
        (coding, pieces(target.head("POST", path, &headers), [bomb.clone()].into_iter()), "415")
    };
    ["gzip", "deflate", "br", "zstd", "gzip, gzip", "x"].map(case).into()
}

/// Sends many requests before it reads the first response.
fn pipelined(target: &Target<'_>) -> Result<()> {
    let rounds = if target.trial.short { 5 } else { 50 };
    let requests = (head("GET", "/healthz", None, &[]) + "\r\n").repeat(PIPELINED);
    let attack = format!("{} pipelined requests", rounds * PIPELINED);
    target.attack(&attack, &Limits { outcomes: &["200"], memory: MEMORY }, || {
        let (mut socket, mut outcomes) = (Socket::open(target.port())?, Outcomes::default());
        for _ in 0..rounds {
            socket.send(requests.as_bytes());
            let (mut responses, mut tail) = (0, Vec::new());
            while responses < PIPELINED {
                let Some(bytes) = socket.read(64 << 10).filter(|bytes| !bytes.is_empty()) else { break };
                tail.extend(bytes);
                responses += tail.windows(12).filter(|bytes| *bytes == b"HTTP/1.1 200").count();
                tail = tail.split_off(tail.len().saturating_sub(11));
            }
            outcomes.add_times("200", responses);
            outcomes.add_times("none", PIPELINED - responses.min(PIPELINED));
        }
        Ok(outcomes)
    })
}
