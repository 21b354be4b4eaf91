//! One cluster: made by initdb, started on a free port, stopped and removed when dropped.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustix::process::Signal;
use tempfile::TempDir;

use super::account::Account;
use super::install;
use crate::stop::Stop;
use crate::{ports, process};

const READY_LIMIT: Duration = Duration::from_secs(60);
/// A unix socket's path is limited to about 107 bytes; past this the cluster has only TCP.
const SOCKET_FOLDER_MAX: usize = 85;
const SETTINGS: [&str; 6] = [
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=300",
    "shared_buffers=128MB",
    "listen_addresses=127.0.0.1",
];

/// A running cluster. Its superuser is `postgres`, with a password as in production.
#[derive(Debug)]
pub struct Cluster {
    folder: TempDir,
    child: Child,
    port: u16,
    password: String,
}

impl Cluster {
    /// Makes and starts a cluster; PostgreSQL is installed first where that is possible.
    pub fn start(stop: &Stop) -> Result<Self> {
        let bin = install::bin_dir(stop)?;
        let account = Account::choose()?;
        let folder = account.folder()?;
        let password = random_password()?;
        initdb(&bin, account, folder.path(), &password)?;
        // Between finding a port and using it another program may take it.
        for attempt in 1.. {
            stop.check()?;
            let port = ports::find_free()?;
            let mut child = spawn(&bin, account, folder.path(), port)?;
            match wait_ready(&mut child, folder.path(), stop) {
                Ok(()) => return Ok(Self { folder, child, port, password }),
                Err(error) => {
                    end(&mut child);
                    if attempt == 3 || stop.requested() {
                        return Err(error);
                    }
                }
            }
        }
        bail!("PostgreSQL did not start: run this again");
    }

    /// How its superuser connects.
    pub fn url(&self) -> String {
        format!("postgres://postgres:{}@127.0.0.1:{}/postgres", self.password, self.port)
    }

    /// Fails if the server has ended by itself.
    pub fn check(&mut self) -> Result<()> {
        match self.child.try_wait().context("cannot wait for PostgreSQL")? {
            None => Ok(()),
            Some(status) => bail!("PostgreSQL ended by itself ({status}): {}", log(self.folder.path())),
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn end(child: &mut Child) {
    // SIGINT is "fast shutdown": clients are disconnected, nothing is left behind. SIGQUIT does not wait.
    for (signal, seconds) in [(Signal::INT, 20), (Signal::QUIT, 5), (Signal::KILL, 5)] {
        if let Ok(Some(_)) = child.try_wait() {
            return;
        }
        process::signal(child, signal);
        if process::wait(child, Duration::from_secs(seconds), || false).is_some() {
            return;
        }
    }
}

fn initdb(bin: &Path, account: Account, folder: &Path, password: &str) -> Result<()> {
    let secret = folder.join("password");
    fs::write(&secret, password).with_context(|| format!("cannot write to {}", folder.display()))?;
    account.own(&secret)?;
    let mut problem = String::new();
    // Upper and lower case beyond ASCII need a UTF-8 locale; not every system has the same one.
    for locale in ["C.UTF-8", "en_US.UTF-8", "C"] {
        let output = account
            .command(&bin.join("initdb"), folder)
            .args(["--pgdata=data", "--username=postgres", "--auth=scram-sha-256", "--pwfile=password"])
            .args(["--encoding=UTF8", "--no-sync"])
            .arg(format!("--locale={locale}"))
            .output()
            .with_context(|| format!("cannot run {}/initdb", bin.display()))?;
        if output.status.success() {
            fs::remove_file(&secret).context("cannot remove the password file of initdb")?;
            return Ok(());
        }
        problem = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    bail!("initdb failed, mend what it says: {}", problem.trim());
}

fn spawn(bin: &Path, account: Account, folder: &Path, port: u16) -> Result<Child> {
    let out = File::create(log_file(folder)).context("cannot write PostgreSQL's log")?;
    let err = out.try_clone().context("cannot write PostgreSQL's log")?;
    let short = folder.as_os_str().len() <= SOCKET_FOLDER_MAX;
    let sockets = if short { folder.display().to_string() } else { String::new() };
    let mut command = account.command(&bin.join("postgres"), folder);
    command.args([
        "-D",
        "data",
        "-p",
        &port.to_string(),
        "-c",
        &format!("unix_socket_directories={sockets}"),
    ]);
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    // In a group of its own, so that Ctrl-C reaches it only when the tests have ended.
    command.stdout(out).stderr(err).process_group(0);
    command.spawn().with_context(|| format!("cannot run {}/postgres", bin.display()))
}

fn wait_ready(child: &mut Child, folder: &Path, stop: &Stop) -> Result<()> {
    let deadline = Instant::now() + READY_LIMIT;
    while Instant::now() < deadline {
        stop.check()?;
        if child.try_wait().context("cannot wait for PostgreSQL")?.is_some() {
            bail!("PostgreSQL did not start: {}", log(folder));
        }
        // The eighth line of its lock file is what pg_ctl waits for too.
        let lock = fs::read_to_string(folder.join("data/postmaster.pid")).unwrap_or_default();
        if lock.lines().nth(7).is_some_and(|line| line.trim() == "ready") {
            return Ok(());
        }
        sleep(Duration::from_millis(50));
    }
    bail!("PostgreSQL was not ready after {} s: {}", READY_LIMIT.as_secs(), log(folder));
}

fn log_file(folder: &Path) -> PathBuf {
    folder.join("postgres.log")
}

/// The end of the server's log, for an error message.
fn log(folder: &Path) -> String {
    let text = fs::read_to_string(log_file(folder)).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(10).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

fn random_password() -> Result<String> {
    let mut bytes = [0_u8; 18];
    getrandom::fill(&mut bytes).map_err(|error| anyhow!("the system gives no random bytes: {error}"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
