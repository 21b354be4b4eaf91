//! A server process with a folder and a log.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::processes::interrupt::Interrupt;
use crate::processes::process;

const READY_LIMIT: Duration = Duration::from_secs(60);
const LOG_LINES: usize = 10;

/// Signals that end a server, each with the seconds to wait after it.
pub type ShutdownSignals = &'static [(Signal, u64)];

/// A server process in its own folder. It ends and the folder is removed when this is dropped.
#[derive(Debug)]
pub struct Server {
    name: &'static str,
    farewell: ShutdownSignals,
    child: Child,
    folder: TempDir,
}

impl Server {
    /// Runs a command in a folder and writes its output to the folder's log.
    pub fn spawn(
        name: &'static str,
        command: &mut Command,
        folder: TempDir,
        farewell: ShutdownSignals,
    ) -> Result<Self> {
        let child = spawn(name, command, folder.path())?;
        Ok(Self { name, farewell, child, folder })
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The file of its output.
    pub fn log_file(&self) -> PathBuf {
        log_file(self.folder.path())
    }

    /// The id of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        process::signal(&self.child, signal);
    }

    /// Ends the process by a signal and waits for its end.
    pub fn end(&mut self, signal: Signal) -> Result<()> {
        self.exit_status(signal).map(drop)
    }

    /// Sends a signal that ends the process and returns its exit status.
    pub fn exit_status(&mut self, signal: Signal) -> Result<ExitStatus> {
        self.signal(signal);
        let ended = process::wait(&mut self.child, READY_LIMIT, || false);
        ended.with_context(|| format!("{} does not end", self.name))
    }

    /// Runs a command in the same folder after the process has ended.
    pub fn restart(&mut self, command: &mut Command) -> Result<()> {
        self.child = spawn(self.name, command, self.folder.path())?;
        Ok(())
    }

    /// Waits until `ready` returns true for the folder.
    pub fn wait_ready(&mut self, stop: &Interrupt, ready: impl Fn(&Path) -> bool) -> Result<()> {
        let deadline = Instant::now() + READY_LIMIT;
        while Instant::now() < deadline {
            stop.check()?;
            self.check()?;
            if ready(self.folder.path()) {
                return Ok(());
            }
            sleep(Duration::from_millis(50));
        }
        bail!("{} was not ready after {} s: {}", self.name, READY_LIMIT.as_secs(), self.log());
    }

    /// Fails if the server has ended.
    pub fn check(&mut self) -> Result<()> {
        match self.child.try_wait().with_context(|| format!("cannot wait for {}", self.name))? {
            None => Ok(()),
            Some(status) => bail!("{} ended unexpectedly ({status}): {}", self.name, self.log()),
        }
    }

    /// The end of its log, for an error message.
    fn log(&self) -> String {
        let text = fs::read_to_string(self.log_file()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        format!("its log ends:\n{}", lines[lines.len().saturating_sub(LOG_LINES)..].join("\n"))
    }
}

fn spawn(name: &str, command: &mut Command, folder: &Path) -> Result<Child> {
    let out = File::options().create(true).append(true).open(log_file(folder));
    let out = out.with_context(|| format!("cannot write to {}: free disk space", folder.display()))?;
    let err = out.try_clone().with_context(|| format!("cannot write the log of {name}: free disk space"))?;
    command
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .process_group(0) // Ctrl-C reaches this program only
        .spawn()
        .with_context(|| format!("cannot run {}: install {name} again", command.get_program().display()))
}

impl Drop for Server {
    fn drop(&mut self) {
        for (signal, seconds) in self.farewell {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            process::signal(&self.child, *signal);
            if process::wait(&mut self.child, Duration::from_secs(*seconds), || false).is_some() {
                return;
            }
        }
    }
}

/// Starts a server, with up to three attempts: another program may take a port between finding and using it.
pub fn attempt<T>(stop: &Interrupt, start: impl Fn() -> Result<T>) -> Result<T> {
    let mut result = start();
    for _ in 1..3 {
        if result.is_ok() || stop.requested() {
            break;
        }
        result = start();
    }
    result
}

/// Creates a temporary folder.
pub fn folder(server: &str) -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix(&format!("drover-{server}-")).tempdir();
    folder.context("cannot make a temporary folder: set TMPDIR to one that can be written to")
}

/// A random password that needs no quoting in URLs and configuration files.
pub fn random_password() -> Result<String> {
    let mut bytes = [0_u8; 18];
    getrandom::fill(&mut bytes)
        .map_err(|error| anyhow!("the operating system returned no random bytes: {error}"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn log_file(folder: &Path) -> PathBuf {
    folder.join("log")
}
