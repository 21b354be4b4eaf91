//! A wire between a service and what it depends on, that can be cut, fall silent, and be slow.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, sleep};
use std::time::Duration;

use anyhow::{Context, Result};

/// How often an end of the wire looks whether its state is another.
const LOOK: Duration = Duration::from_millis(50);

/// What the wire does with what is sent over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Passes it on.
    Whole,
    /// Closes every connection, new ones too.
    Closed,
    /// Takes all, says nothing, and keeps it until it is whole again.
    Silent,
    /// Passes on what came at once, so much later.
    Slow(Duration),
    /// Passes on a byte at a time, ten in a second.
    Trickling,
}

/// The wire. Dropped, it closes.
#[derive(Debug)]
pub struct Wire {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: AtomicU16,
    state: Mutex<State>,
    open: Mutex<Vec<TcpStream>>,
    /// Connections of before this number are silent for ever.
    forgotten: AtomicUsize,
    made: AtomicUsize,
    gone: AtomicBool,
}

impl Wire {
    /// A wire to a port of this machine.
    pub fn to(target: u16) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("no free port for a wire")?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            target: AtomicU16::new(target),
            state: Mutex::new(State::Whole),
            open: Mutex::default(),
            forgotten: AtomicUsize::new(0),
            made: AtomicUsize::new(0),
            gone: AtomicBool::new(false),
        });
        let own = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if own.gone.load(Ordering::Relaxed) {
                    return;
                }
                // What cannot be connected is closed.
                let _ = own.connect(stream);
            }
        });
        Ok(Self { port, shared })
    }

    /// Where it begins.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// From now on it is so.
    pub fn set(&self, state: State) {
        *lock(&self.shared.state) = state;
        if state == State::Closed {
            self.cut();
        }
    }

    /// From now on it leads elsewhere; what is connected is cut.
    pub fn lead_to(&self, target: u16) {
        self.shared.target.store(target, Ordering::Relaxed);
        self.cut();
    }

    /// Connections that there are will never say anything again, and nobody is told.
    pub fn forget(&self) {
        self.shared.forgotten.store(self.shared.made.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Cuts all connections, once.
    pub fn cut(&self) {
        for stream in lock(&self.shared.open).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.shared.gone.store(true, Ordering::Relaxed);
        self.cut();
        let _ = TcpStream::connect(("127.0.0.1", self.port)); // wakes who accepts
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn connect(self: &Arc<Self>, near: TcpStream) -> std::io::Result<()> {
        if *lock(&self.state) == State::Closed {
            return Ok(());
        }
        let far = TcpStream::connect(("127.0.0.1", self.target.load(Ordering::Relaxed)))?;
        for stream in [&near, &far] {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(LOOK))?;
        }
        lock(&self.open).extend([near.try_clone()?, far.try_clone()?]);
        let ends = [(near.try_clone()?, far.try_clone()?), (far, near)];
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        for (from, to) in ends {
            let own = self.clone();
            thread::spawn(move || own.pass(number, from, to));
        }
        Ok(())
    }

    fn pass(&self, number: usize, mut from: TcpStream, mut to: TcpStream) {
        let (mut kept, mut buffer, mut ended) = (Vec::new(), vec![0; 64 << 10], false);
        while !self.gone.load(Ordering::Relaxed) {
            if ended {
                sleep(LOOK);
            } else {
                match from.read(&mut buffer) {
                    Ok(0) => ended = true,
                    Ok(size) => kept.extend_from_slice(&buffer[..size]),
                    Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                    Err(_) => ended = true,
                }
            }
            let state = *lock(&self.state);
            if number < self.forgotten.load(Ordering::Relaxed) && state != State::Closed {
                continue;
            }
            let sent = match state {
                State::Silent => continue,
                State::Closed => return,
                State::Trickling if !kept.is_empty() => {
                    sleep(2 * LOOK);
                    to.write_all(&kept.drain(..1).collect::<Vec<_>>())
                }
                State::Slow(by) if !kept.is_empty() => {
                    sleep(by);
                    to.write_all(&std::mem::take(&mut kept))
                }
                _ => to.write_all(&std::mem::take(&mut kept)),
            };
            if sent.is_err() || (ended && kept.is_empty()) {
                let _ = to.shutdown(if sent.is_err() { Shutdown::Both } else { Shutdown::Write });
                return;
            }
        }
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
    fn what_was_kept_arrives_once_the_wire_is_whole_and_nothing_after_a_cut() {
        let wire = Wire::to(echo()).unwrap();
        let mut stream = TcpStream::connect(("127.0.0.1", wire.port())).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let mut byte = [0];
        stream.write_all(b"a").unwrap();
        stream.read_exact(&mut byte).unwrap();
        wire.set(State::Silent);
        sleep(4 * LOOK);
        stream.write_all(b"b").unwrap();
        assert!(stream.read_exact(&mut byte).is_err(), "it is silent");
        wire.set(State::Whole);
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"b");
        wire.set(State::Closed);
        assert!(!matches!(stream.read(&mut byte), Ok(1)));
    }
}
