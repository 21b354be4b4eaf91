//! Clients that take their time: with reading, with writing, or with saying anything at all.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::socket::{Ends, Socket, head, status};
use super::stage::{Bounds, Stage, Victim, count};

/// Beyond what a service says that it waits.
pub const MARGIN: Duration = Duration::from_secs(2);

/// How long the services wait.
pub struct Waits {
    /// For a head.
    pub head: Duration,
    /// For the next request.
    pub idle: Duration,
    /// While nothing goes on.
    pub stalled: Duration,
}

/// As [`timeout_settings`](super::stage::timeout_settings) sets them, or the defaults.
pub fn waits(short: bool) -> Waits {
    let [head, idle, stalled] = if short { [2, 2, 3] } else { [10, 75, 60] }.map(Duration::from_secs);
    Waits { head, idle, stalled }
}

/// Answers that nobody takes.
pub fn readers(stage: &Stage<'_>) -> Result<()> {
    let count = if stage.trial.short { 50 } else { 200 };
    let mib = if stage.trial.short { 25.0 } else { 75.0 };
    let bounds = Bounds { ends: &["given up"], memory: 2.0 * mib };
    let system = &stage.system;
    let what = format!("{count} clients ask for 25 MiB and read 1 byte a second or nothing");
    stage.abuse(what, system, &bounds, || stalled(stage, system, &stage.large, 1, count))
}

/// Exports that nobody takes; not in the short form.
pub fn exports(stage: &Stage<'_>) -> Result<()> {
    if stage.trial.short {
        return Ok(());
    }
    // The kernel takes some of each in place of its client: these answers are more.
    let (logistics, many, path, times) = (&stage.logistics, 50, "/v1/loads?format=CSV", 12);
    let what =
        format!("{many} clients ask for {path} {times} times over and read 1 byte a second or nothing");
    let bounds = Bounds { ends: &["given up"], memory: 150.0 };
    stage.abuse(what, logistics, &bounds, || stalled(stage, logistics, path, times, many))
}

fn stalled(stage: &Stage<'_>, victim: &Victim, path: &str, times: usize, count: usize) -> Result<Ends> {
    let waits = waits(stage.trial.short);
    let request = head("GET", path, Some(&victim.token), &[]) + "\r\n";
    let mut sockets = Vec::new();
    for _ in 0..count {
        let mut socket = Socket::quick(victim.port())?;
        socket.send(request.repeat(times).as_bytes());
        sockets.push(socket);
    }
    let (begun, mut ends, mut left, mut most) = (Instant::now(), Ends::default(), count, 0);
    // At first answers are made, until nobody takes them.
    while (left > 0 || most < count) && begun.elapsed() < waits.stalled * 2 + MARGIN * 4 {
        stage.trial.stop.check()?;
        sleep(Duration::from_secs(1));
        for socket in sockets.iter_mut().step_by(2) {
            socket.read(1);
        }
        left = Socket::held(&sockets, victim.port())?.min(count);
        most = most.max(left);
    }
    (most..count).for_each(|_| ends.add("not taken"));
    (left..most).for_each(|_| ends.add("given up"));
    (0..left).for_each(|_| ends.add("still held"));
    Ok(ends)
}

/// A way to send slowly: what is sent at once, and what is sent byte by byte.
struct Drip {
    name: &'static str,
    at_once: String,
    slowly: &'static [u8],
    /// What comes before the end.
    answer: Option<&'static str>,
}

const FORM: &str = "multipart/form-data; boundary=x";
const PART: &str = "--x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n";

fn posting(victim: &Victim, path: &str, kind: &str) -> String {
    let headers = [("content-type", kind), ("content-length", "100000")];
    head("POST", path, Some(&victim.token), &headers) + "\r\n"
}

/// MiB beyond the start, and how many of each kind.
fn many(stage: &Stage<'_>) -> (f64, usize) {
    if stage.trial.short { (32.0, 20) } else { (400.0, 200) }
}

