//! A TCP proxy between a service and a server that it depends on.

use std::io::{self, ErrorKind, Read, Write};
use std::mem::{replace, take};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use anyhow::{Context, Result};
use parking_lot::Mutex;

pub use super::bad_response::BadResponse;

/// How often a connection looks for a changed mode.
const POLL: Duration = Duration::from_millis(50);

/// What the proxy does with its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Forwards all bytes.
    Forward,
    /// Closes every connection, new ones too.
    Closed,
    /// Accepts connections and bytes, and forwards them once the mode changes.
    Stalled,
    /// Forwards what arrives together after a delay.
    Delayed(Duration),
    /// Forwards ten bytes a second.
    Trickle,
    /// Closes every connection and responds to new ones in place of the server.
    Respond(BadResponse),
}

impl Mode {
    fn closes(self) -> bool {
        matches!(self, Self::Closed | Self::Respond(_))
    }
}

/// The proxy. It closes when it is dropped.
#[derive(Debug)]
pub struct TcpProxy {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: u16,
    mode: Mutex<Mode>,
    open: Mutex<Vec<TcpStream>>,
    accepted: AtomicUsize,
    /// Connections with lower numbers are stalled for good.
    stalled_below: AtomicUsize,
    is_dropped: AtomicBool,
}

impl TcpProxy {
    /// Starts a proxy before a port of 127.0.0.1.
    pub fn start(target: u16) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("no free port for a proxy")?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            target,
            mode: Mutex::new(Mode::Forward),
            open: Mutex::default(),
            accepted: AtomicUsize::new(0),
            stalled_below: AtomicUsize::new(0),
            is_dropped: AtomicBool::new(false),
        });
        let own = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if own.is_dropped.load(Ordering::Relaxed) {
                    return;
                }
                let _ = own.accept(stream); // it is closed if the target refuses
            }
        });
        Ok(Self { port, shared })
    }

    /// Port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Changes the mode.
    pub fn set(&self, mode: Mode) {
        let mut current = self.shared.mode.lock();
        let old = replace(&mut *current, mode);
        if old.closes() || mode.closes() {
            self.cut();
        }
    }

    /// Closes all open connections.
    pub fn cut(&self) {
        for stream in self.shared.open.lock().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Stalls the open connections for good, whatever the mode, without closing them.
    pub fn stall_open_connections(&self) {
        self.shared.stalled_below.store(self.shared.accepted.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl Drop for TcpProxy {
    fn drop(&mut self) {
        self.shared.is_dropped.store(true, Ordering::Relaxed);
        self.cut();
        let _ = TcpStream::connect(("127.0.0.1", self.port)); // ends the accepting thread
    }
}

impl Shared {
    fn accept(self: &Arc<Self>, near: TcpStream) -> io::Result<()> {
        // Under the lock, so that each connection is cut that was accepted in an earlier mode.
        let mode = self.mode.lock();
        match *mode {
            Mode::Closed => return Ok(()),
            Mode::Respond(response) => {
                self.register(&near)?;
                thread::spawn(move || response.send(near));
                return Ok(());
            }
            _ => self.register(&near)?,
        }
        drop(mode);
        let far = TcpStream::connect(("127.0.0.1", self.target)).inspect_err(|_| {
            let _ = near.shutdown(Shutdown::Both);
        })?;
        self.register(&far)?;
        let number = self.accepted.fetch_add(1, Ordering::Relaxed);
        for (from, to) in [(near.try_clone()?, far.try_clone()?), (far, near)] {
            from.set_nodelay(true)?;
            from.set_read_timeout(Some(POLL))?;
            let own = self.clone();
            thread::spawn(move || own.forward(number, from, to));
        }
        Ok(())
    }

    fn register(&self, stream: &TcpStream) -> io::Result<()> {
        let mut open = self.open.lock();
        open.retain(|stream| stream.peer_addr().is_ok());
        open.push(stream.try_clone()?);
        Ok(())
    }

    /// Forwards one direction of a connection.
    fn forward(&self, number: usize, mut from: TcpStream, mut to: TcpStream) {
        let (mut pending, mut buffer, mut is_at_end) = (Vec::new(), vec![0; 64 << 10], false);
        while !self.is_dropped.load(Ordering::Relaxed) {
            if is_at_end {
                sleep(POLL);
            } else {
                match from.read(&mut buffer) {
                    Ok(0) => is_at_end = true,
                    Ok(size) => pending.extend_from_slice(&buffer[..size]),
                    Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                    Err(_) => is_at_end = true,
                }
            }
            let mode = *self.mode.lock();
            let is_stalled = mode == Mode::Stalled || number < self.stalled_below.load(Ordering::Relaxed);
            let sent = match mode {
                mode if mode.closes() => break,
                _ if is_stalled => continue,
                Mode::Trickle if !pending.is_empty() => {
                    sleep(2 * POLL);
                    to.write_all(&[pending.remove(0)])
                }
                Mode::Delayed(delay) if !pending.is_empty() => {
                    sleep(delay);
                    to.write_all(&take(&mut pending))
                }
                _ => to.write_all(&take(&mut pending)),
            };
            if sent.is_err() {
                break;
            }
            if is_at_end && pending.is_empty() {
                let _ = to.shutdown(Shutdown::Write);
                return;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                thread::spawn(move || {
                    let mut byte = [0];
                    while stream.read_exact(&mut byte).is_ok() && stream.write_all(&byte).is_ok() {}
                });
            }
        });
        port
    }

    #[test]
    fn stalled_bytes_arrive_later_and_none_after_a_cut() {
        let proxy = TcpProxy::start(echo()).unwrap();
        let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let mut byte = [0];
        stream.write_all(b"a").unwrap();
        stream.read_exact(&mut byte).unwrap();
        proxy.set(Mode::Stalled);
        sleep(4 * POLL);
        stream.write_all(b"b").unwrap();
        assert!(stream.read_exact(&mut byte).is_err(), "the connection is stalled");
        proxy.set(Mode::Forward);
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"b");
        proxy.set(Mode::Closed);
        assert!(!matches!(stream.read(&mut byte), Ok(1)));
    }

    #[test]
    fn bad_responses_replace_the_server_until_the_mode_changes() {
        let proxy = TcpProxy::start(echo()).unwrap();
        let exchange = |request: &[u8]| {
            let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
            stream.write_all(request).unwrap();
            stream
        };
        let mut text = String::new();
        proxy.set(Mode::Respond(BadResponse::InternalError));
        exchange(b"GET /").read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 500 "), "{text}");
        proxy.set(Mode::Respond(BadResponse::HalfThenClose));
        text.clear();
        exchange(b"PUT /").read_to_string(&mut text).unwrap();
        assert_eq!(text, "", "an upload is never acknowledged");
        proxy.set(Mode::Respond(BadResponse::Never));
        let mut waiting = exchange(b"GET /");
        sleep(POLL);
        proxy.set(Mode::Forward);
        assert_eq!(waiting.read(&mut [0]).unwrap_or_default(), 0, "its connection is closed");
        let mut byte = [0];
        exchange(b"a").read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"a");
    }
}
