//! Injected failures: a TCP proxy that cuts and stalls connections, a small disk that can be filled, a shifted clock.

use std::env;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::mem::take;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use parking_lot::Mutex;
use testkit::processes::environment::Environment;
use testkit::processes::tools;
use testkit::processes::trial::Trial;

/// How often a connection looks for a changed mode.
const POLL: Duration = Duration::from_millis(50);

/// A TCP proxy between a service and a server that it depends on. It closes when it is dropped.
#[derive(Debug)]
pub struct TcpProxy {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: u16,
    /// Accepts connections and bytes, and forwards them later.
    is_stalled: AtomicBool,
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
            is_stalled: AtomicBool::new(false),
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

    /// Holds all bytes back, or forwards them.
    pub fn stall(&self, is_stalled: bool) {
        self.shared.is_stalled.store(is_stalled, Ordering::Relaxed);
    }

    /// Closes all open connections.
    pub fn cut(&self) {
        for stream in self.shared.open.lock().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Stalls the open connections for good, without closing them.
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
        let far = TcpStream::connect(("127.0.0.1", self.target))?;
        let mut open = self.open.lock();
        open.retain(|stream| stream.peer_addr().is_ok());
        open.extend([near.try_clone()?, far.try_clone()?]);
        drop(open);
        let number = self.accepted.fetch_add(1, Ordering::Relaxed);
        for (from, to) in [(near.try_clone()?, far.try_clone()?), (far, near)] {
            from.set_nodelay(true)?;
            from.set_read_timeout(Some(POLL))?;
            let own = self.clone();
            thread::spawn(move || own.forward(number, from, to));
        }
        Ok(())
    }

    /// Forwards one direction of a connection.
    fn forward(&self, number: usize, mut from: TcpStream, mut to: TcpStream) {
        let (mut pending, mut buffer, mut is_at_end) = (Vec::new(), vec![0; 64 << 10], false);
        while !self.is_dropped.load(Ordering::Relaxed) {
            if is_at_end {
                thread::sleep(POLL);
            } else {
                match from.read(&mut buffer) {
                    Ok(0) => is_at_end = true,
                    Ok(size) => pending.extend_from_slice(&buffer[..size]),
                    Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                    Err(_) => is_at_end = true,
                }
            }
            let is_stalled = self.is_stalled.load(Ordering::Relaxed)
                || number < self.stalled_below.load(Ordering::Relaxed);
            if is_stalled {
                continue;
            }
            if to.write_all(&take(&mut pending)).is_err() {
                break;
            }
            if is_at_end {
                let _ = to.shutdown(Shutdown::Write);
                return;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    }
}

/// Enough for a few services with little data.
const SIZE: &str = "size=48m";
/// A disk is full if so many attempts in sequence find no space.
const FULL_ATTEMPTS: u32 = 20;
/// Limit of the attempts. Services may free space all the time.
const MAX_FILL_ATTEMPTS: u32 = 100;
/// Interval of the attempts.
const FILL_INTERVAL: Duration = Duration::from_millis(10);

/// A mounted tmpfs. It is unmounted when it is dropped.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts a disk in the trial's folder. Returns none in the short form if this program may not mount.
    ///
    /// # Errors
    /// The disk cannot be mounted in the long form, under CI or as root.
    pub fn mount(trial: &Trial<'_>, name: &str) -> Result<Option<Self>> {
        let path = trial.path(name);
        fs::create_dir(&path).context("cannot make a mount point")?;
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", SIZE, "tmpfs"]).arg(&path).output();
        let reason = match mounted {
            Ok(output) if output.status.success() => return Ok(Some(Self(path))),
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(error) => error.to_string(),
        };
        let is_ci = env::var("CI").is_ok_and(|ci| ci == "true");
        if !trial.short || is_ci || rustix::process::geteuid().is_root() {
            bail!(
                "cannot mount a tmpfs ({reason}): run this as root where `mount` is allowed, in a container with \
                 CAP_SYS_ADMIN"
            );
        }
        Ok(None)
    }

    /// Path of the disk.
    pub fn path(&self) -> &Path {
        &self.0
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }

    /// Fills the disk to the last byte, also with what requests in progress free meanwhile.
    pub fn fill(&self) -> Result<()> {
        let mut file = File::create(self.filler()).context("cannot create a file that fills the disk")?;
        let mut attempts_without_space = 0;
        for _ in 0..MAX_FILL_ATTEMPTS {
            let before = file.metadata()?.len();
            for size in [1 << 20, 1 << 12, 1] {
                while file.write_all(&vec![0; size]).is_ok() {}
            }
            attempts_without_space =
                if file.metadata()?.len() == before { attempts_without_space + 1 } else { 0 };
            if attempts_without_space == FULL_ATTEMPTS {
                break;
            }
            thread::sleep(FILL_INTERVAL);
        }
        Ok(())
    }

    /// Frees the space again.
    pub fn clear(&self) -> Result<()> {
        fs::remove_file(self.filler()).context("cannot remove the file that fills the disk")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: services that still have files there end in a moment.
        let unmounted = Command::new("umount").arg("-l").arg(&self.0).output();
        if !unmounted.is_ok_and(|output| output.status.success()) {
            let path = self.0.display();
            eprintln!("{path} is still mounted: unmount it with `sudo umount -l {path}`");
        }
    }
}

/// Variables that shift the time of day by an offset such as `+10m`. Durations stay as they are.
pub fn shifted(offset: &str) -> Result<Environment> {
    let variables = [
        ("LD_PRELOAD", tools::find("libfaketime.so.1")?.display().to_string()),
        ("FAKETIME", offset.into()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
    ];
    Ok(variables.map(|(name, value)| (name.to_owned(), value)).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalled_bytes_arrive_later_and_none_after_a_cut() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = TcpProxy::start(listener.local_addr().unwrap().port()).unwrap();
        let mut near = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
        let mut far = listener.accept().unwrap().0;
        let mut byte = [0];
        near.write_all(b"a").unwrap();
        far.read_exact(&mut byte).unwrap();
        proxy.stall(true);
        thread::sleep(4 * POLL);
        near.write_all(b"b").unwrap();
        far.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        assert!(far.read_exact(&mut byte).is_err(), "the connection is stalled");
        proxy.stall(false);
        far.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        far.read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"b");
        proxy.cut();
        assert!(!matches!(far.read(&mut byte), Ok(1)));
    }
}