fn drip(name: &'static str, at_once: String, slowly: &'static [u8]) -> Drip {
    Drip { name, at_once, slowly, answer: None }
}

/// Requests that do not end.
pub fn writers(stage: &Stage<'_>) -> Result<()> {
    let Waits { head: heads, idle, .. } = waits(stage.trial.short);
    let logistics = &stage.logistics;
    let hello = head("GET", "/healthz", None, &[]) + "\r\n";
    let chunked = [("content-type", "application/json"), ("transfer-encoding", "chunked")];
    let refused = head("POST", "/v1/loads/carrier", None, &chunked) + "\r\nfffff\r\n";
    let json = posting(logistics, "/v1/loads/carrier", "application/json") + "{";
    let drips = [
        drip("head", "GET / HTTP/1.1\r\n".into(), b"x: yyyyyyyy\r\n"),
        drip("JSON", json, b"\"a\": 1,  "),
        drip("batch", posting(logistics, "/v1/loads/batch", FORM) + PART, b"a"),
        Drip { answer: Some("200"), ..drip("second head", hello + "GET / H", b"x: yyyyyyyy\r\n") },
        Drip { answer: Some("401"), ..drip("refused body", refused, b"a") },
    ];
    let ends = ["head 408", "JSON 400", "batch 400", "second head 200, closed", "refused body 401, closed"];
    let (memory, many) = many(stage);
    let what = format!(
        "{many} clients each send a head, a JSON body, a batch, a second head, a refused body, one byte a second"
    );
    stage.abuse(what, logistics, &Bounds { ends: &ends, memory }, || {
        dripping(stage, logistics, &drips, many, idle + heads)
    })
}

/// Files that do not end: nothing of them is left.
pub fn uploads(stage: &Stage<'_>) -> Result<()> {
    let (system, stalled, (memory, many)) = (&stage.system, waits(stage.trial.short).stalled, many(stage));
    let uploads = [drip("upload", posting(system, "/v1/files", FORM) + PART, b"a")];
    let folder = system.service.data().join("files");
    let before = count(&folder);
    let what = format!("{many} clients send a file, one byte a second");
    stage.abuse(what, system, &Bounds { ends: &["upload 400"], memory }, || {
        dripping(stage, system, &uploads, many, stalled)
    })?;
    let left = count(&folder).saturating_sub(before);
    let what = "abuse, system: files of uploads that did not end";
    stage.trial.expect(left == 0, what, format!("{left} are left"), "none")
}

fn dripping(
    stage: &Stage<'_>,
    victim: &Victim,
    drips: &[Drip],
    many: usize,
    limit: Duration,
) -> Result<Ends> {
    let mut sockets = Vec::new();
    for drip in drips.iter().flat_map(|drip| std::iter::repeat_n(drip, many)) {
        let mut socket = Socket::quick(victim.port())?;
        socket.send(drip.at_once.as_bytes());
        sockets.push((drip, socket, Vec::new()));
    }
    let (begun, mut ends) = (Instant::now(), Ends::default());
    for turn in 0.. {
        stage.trial.stop.check()?;
        sleep(Duration::from_secs(1));
        let mut left = Vec::new();
        for (drip, mut socket, mut answer) in sockets {
            let open = socket.read(4096).inspect(|bytes| answer.extend(bytes)).is_some();
            let byte = drip.slowly[turn % drip.slowly.len()];
            let end = match drip.answer {
                None if answer.len() > 12 => Some(status(&answer)),
                _ if open && socket.send(&[byte]) => None,
                Some(_) if answer.len() > 12 => Some(status(&answer) + ", closed"),
                _ => Some("closed".into()),
            };
            match end {
                Some(end) => ends.add(format!("{} {end}", drip.name)),
                None => left.push((drip, socket, answer)),
            }
        }
        sockets = left;
        if sockets.is_empty() || begun.elapsed() > limit + MARGIN {
            break;
        }
    }
    for (drip, ..) in sockets {
        ends.add(format!("{} still held", drip.name));
    }
    Ok(ends)
}
