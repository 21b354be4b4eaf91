//! One cluster: made by initdb, started on a free port, stopped and removed when dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use super::account::Account;
use crate::ports;
use crate::servers::server::{Farewell, Server, attempt, random_password};
use crate::stop::Stop;

/// A unix socket's path is limited to about 107 bytes; past this the cluster has only TCP.
const SOCKET_FOLDER_MAX: usize = 85;
const SETTINGS: [&str; 7] = [
    // A database is not dropped while anybody has begun to connect and says no more.
    "authentication_timeout=5s",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=300",
    "shared_buffers=128MB",
    "listen_addresses=127.0.0.1",
];
/// SIGINT is "fast shutdown": clients are disconnected, nothing is left behind. SIGQUIT does not wait.
const FAREWELL: Farewell = &[(Signal::INT, 20), (Signal::QUIT, 5), (Signal::KILL, 5)];

/// A running cluster. Its superuser is `postgres`, with a password as in production.
#[derive(Debug)]
pub struct Cluster {
    /// Its first process.
    pub server: Server,
    bin: PathBuf,
    account: Account,
    settings: Vec<&'static str>,
    /// Where it listens, on 127.0.0.1.
    pub port: u16,
    password: String,
}

impl Cluster {
    /// Makes and starts a cluster with the programs of this folder.
    pub fn start(bin: &Path, stop: &Stop) -> Result<Self> {
        Self::start_with(bin, &[], stop)
    }

    /// The same with settings more, as `name=value`.
    pub fn start_with(bin: &Path, settings: &[&'static str], stop: &Stop) -> Result<Self> {
        let settings = [&SETTINGS, settings].concat();
        let account = Account::choose()?;
        let password = random_password()?;
        attempt(stop, || {
            let folder = account.folder()?;
            initdb(bin, account, folder.path(), &password)?;
            let [port] = ports::find_free()?;
            let mut command = command(bin, account, folder.path(), port, &settings);
            let mut server = Server::spawn("PostgreSQL", &mut command, folder, FAREWELL)?;
            let process = server.pid();
            server.wait_ready(stop, |folder| is_ready(folder, process))?;
            let (bin, settings) = (bin.to_owned(), settings.clone());
            Ok(Self { server, bin, account, settings, port, password: password.clone() })
        })
    }

    /// Ends it: clients are disconnected (SIGINT), or nobody is told (SIGKILL).
    pub fn end(&mut self, signal: Signal) -> Result<()> {
        self.server.end(signal)
    }

    /// Starts it where it was, over what it left, with settings more for this time.
    pub fn start_again(&mut self, settings: &[&'static str], stop: &Stop) -> Result<()> {
        let folder = self.server.folder().to_owned();
        let mut started = Ok(());
        // After SIGKILL the processes that it left hold its memory until they see that it is gone.
        for _ in 0..20 {
            let all = [&self.settings, settings].concat();
            self.server.again(&mut command(&self.bin, self.account, &folder, self.port, &all))?;
            let process = self.server.pid();
            started = self.server.wait_ready(stop, |folder| is_ready(folder, process));
            if started.is_ok() || stop.requested() {
                break;
            }
            sleep(Duration::from_millis(100));
        }
        started
    }

    /// The variables by which its superuser's `psql`, and the scripts that call it, find it.
    pub fn variables(&self) -> [(&'static str, String); 3] {
        [
            ("PGHOST", "127.0.0.1".to_owned()),
            ("PGPORT", self.port.to_string()),
            ("PGPASSWORD", self.password.clone()),
        ]
    }

    /// How a role connects to one of its databases.
    pub fn url_of(&self, role: &str, password: &str, database: &str) -> String {
        format!("postgres://{role}:{password}@127.0.0.1:{}/{database}", self.port)
    }

    /// How its superuser connects to one of them.
    pub fn url_to(&self, database: &str) -> String {
        self.url_of("postgres", &self.password, database)
    }

    /// How its superuser connects.
    pub fn url(&self) -> String {
        self.url_to("postgres")
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

fn command(bin: &Path, account: Account, folder: &Path, port: u16, settings: &[&str]) -> Command {
    let short = folder.as_os_str().len() <= SOCKET_FOLDER_MAX;
    let sockets = if short { folder.display().to_string() } else { String::new() };
    let mut command = account.command(&bin.join("postgres"), folder);
    command.args(["-D", "data", "-p", &port.to_string()]);
    command.args(["-c", &format!("unix_socket_directories={sockets}")]);
    for setting in settings {
        command.args(["-c", setting]);
    }
    command
}

/// The eighth line of its lock file is what pg_ctl waits for too; the first is whose file it is.
fn is_ready(folder: &Path, process: u32) -> bool {
    let lock = fs::read_to_string(folder.join("data/postmaster.pid")).unwrap_or_default();
    lock.lines().next() == Some(&process.to_string())
        && lock.lines().nth(7).is_some_and(|line| line.trim() == "ready")
}
