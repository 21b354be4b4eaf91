//! Clients that read or write a byte a second, or nothing.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::outcomes::Outcomes;
use super::services::{Services, Timeouts};
use super::socket::{Socket, head, status};
use super::target::{Limits, Target};

/// Time that a service may take beyond its timeouts.
pub const MARGIN: Duration = Duration::from_secs(2);
const FORM: &str = "multipart/form-data; boundary=x";
const PART: &str = "--x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n";

/// Clients that do not read a large file.
pub fn readers(services: &Services<'_>) -> Result<()> {
    let (count, memory) = if services.trial.short { (50, 50.0) } else { (200, 150.0) };
    let attack = format!("{count} clients request 25 MiB and read a byte a second, or nothing");
    let limits = Limits { outcomes: &["disconnected"], memory };
    services.system.attack(&attack, &limits, || read_slowly(&services.system, &services.large_file, 1, count))
}

/// Clients that do not read exports, in the long form.
pub fn exports(services: &Services<'_>) -> Result<()> {
    if services.trial.short {
        return Ok(());
    }
    // The kernel buffers a part of each response: these are larger.
    let (count, exports) = (50, 12);
    let attack =
        format!("{count} clients request {exports} CSV exports each and read a byte a second, or nothing");
    let limits = Limits { outcomes: &["disconnected"], memory: 150.0 };
    let target = &services.logistics;
    target.attack(&attack, &limits, || read_slowly(target, "/v1/loads?format=CSV", exports, count))
}

/// Requests a path several times on each connection. Every other client reads a byte a second.
fn read_slowly(target: &Target<'_>, path: &str, requests: usize, count: usize) -> Result<Outcomes> {
    let timeout = Timeouts::new(target.trial.short).stalled * 2 + MARGIN * 4;
    let request = target.head("GET", path, &[]).repeat(requests);
    let mut sockets = Vec::new();
    for _ in 0..count {
        let mut socket = Socket::open_nonblocking(target.port())?;
        socket.send(request.as_bytes());
        sockets.push(socket);
    }
    // The service accepts all connections, then disconnects them.
    let (begun, mut held, mut accepted) = (Instant::now(), count, 0);
    while (held > 0 || accepted < count) && begun.elapsed() < timeout {
        target.trial.pause(Duration::from_secs(1))?;
        for socket in sockets.iter_mut().step_by(2) {
            socket.read(1);
        }
        held = Socket::count_held(&sockets, target.port())?.min(count);
        accepted = accepted.max(held);
    }
    let mut outcomes = Outcomes::default();
    outcomes.add_times("not accepted", count - accepted);
    outcomes.add_times("disconnected", accepted - held);
    outcomes.add_times("still connected", held);
    Ok(outcomes)
}

/// A request that is sent slowly.
struct SlowRequest {
    name: &'static str,
    /// Sent at once.
    begin: String,
    /// Sent and repeated, a byte a second.
    rest: &'static [u8],
    /// Whether the service responds early. The outcome is the end of the connection then.
    has_early_response: bool,
}

impl SlowRequest {
    fn new(name: &'static str, begin: String, rest: &'static [u8]) -> Self {
        Self { name, begin, rest, has_early_response: false }
    }
}

/// The beginning of a POST of the attacker.
fn post(target: &Target<'_>, path: &str, media_type: &str) -> String {
    target.head("POST", path, &[("content-type", media_type), ("content-length", "100000")])
}

/// Additional memory in MiB, and the clients of each kind.
fn writer_limits(short: bool) -> (f64, usize) {
    if short { (32.0, 20) } else { (400.0, 200) }
}

/// Clients that write heads and bodies slowly.
pub fn writers(services: &Services<'_>) -> Result<()> {
    let target = &services.logistics;
    let (memory, count) = writer_limits(services.trial.short);
    let Timeouts { head: head_timeout, idle, .. } = Timeouts::new(services.trial.short);
    let second_head = head("GET", "/healthz", None, &[]) + "\r\nGET / H";
    let chunked = [("content-type", "application/json"), ("transfer-encoding", "chunked")];
    let refused = head("POST", "/v1/loads/carrier", None, &chunked) + "\r\nfffff\r\n";
    let json = post(target, "/v1/loads/carrier", "application/json") + "{";
    let early = |request| SlowRequest { has_early_response: true, ..request };
    let requests = [
        SlowRequest::new("head", "GET / HTTP/1.1\r\n".into(), b"x: yyyyyyyy\r\n"),
        SlowRequest::new("JSON", json, b"\"a\": 1,  "),
        SlowRequest::new("batch", post(target, "/v1/loads/batch", FORM) + PART, b"a"),
        early(SlowRequest::new("second head", second_head, b"x: yyyyyyyy\r\n")),
        early(SlowRequest::new("refused body", refused, b"a")),
    ];
    let outcomes =
        &["head 408", "JSON 400", "batch 400", "second head 200, closed", "refused body 401, closed"];
    let attack = format!(
        "{} slow writers: heads, JSON, batches, second heads, refused bodies, a byte a second",
        requests.len() * count
    );
    target.attack(&attack, &Limits { outcomes, memory }, || {
        write_slowly(target, &requests, count, idle + head_timeout)
    })
}

/// Clients that upload files slowly. Nothing of the files must remain.
pub fn uploads(services: &Services<'_>) -> Result<()> {
    let target = &services.system;
    let (memory, count) = writer_limits(services.trial.short);
    let timeout = Timeouts::new(services.trial.short).stalled;
    let requests = [SlowRequest::new("upload", post(target, "/v1/files", FORM) + PART, b"a")];
    let folder = target.service.data().join("files");
    let before = count_files(&folder);
    let limits = Limits { outcomes: &["upload 400"], memory };
    target.attack(&format!("{count} clients upload a file, a byte a second"), &limits, || {
        write_slowly(target, &requests, count, timeout)
    })?;
    let left = count_files(&folder).saturating_sub(before);
    target.expect(left == 0, "remaining files of uploads that were not completed", left.to_string(), "0")
}

fn write_slowly(
    target: &Target<'_>,
    requests: &[SlowRequest],
    count: usize,
    timeout: Duration,
) -> Result<Outcomes> {
    let mut open = Vec::new();
    for request in requests.iter().flat_map(|request| std::iter::repeat_n(request, count)) {
        let mut socket = Socket::open_nonblocking(target.port())?;
        socket.send(request.begin.as_bytes());
        open.push((request, socket, Vec::new()));
    }
    let (begun, mut outcomes) = (Instant::now(), Outcomes::default());
    for second in 0.. {
        target.trial.pause(Duration::from_secs(1))?;
        for (request, mut socket, mut response) in std::mem::take(&mut open) {
            let is_open = socket.read(4096).inspect(|bytes| response.extend(bytes)).is_some();
            let byte = request.rest[second % request.rest.len()];
            let has_status = response.len() > 12;
            let outcome = if has_status && !request.has_early_response {
                status(&response)
            } else if is_open && socket.send(&[byte]) {
                open.push((request, socket, response));
                continue;
            } else if has_status {
                status(&response) + ", closed"
            } else {
                "closed".into()
            };
            outcomes.add(format!("{} {outcome}", request.name));
        }
        if open.is_empty() || begun.elapsed() > timeout + MARGIN {
            break;
        }
    }
    for (request, ..) in open {
        outcomes.add(format!("{} still connected", request.name));
    }
    Ok(outcomes)
}

/// Number of files below a folder.
fn count_files(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { count_files(&entry.path()) } else { 1 }).sum()
}
