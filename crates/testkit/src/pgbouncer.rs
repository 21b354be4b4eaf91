//! PgBouncer before the PostgreSQL server that all tests share.

use std::fs::Permissions;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use reqwest::Url;

use crate::TestDatabase;
use crate::server::url_from_env;

/// Time within which PgBouncer must accept connections.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// A PgBouncer with `pool_mode = transaction` on a constant port of 127.0.0.1, killed when this is dropped.
pub struct PgBouncer {
    port: u16,
    directory: tempfile::TempDir,
    child: Option<Child>,
}

impl PgBouncer {
    /// Starts PgBouncer on a free port, with this many connections to the server for each database.
    ///
    /// # Panics
    /// If `pgbouncer` cannot be run or accepts no connections within 20 s.
    pub fn start(server_connections: u16) -> Self {
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let mut pooler = Self { port, directory: tempfile::tempdir().unwrap(), child: None };
        pooler.write_settings(server_connections);
        pooler.restart();
        pooler
    }

    /// Returns the URL of a database of the shared server through PgBouncer.
    pub fn url(&self, database: &TestDatabase) -> String {
        let mut url = Url::parse(&database.url).unwrap();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(self.port)).unwrap();
        url.into()
    }

    /// Kills PgBouncer, which closes all its connections.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts PgBouncer again on the same port.
    pub fn restart(&mut self) {
        self.stop();
        let deadline = Instant::now() + START_TIMEOUT;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < deadline, "PgBouncer does not start: {}", self.log());
            // PgBouncer exits if a short-lived connection occupies the port.
            if self.child.as_mut().is_none_or(|child| child.try_wait().unwrap().is_some()) {
                self.child = Some(spawn(self.directory.path()));
            }
            sleep(Duration::from_millis(20));
        }
    }

    /// Returns the log of all starts.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    fn write_settings(&self, server_connections: u16) {
        let server = Url::parse(&url_from_env("DROVER_TEST_POSTGRES")).unwrap();
        let (host, port) = (server.host_str().unwrap(), server.port().unwrap_or(5432));
        let folder = self.directory.path();
        let login = format!("\"{}\" \"{}\"\n", server.username(), server.password().unwrap_or_default());
        write(&folder.join("users.txt"), &login);
        // PgBouncer refuses root and becomes another user, which must be able to read the files.
        let is_root = folder.metadata().unwrap().uid() == 0;
        let user = if is_root { "user = postgres\n" } else { "" };
        write(
            &folder.join("pgbouncer.ini"),
            &format!(
                "[databases]\n* = host={host} port={port}\n[pgbouncer]\n{user}listen_addr = 127.0.0.1\n\
                 listen_port = {}\nunix_socket_dir =\nauth_type = scram-sha-256\nauth_file = {}\n\
                 pool_mode = transaction\ndefault_pool_size = {server_connections}\nserver_login_retry = 1\n",
                self.port,
                folder.join("users.txt").display()
            ),
        );
        std::fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Writes a file that every user can read.
fn write(file: &Path, text: &str) {
    std::fs::write(file, text).unwrap();
    std::fs::set_permissions(file, Permissions::from_mode(0o644)).unwrap();
}

fn spawn(folder: &Path) -> Child {
    let log = std::fs::File::options().create(true).append(true).open(folder.join("log")).unwrap();
    // Debian installs it in a folder that is not on the PATH of every user.
    let path = format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default());
    Command::new("pgbouncer")
        .env("PATH", path)
        .arg(folder.join("pgbouncer.ini"))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run pgbouncer ({error}): run .ci/install, or put it on PATH"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_and_exits_on_drop() {
        let mut pooler = PgBouncer::start(1);
        pooler.stop();
        assert!(TcpStream::connect(("127.0.0.1", pooler.port)).is_err());
        pooler.restart();
        let port = pooler.port;
        drop(pooler);
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    }
}
