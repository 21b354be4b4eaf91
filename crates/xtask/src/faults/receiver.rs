//! Somebody who receives webhooks, and counts them by their id.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, sleep};
use std::time::Duration;

use anyhow::{Context, Result};

/// The receiver. It listens for as long as this program runs.
#[derive(Debug)]
pub struct Receiver {
    port: u16,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    refusing: bool,
    delivered: BTreeMap<String, usize>,
    under_way: BTreeMap<String, usize>,
    overlaps: usize,
}

impl Receiver {
    /// Takes so long for each.
    pub fn start(takes: Duration) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("no free port for a receiver")?;
        let port = listener.local_addr()?.port();
        let seen = Arc::<Mutex<Seen>>::default();
        let own = seen.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let own = own.clone();
                thread::spawn(move || while receive(&stream, &own, takes).is_some() {});
            }
        });
        Ok(Self { port, seen })
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// From now on answers all with 503, or takes them.
    pub fn refuse(&self, refusing: bool) {
        lock(&self.seen).refusing = refusing;
    }

    /// How often each was delivered.
    pub fn delivered(&self) -> BTreeMap<String, usize> {
        lock(&self.seen).delivered.clone()
    }

    /// How often one was delivered while it was being delivered.
    pub fn overlaps(&self) -> usize {
        lock(&self.seen).overlaps
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One request; nothing at the end of the connection.
fn receive(stream: &TcpStream, seen: &Mutex<Seen>, takes: Duration) -> Option<()> {
    let (mut reader, mut id, mut length) = (BufReader::new(stream), None, 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|size| *size > 0)?;
        let Some((name, value)) = line.split_once(':') else {
            if line.trim().is_empty() {
                break;
            }
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "webhook-id" => id = Some(value.trim().to_owned()),
            "content-length" => length = value.trim().parse().ok()?,
            _ => {}
        }
    }
    reader.read_exact(&mut vec![0; length]).ok()?;
    let id = id?;
    {
        let mut seen = lock(seen);
        let under_way = seen.under_way.entry(id.clone()).or_default();
        *under_way += 1;
        let overlaps = usize::from(*under_way > 1);
        seen.overlaps += overlaps;
    }
    sleep(takes);
    let mut seen = lock(seen);
    *seen.under_way.entry(id.clone()).or_default() -= 1;
    let status = if seen.refusing {
        "503 Service Unavailable"
    } else {
        *seen.delivered.entry(id).or_default() += 1;
        "200 OK"
    };
    drop(seen);
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").ok()
}
