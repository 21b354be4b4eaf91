//! Clients that take their time: with reading, with writing, or with saying anything at all.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::socket::{Ends, Socket, head, status};
use super::stage::{Bounds, FILES_MAX, Stage, Victim, count, files};

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

/// As [`patience`](super::stage::patience) tells them, or by default.
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
    stage.abuse(what, system, &bounds, || stalled(stage, system, &stage.large, 1, count))?;
    if stage.trial.short {
        return Ok(());
    }
    // The kernel takes 4 MiB in place of each client: these answers are more.
    let (logistics, many, path, times) = (&stage.logistics, 50, "/v1/loads?format=CSV", 12);
    let what =
        format!("{many} clients ask for {path} {times} times over and read 1 byte a second or nothing");
    let bounds = Bounds { memory: 150.0, ..bounds };
    stage.abuse(what, logistics, &bounds, || stalled(stage, logistics, path, times, many))
}

fn stalled(stage: &Stage<'_>, victim: &Victim, path: &str, times: usize, count: usize) -> Result<Ends> {
    let (waits, pid, port) = (waits(stage.trial.short), victim.service.pid(), victim.port());
    let request = head("GET", path, Some(&victim.token), &[]) + "\r\n";
    // By now the others have their connections.
    sleep(Duration::from_millis(500));
    let open = files(pid)?;
    let mut sockets = Vec::new();
    for _ in 0..count {
        let mut socket = Socket::quick(port)?;
        socket.send(request.repeat(times).as_bytes());
        sockets.push(socket);
    }
    let (begun, mut ends, mut left) = (Instant::now(), Ends::default(), count);
    // At first answers are made, until nobody takes them.
    while left > 0 && begun.elapsed() < waits.stalled * 2 + MARGIN * 4 {
        sleep(Duration::from_secs(1));
        for socket in sockets.iter_mut().step_by(2) {
            socket.read(1);
        }
        left = files(pid)?.saturating_sub(open + FILES_MAX.min(count / 2)).min(count);
    }
    (left..count).for_each(|_| ends.add("given up"));
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

/// Requests that do not end.
pub fn writers(stage: &Stage<'_>) -> Result<()> {
    let Waits { head: heads, idle, stalled } = waits(stage.trial.short);
    let (system, logistics) = (&stage.system, &stage.logistics);
    let posting = |victim: &Victim, path, kind| {
        let headers = [("content-type", kind), ("content-length", "100000")];
        head("POST", path, Some(&victim.token), &headers) + "\r\n"
    };
    let form = "multipart/form-data; boundary=x";
    let part = "--x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n";
    let hello = head("GET", "/healthz", None, &[]) + "\r\n";
    let chunked = [("content-type", "application/json"), ("transfer-encoding", "chunked")];
    let refused = head("POST", "/v1/loads/carrier", None, &chunked) + "\r\nfffff\r\n";
    let json = posting(logistics, "/v1/loads/carrier", "application/json") + "{";
    let drip = |name, at_once, slowly| Drip { name, at_once, slowly, answer: None };
    let drips = [
        drip("head", "GET / HTTP/1.1\r\n".into(), b"x: yyyyyyyy\r\n"),
        drip("JSON", json, b"\"a\": 1,  "),
        drip("batch", posting(logistics, "/v1/loads/batch", form) + part, b"a"),
        Drip { answer: Some("200"), ..drip("second head", hello + "GET / H", b"x: yyyyyyyy\r\n") },
        Drip { answer: Some("401"), ..drip("refused body", refused, b"a") },
    ];
    let ends = ["head 408", "JSON 400", "batch 400", "second head 200, closed", "refused body 401, closed"];
    let many = if stage.trial.short { 20 } else { 200 };
    let what = format!(
        "{many} clients each send a head, a JSON body, a batch, a second head, a refused body, one byte a second"
    );
    stage.abuse(
        what,
        logistics,
        &Bounds { ends: &ends, memory: if stage.trial.short { 32.0 } else { 400.0 } },
        || dripping(logistics.port(), &drips, many, idle + heads),
    )?;
    let uploads = [drip("upload", posting(system, "/v1/files", form) + part, b"a")];
    let folder = system.service.data().join("files");
    let before = count(&folder);
    let what = format!("{many} clients send a file, one byte a second");
    stage.abuse(
        what,
        system,
        &Bounds { ends: &["upload 400"], memory: if stage.trial.short { 32.0 } else { 400.0 } },
        || dripping(system.port(), &uploads, many, stalled),
    )?;
    let left = count(&folder).saturating_sub(before);
    let what = "abuse, system: files of uploads that did not end";
    stage.trial.expect(left == 0, what, format!("{left} are left"), "none")
}

fn dripping(port: u16, drips: &[Drip], many: usize, limit: Duration) -> Result<Ends> {
    let mut sockets = Vec::new();
    for drip in drips.iter().flat_map(|drip| std::iter::repeat_n(drip, many)) {
        let mut socket = Socket::quick(port)?;
        socket.send(drip.at_once.as_bytes());
        sockets.push((drip, socket, Vec::new()));
    }
    let (begun, mut ends) = (Instant::now(), Ends::default());
    for turn in 0.. {
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
