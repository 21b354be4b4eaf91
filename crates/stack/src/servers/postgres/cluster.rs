//! A PostgreSQL cluster, created by initdb on a free port and removed when it is dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use super::account::Account;
use crate::interrupt::Interrupt;
use crate::ports;
use crate::servers::server::{Server, ShutdownSignals, attempt, random_password};

/// Longest folder for unix sockets, in bytes: their paths are limited to about 107. Otherwise the cluster has only TCP.
const SOCKET_FOLDER_MAX: usize = 85;
const SETTINGS: [&str; 7] = [
    // DROP DATABASE waits for clients that have not finished to authenticate.
    "authentication_timeout=5s",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=300",
    "shared_buffers=128MB",
    "listen_addresses=127.0.0.1",
];
/// The language of the servers' errors where .ci/install has installed it, so that nothing depends on English ones.
const GERMAN: &str = "de_DE.UTF-8";
/// SIGINT is a "fast shutdown", which disconnects clients. SIGQUIT does not wait.
const SHUTDOWN: ShutdownSignals = &[(Signal::INT, 20), (Signal::QUIT, 5), (Signal::KILL, 5)];

/// A running cluster. Its superuser `postgres` has a password.
#[derive(Debug)]
pub struct Cluster {
    /// The postmaster.
    pub server: Server,
    bin: PathBuf,
    account: Account,
    settings: Vec<&'static str>,
    /// Port on 127.0.0.1.
    pub port: u16,
    password: String,
}

impl Cluster {
    /// Creates and starts a cluster with the programs of a folder.
    pub fn start(bin: &Path, stop: &Interrupt) -> Result<Self> {
        Self::start_with(bin, &[], stop)
    }

    /// Creates and starts a cluster with further settings, each as `name=value`.
    pub fn start_with(bin: &Path, settings: &[&'static str], stop: &Interrupt) -> Result<Self> {
        Self::start_as(bin, &[&SETTINGS, settings].concat(), &random_password()?, stop)
    }

    /// Starts a cluster whose superuser has a password. Servers with the same one can connect to each other.
    fn start_as(bin: &Path, settings: &[&'static str], password: &str, stop: &Interrupt) -> Result<Self> {
        let account = Account::choose()?;
        attempt(stop, || {
            let folder = account.folder()?;
            initdb(bin, account, folder.path(), password)?;
            let [port] = ports::find_free()?;
            let mut command = command(bin, account, folder.path(), port, settings);
            command.env("PGPASSWORD", password);
            let mut server = Server::spawn("PostgreSQL", &mut command, folder, SHUTDOWN)?;
            let process = server.pid();
            server.wait_ready(stop, |folder| is_ready(folder, process))?;
            let (bin, settings) = (bin.to_owned(), settings.to_owned());
            Ok(Self { server, bin, account, settings, port, password: password.to_owned() })
        })
    }

    /// Starts another cluster with the same programs, settings and password.
    pub fn start_another(&self, stop: &Interrupt) -> Result<Self> {
        Self::start_as(&self.bin, &self.settings, &self.password, stop)
    }

    /// Ends the cluster: SIGINT disconnects clients, SIGKILL simulates a crash.
    pub fn end(&mut self, signal: Signal) -> Result<()> {
        self.server.end(signal)
    }

    /// Starts the cluster again on the same port and data, with further settings for this time.
    pub fn start_again(&mut self, settings: &[&'static str], stop: &Interrupt) -> Result<()> {
        let folder = self.server.folder().to_owned();
        let mut started = Ok(());
        // After SIGKILL the backends hold the shared memory until they notice.
        for _ in 0..20 {
            let all = [&self.settings, settings].concat();
            let mut command = command(&self.bin, self.account, &folder, self.port, &all);
            self.server.restart(command.env("PGPASSWORD", &self.password))?;
            let process = self.server.pid();
            started = self.server.wait_ready(stop, |folder| is_ready(folder, process));
            if started.is_ok() || stop.requested() {
                break;
            }
            sleep(Duration::from_millis(100));
        }
        started
    }

    /// Variables with which `psql` connects as the superuser.
    pub fn variables(&self) -> [(&'static str, String); 3] {
        [
            ("PGHOST", "127.0.0.1".to_owned()),
            ("PGPORT", self.port.to_string()),
            ("PGPASSWORD", self.password.clone()),
        ]
    }

    /// URL of a role for a database.
    pub fn url_of(&self, role: &str, password: &str, database: &str) -> String {
        format!("postgres://{role}:{password}@127.0.0.1:{}/{database}", self.port)
    }

    /// URL of the superuser for a database.
    pub fn url_to(&self, database: &str) -> String {
        self.url_of("postgres", &self.password, database)
    }

    /// URL of the superuser.
    pub fn url(&self) -> String {
        self.url_to("postgres")
    }
}

fn initdb(bin: &Path, account: Account, folder: &Path, password: &str) -> Result<()> {
    let secret = folder.join("password");
    fs::write(&secret, password).with_context(|| format!("cannot write to {}", folder.display()))?;
    account.own(&secret)?;
    let mut problem = String::new();
    // Case conversion beyond ASCII needs a UTF-8 locale. Systems have different ones.
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
    bail!("initdb failed: {}", problem.trim());
}

fn has_german() -> bool {
    let locales = Command::new("locale").arg("-a").output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&locales).lines().any(|locale| locale == "de_DE.utf8")
}

fn command(bin: &Path, account: Account, folder: &Path, port: u16, settings: &[&str]) -> Command {
    let short = folder.as_os_str().len() <= SOCKET_FOLDER_MAX;
    let sockets = if short { folder.display().to_string() } else { String::new() };
    let mut command = account.command(&bin.join("postgres"), folder);
    command.args(["-D", "data", "-p", &port.to_string()]);
    command.args(["-c", &format!("unix_socket_directories={sockets}")]);
    if has_german() {
        command.args(["-c", &format!("lc_messages={GERMAN}")]);
    }
    for setting in settings {
        command.args(["-c", setting]);
    }
    command
}

/// Whether the lock file names this process (line 1) and says `ready` (line 8), as pg_ctl checks it.
fn is_ready(folder: &Path, process: u32) -> bool {
    let lock = fs::read_to_string(folder.join("data/postmaster.pid")).unwrap_or_default();
    lock.lines().next() == Some(&process.to_string())
        && lock.lines().nth(7).is_some_and(|line| line.trim() == "ready")
}
