//! PostgreSQL servers that belong to one test: a primary and its standby.

use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use diesel::{Connection, PgConnection};

use crate::execute;

/// Settings of both servers. Nothing survives a power cut.
const SETTINGS: [&str; 4] =
    ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "max_connections=50"];

/// Time within which a server must accept connections.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A PostgreSQL server on a free port of 127.0.0.1 that trusts every client, ended when this is dropped.
pub struct PostgresServer {
    /// The port.
    pub port: u16,
    directory: tempfile::TempDir,
    /// User and group that the server runs as. It refuses root.
    account: Option<(u32, u32)>,
    child: Child,
}

impl PostgresServer {
    /// Creates and starts a primary.
    pub fn primary() -> Self {
        Self::start(&["initdb", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync"])
    }

    /// Copies this server and starts the copy as its standby.
    pub fn standby(&self) -> Self {
        let port = self.port.to_string();
        Self::start(&[
            "pg_basebackup",
            "--host=127.0.0.1",
            &format!("--port={port}"),
            "--username=postgres",
            "--write-recovery-conf",
            "--checkpoint=fast",
            "--no-sync",
        ])
    }

    /// Creates a data folder by a command and starts a server with it.
    fn start(creation: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path();
        let is_root = folder.metadata().unwrap().uid() == 0;
        let account = is_root.then(|| (account_id("-u"), account_id("-g")));
        if let Some((user, group)) = account {
            chown(folder, Some(user), Some(group)).unwrap();
        }
        succeed(as_account(creation[0], account, folder).args(&creation[1..]).args(["--pgdata", "data"]));
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let mut command = as_account("postgres", account, folder);
        command.args(["-D", "data", "-p", &port.to_string()]);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let server = Self { port, directory, account, child };
        let begun = Instant::now();
        // Another program may have taken the port: the server that answers must be this one.
        while !server.is_ready() {
            assert!(begun.elapsed() < START_TIMEOUT, "{}", server.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    /// Returns true if this server accepts connections.
    fn is_ready(&self) -> bool {
        let lock =
            std::fs::read_to_string(self.directory.path().join("data/postmaster.pid")).unwrap_or_default();
        lock.lines().next() == Some(&self.child.id().to_string())
            && PgConnection::establish(&self.url()).is_ok()
    }

    /// Returns the URL of this server alone.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Executes one statement.
    pub fn execute(&self, statement: &str) {
        execute(&self.url(), statement);
    }

    /// Makes a standby accept writes, and waits until it does.
    pub fn promote(&self) {
        self.control(&["promote"]);
    }

    /// Ends the server without a checkpoint, like a crash. Its connections break.
    pub fn stop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.control(&["stop", "--mode=immediate"]);
            let _ = self.child.wait();
        }
    }

    fn control(&self, arguments: &[&str]) {
        succeed(&mut self.pg_ctl(arguments));
    }

    fn pg_ctl(&self, arguments: &[&str]) -> Command {
        let mut command = as_account("pg_ctl", self.account, self.directory.path());
        command.args(arguments).args(["--wait", "--silent", "--pgdata", "data"]);
        command
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.pg_ctl(&["stop", "--mode=immediate"]).output();
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Returns an id of the user `postgres`, as `id` prints it.
fn account_id(kind: &str) -> u32 {
    let output = Command::new("id").args([kind, "postgres"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().expect("there is a user postgres")
}

/// Returns a command for a program of PostgreSQL.
fn as_account(program: &str, account: Option<(u32, u32)>, folder: &Path) -> Command {
    let mut command = Command::new(programs().join(program));
    command.current_dir(folder).stdin(Stdio::null());
    if let Some((user, group)) = account {
        command.gid(group).uid(user);
    }
    command
}

/// Returns the folder of PostgreSQL's programs: that of Debian's newest version, or an empty path for `PATH`.
fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let versions = versions.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    versions.max().map_or_else(PathBuf::new, |version| format!("/usr/lib/postgresql/{version}/bin").into())
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
