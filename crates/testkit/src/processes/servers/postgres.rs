//! PostgreSQL: clusters that are created by initdb, and servers with the extension Citus.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::processes::databases::Databases;
use crate::processes::interrupt::Interrupt;
use crate::processes::ports;
use crate::processes::servers::Programs;
use crate::processes::servers::server::{Server, ShutdownSignals, attempt, random_password};

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
        Self::start_as(bin, settings, &random_password()?, stop)
    }

    /// Starts a cluster with further settings whose superuser has a password.
    pub fn start_as(bin: &Path, settings: &[&'static str], password: &str, stop: &Interrupt) -> Result<Self> {
        Self::start_new(bin, &[&SETTINGS, settings].concat(), password, stop)
    }

    fn start_new(bin: &Path, settings: &[&'static str], password: &str, stop: &Interrupt) -> Result<Self> {
        let create = |account, folder: &Path| initdb(bin, account, folder, password);
        Self::start_in(bin, settings, password, create, stop)
    }

    /// Starts a cluster on data that `create` makes in a folder.
    fn start_in(
        bin: &Path,
        settings: &[&'static str],
        password: &str,
        create: impl Fn(Account, &Path) -> Result<()>,
        stop: &Interrupt,
    ) -> Result<Self> {
        let account = Account::choose()?;
        attempt(stop, || {
            let folder = account.folder()?;
            create(account, folder.path())?;
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

    /// Starts another cluster with the same programs, settings and password: they can connect to each other.
    pub fn start_another(&self, stop: &Interrupt) -> Result<Self> {
        Self::start_new(&self.bin, &self.settings, &self.password, stop)
    }

    /// Copies this cluster and starts the copy as its standby.
    pub fn start_standby(&self, stop: &Interrupt) -> Result<Self> {
        let source = format!("--dbname={}", self.url());
        let copy = |account: Account, folder: &Path| {
            let mut command = account.command(&self.bin.join("pg_basebackup"), folder);
            command.args([
                "--pgdata=data",
                "--write-recovery-conf",
                "--checkpoint=fast",
                "--no-sync",
                &source,
            ]);
            let output = command.output().context("cannot run pg_basebackup")?;
            ensure!(output.status.success(), "pg_basebackup: {}", String::from_utf8_lossy(&output.stderr));
            Ok(())
        };
        Self::start_in(&self.bin, &self.settings, &self.password, copy, stop)
    }

    /// Ends the cluster: SIGINT disconnects clients, SIGKILL simulates a crash.
    pub fn end(&mut self, signal: Signal) -> Result<()> {
        self.server.end(signal)
    }

    /// Kills all processes of the cluster at once: none can react to the end of another.
    pub fn kill_all(&mut self) -> Result<()> {
        // A stopped postmaster starts no further process, and its children keep their ids until it ends.
        self.server.signal(Signal::STOP);
        let pid = self.server.pid();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))
            .context("cannot list the processes of PostgreSQL")?;
        for child in children.split_whitespace() {
            let child = child.parse().ok().and_then(Pid::from_raw).context("a process id is not a number")?;
            // It may have ended before the postmaster stopped.
            let _ = kill_process(child, Signal::KILL);
        }
        self.end(Signal::KILL)
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

/// Whether the lock file names this process (line 1) and says `ready` or `standby` (line 8), as pg_ctl checks it.
fn is_ready(folder: &Path, process: u32) -> bool {
    let lock = fs::read_to_string(folder.join("data/postmaster.pid")).unwrap_or_default();
    lock.lines().next() == Some(&process.to_string())
        && lock.lines().nth(7).is_some_and(|line| ["ready", "standby"].contains(&line.trim()))
}

/// User and group id of that account, or none if this program is not root.
#[derive(Debug, Clone, Copy)]
pub struct Account(Option<(u32, u32)>);

impl Account {
    /// Chooses this user, or for root the user `postgres` or `nobody`.
    pub fn choose() -> Result<Self> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self(None));
        }
        for name in ["postgres", "nobody"] {
            if let (Some(user), Some(group)) = (id("-u", name), id("-g", name)) {
                return Ok(Self(Some((user, group))));
            }
        }
        bail!(
            "PostgreSQL does not run as root and there is no user `postgres` or `nobody`: run this as another user"
        );
    }

    /// A command that runs as this account in a folder.
    pub fn command(self, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(folder).stdin(Stdio::null());
        if let Some((user, group)) = self.0 {
            command.gid(group).uid(user); // leaving root also drops its other groups
        }
        command
    }

    /// Makes this account the owner of a path.
    pub fn own(self, path: &Path) -> Result<()> {
        let Some((user, group)) = self.0 else { return Ok(()) };
        chown(path, Some(user), Some(group))
            .with_context(|| format!("cannot change the owner of {}", path.display()))
    }

    /// Creates a folder of this account in a temporary folder that it can enter.
    pub fn folder(self) -> Result<TempDir> {
        let private = Permissions::from_mode(0o700);
        let mut tried = Vec::new();
        for base in [tempfile::env::temp_dir(), PathBuf::from("/tmp"), PathBuf::from("/var/tmp")] {
            if let Ok(folder) = tempfile::Builder::new()
                .prefix("drover-postgres-")
                .permissions(private.clone())
                .tempdir_in(&base)
            {
                self.own(folder.path())?;
                let write = self
                    .command(Path::new("/bin/sh"), folder.path())
                    .args(["-c", ": > try && rm try"])
                    .output();
                if write.is_ok_and(|output| output.status.success()) {
                    return Ok(folder);
                }
            }
            tried.push(base.display().to_string());
        }
        bail!(
            "no folder that PostgreSQL can write to (tried {}): set TMPDIR to one that everyone may enter",
            { tried.join(", ") }
        );
    }
}

fn id(kind: &str, name: &str) -> Option<u32> {
    let output =
        Command::new("id").args([kind, name]).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// Settings of each server.
pub const CITUS_SETTINGS: [&str; 9] = [
    // A coordinator forwards errors of its workers in their language.
    "lc_messages=C",
    // The second library counts the statements of each server and the pages that they read.
    "shared_preload_libraries=citus,pg_stat_statements",
    "citus.local_hostname=127.0.0.1",
    // These servers have no certificates.
    "citus.node_conninfo=sslmode=disable",
    // Followers of events wait for transactions on several servers until Citus knows their end.
    "citus.recover_2pc_interval=200ms",
    // Shards are moved by logical replication.
    "wal_level=logical",
    // Each table has many parts.
    "max_locks_per_transaction=512",
    // Citus has a process for each database, and tests have many.
    "max_worker_processes=300",
    "pg_stat_statements.track=all",
];

/// The database of the services on all servers.
const DATABASE: &str = "drover";

/// Returns true if the extension is installed at a server.
pub fn has_citus(psql: &Databases, url: &str) -> Result<bool> {
    let found = psql.execute(url, "", "SELECT count(*) FROM pg_available_extensions WHERE name = 'citus'")?;
    Ok(found.trim() == "1")
}

/// A coordinator with a database for the services, and workers.
#[derive(Debug)]
pub struct CitusCluster {
    /// `psql` at these servers.
    psql: Databases,
    /// The server that services connect to.
    pub coordinator: Cluster,
    /// The servers that have the rows.
    pub workers: Vec<Cluster>,
}

impl CitusCluster {
    /// Starts a coordinator, whose database is plain PostgreSQL until [`add_workers`](Self::add_workers).
    pub fn start(programs: &Programs, settings: &[&'static str], stop: &Interrupt) -> Result<Self> {
        let settings = [&CITUS_SETTINGS, settings].concat();
        let coordinator = Cluster::start_with(&programs.postgres, &settings, stop)?;
        let psql = Databases::new(&coordinator.url())?;
        let cluster = Self { psql, coordinator, workers: Vec::new() };
        cluster.create_database(&cluster.coordinator)?;
        Ok(cluster)
    }

    /// Starts workers and makes them known to the coordinator. Tables that are spread later are spread over them.
    pub fn add_workers(&mut self, count: usize, stop: &Interrupt) -> Result<()> {
        let coordinator = self.coordinator.port;
        self.execute(&format!(
            "CREATE EXTENSION IF NOT EXISTS citus; SELECT citus_set_coordinator_host('127.0.0.1', {coordinator})"
        ))?;
        for _ in 0..count {
            let worker = self.coordinator.start_another(stop)?;
            self.create_database(&worker)?;
            self.psql.execute(&worker.url_to(DATABASE), "", "CREATE EXTENSION citus")?;
            self.execute(&format!("SELECT citus_add_node('127.0.0.1', {})", worker.port))?;
            self.workers.push(worker);
        }
        Ok(())
    }

    /// Moves shards until all workers have about as many rows. Writes wait meanwhile, which makes it faster.
    pub fn rebalance(&self) -> Result<()> {
        self.execute("SELECT citus_rebalance_start(shard_transfer_mode => 'block_writes'); SELECT citus_rebalance_wait()").map(drop)
    }

    /// URL of the database for services.
    pub fn url(&self) -> String {
        self.coordinator.url_to(DATABASE)
    }

    /// Runs statements on the coordinator and returns their rows, unaligned.
    pub fn execute(&self, statements: &str) -> Result<String> {
        self.execute_on(&self.coordinator, statements)
    }

    /// Runs statements on one of the servers and returns their rows, unaligned.
    pub fn execute_on(&self, server: &Cluster, statements: &str) -> Result<String> {
        self.psql.execute(&server.url_to(DATABASE), "", statements)
    }

    fn create_database(&self, server: &Cluster) -> Result<()> {
        self.psql.execute(&server.url(), "", &format!("CREATE DATABASE {DATABASE}"))?;
        self.execute_on(server, "CREATE EXTENSION pg_stat_statements").map(drop)
    }
}
