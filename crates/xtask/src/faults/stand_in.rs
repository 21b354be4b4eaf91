//! A server that answers HTTP as badly as servers do.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, sleep};
use std::time::Duration;

use anyhow::{Context, Result};

/// How it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// 500.
    Failing,
    /// Not at all.
    Hanging,
    /// With what is no HTTP.
    Babbling,
    /// With success and half a body, and nothing more.
    Stalling,
    /// With success and a body that is not what was asked for.
    Lying,
    /// With success and half a body, and the connection ends.
    Breaking,
}

impl Manner {
    fn answer(self) -> &'static [u8] {
        match self {
            Self::Failing => b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 4\r\n\r\noops",
            Self::Hanging => b"",
            Self::Babbling => b"\x16\x03\x01 what did you say?\r\n\r\n",
            Self::Stalling | Self::Breaking => {
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4000\r\netag: \"x\"\r\n\r\n[{\"id\":"
            }
            Self::Lying => b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 14\r\n\r\n<h1>Hello</h1>",
        }
    }
}

/// The server. Dropped, it takes no more connections.
#[derive(Debug)]
pub struct StandIn {
    port: u16,
    manner: Arc<Mutex<Manner>>,
    gone: Arc<AtomicBool>,
}

impl StandIn {
    /// Answers so.
    pub fn start(manner: Manner) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("no free port for a stand-in")?;
        let port = listener.local_addr()?.port();
        let (manner, gone) = (Arc::new(Mutex::new(manner)), Arc::new(AtomicBool::new(false)));
        let (own, ended) = (manner.clone(), gone.clone());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let (manner, ended) = (*own.lock().unwrap_or_else(PoisonError::into_inner), ended.clone());
                thread::spawn(move || answer(stream, manner, &ended));
            }
        });
        Ok(Self { port, manner, gone })
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// From the next connection on it answers so.
    pub fn set(&self, manner: Manner) {
        *self.manner.lock().unwrap_or_else(PoisonError::into_inner) = manner;
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port)); // wakes who accepts
    }
}

/// Reads something of a request, answers, and holds on to the connection for as long as fits.
fn answer(mut stream: TcpStream, manner: Manner, gone: &AtomicBool) {
    let mut buffer = [0; 16 << 10];
    let Ok(size) = stream.read(&mut buffer) else { return };
    // Who says that something is stored, and has not stored it, cannot be found out.
    let half = matches!(manner, Manner::Stalling | Manner::Breaking) && buffer[..size].starts_with(b"PUT");
    if !half && stream.write_all(manner.answer()).is_err() {
        return;
    }
    let holds = matches!(manner, Manner::Hanging | Manner::Stalling);
    let _ = stream.set_read_timeout(Some(Duration::from_millis(100)));
    while holds && !gone.load(Ordering::Relaxed) {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(_) => {}
            Err(_) => sleep(Duration::from_millis(20)),
        }
    }
}
