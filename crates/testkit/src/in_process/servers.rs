//! Servers of one test, which it can stop, and the URLs of those that all tests share.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use reqwest::Url;
use rustix::process::Signal;
use uuid::Uuid;

use super::database::{TestDatabase, execute};
use super::url_from_env;
use crate::processes::interrupt::Interrupt;
use crate::processes::servers::{self, BUCKET, Cluster, Server, ShutdownSignals};
use crate::processes::{ports, tools};

/// Starts a server again, which exits if a short-lived connection occupies its port.
fn start_again(mut start: impl FnMut() -> anyhow::Result<()>) {
    if start().is_err() && start().is_err() {
        start().unwrap();
    }
}

/// Kills a server if it runs.
fn kill(server: &mut Server) {
    if server.check().is_ok() {
        server.end(Signal::KILL).unwrap();
    }
}

/// Returns the URL of the Redis server that all tests share, `redis://:PASSWORD@HOST:PORT`. Keys must be unique to the
/// test.
pub fn redis_url() -> String {
    url_from_env("DROVER_TEST_REDIS")
}

/// A private Redis server on a constant port, with a password of its own, stopped when this is dropped.
pub struct Redis(servers::Redis);

impl Redis {
    /// Starts an empty server on a free port.
    pub fn start() -> Self {
        let program = std::env::var_os("DROVER_TEST_REDIS_SERVER").map(PathBuf::from);
        let program = program.unwrap_or_else(|| tools::find_installed("redis-server").unwrap());
        Self(servers::Redis::start(&program, &Interrupt::default()).unwrap())
    }

    /// Returns the URL of the server, whether it runs or not.
    pub fn url(&self) -> String {
        self.0.url()
    }

    /// Kills the server, like a crash: connections break and all data is lost.
    pub fn stop(&mut self) {
        kill(&mut self.0.server);
    }

    /// Restarts the server on the same port, without data.
    pub fn restart(&mut self) {
        self.stop();
        start_again(|| self.0.start_again(None, &Interrupt::default()));
    }
}

/// A PostgreSQL server on a free port of 127.0.0.1, ended when this is dropped. Its superuser `postgres` has the
/// password `secret`.
pub struct PostgresServer {
    /// The port.
    pub port: u16,
    cluster: Cluster,
}

impl PostgresServer {
    /// Creates and starts a primary.
    pub fn primary() -> Self {
        let bin = tools::postgres_folder().unwrap();
        Self::of(
            Cluster::start_as(&bin, &["synchronous_commit=on"], "secret", &Interrupt::default()).unwrap(),
        )
    }

    /// Copies this server and starts the copy as its standby.
    pub fn standby(&self) -> Self {
        Self::of(self.cluster.start_standby(&Interrupt::default()).unwrap())
    }

    fn of(cluster: Cluster) -> Self {
        Self { port: cluster.port, cluster }
    }

    /// Returns the URL of this server alone.
    pub fn url(&self) -> String {
        self.cluster.url()
    }

    /// Executes one statement.
    pub fn execute(&self, statement: &str) {
        execute(&self.url(), statement);
    }

    /// Makes a standby accept writes, and waits until it does.
    pub fn promote(&self) {
        self.execute("SELECT pg_promote()");
    }

    /// Ends the server without a checkpoint, like a crash. Its connections break.
    pub fn stop(&mut self) {
        if self.cluster.server.check().is_ok() {
            self.cluster.end(Signal::QUIT).unwrap();
        }
    }
}

/// A PgBouncer with `pool_mode = transaction` before the PostgreSQL server that all tests share, on a constant port of
/// 127.0.0.1, killed when this is dropped.
pub struct PgBouncer {
    port: u16,
    server: Server,
}

impl PgBouncer {
    /// Starts PgBouncer on a free port, with this many connections to the server for each database.
    pub fn start(server_connections: u16) -> Self {
        const SHUTDOWN: ShutdownSignals = &[(Signal::KILL, 5)];
        let stop = Interrupt::default();
        let started = servers::attempt(&stop, || {
            let (folder, [port]) = (servers::folder("pgbouncer")?, ports::find_free()?);
            write_settings(folder.path(), port, server_connections);
            let mut server = Server::spawn("PgBouncer", &mut Self::command()?, folder, SHUTDOWN)?;
            let log = server.log_file();
            server.wait_ready(&stop, |_| times_ready(&log) > 0)?;
            Ok(Self { port, server })
        });
        started.unwrap()
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
        kill(&mut self.server);
    }

    /// Starts PgBouncer again on the same port.
    pub fn restart(&mut self) {
        self.stop();
        let log = self.server.log_file();
        let before = times_ready(&log);
        start_again(|| {
            self.server.restart(&mut Self::command()?)?;
            self.server.wait_ready(&Interrupt::default(), |_| times_ready(&log) > before)
        });
    }

    /// Returns the log of all starts.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.server.log_file()).unwrap_or_default()
    }

    fn command() -> anyhow::Result<Command> {
        let mut command = Command::new(tools::find_installed("pgbouncer")?);
        command.arg("pgbouncer.ini");
        Ok(command)
    }
}

/// Returns how often PgBouncer began to listen, according to its log: at its port, the PgBouncer of another test may
/// answer that took the port first.
fn times_ready(log: &Path) -> usize {
    std::fs::read_to_string(log).unwrap_or_default().matches("listening on 127.0.0.1").count()
}

fn write_settings(folder: &Path, port: u16, server_connections: u16) {
    let server = Url::parse(&url_from_env("DROVER_TEST_POSTGRES")).unwrap();
    let (host, server_port) = (server.host_str().unwrap(), server.port().unwrap_or(5432));
    let login = format!("\"{}\" \"{}\"\n", server.username(), server.password().unwrap_or_default());
    // PgBouncer refuses root and becomes another user, which must be able to read the files.
    let user = if folder.metadata().unwrap().uid() == 0 { "user = postgres\n" } else { "" };
    let settings = format!(
        "[databases]\n* = host={host} port={server_port}\n[pgbouncer]\n{user}listen_addr = 127.0.0.1\n\
         listen_port = {port}\nunix_socket_dir =\nauth_type = scram-sha-256\nauth_file = {}\n\
         pool_mode = transaction\ndefault_pool_size = {server_connections}\nserver_login_retry = 1\n",
        folder.join("users.txt").display()
    );
    for (name, text) in [("users.txt", login), ("pgbouncer.ini", settings)] {
        std::fs::write(folder.join(name), text).unwrap();
        std::fs::set_permissions(folder.join(name), Permissions::from_mode(0o644)).unwrap();
    }
    std::fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
}

/// Location and credentials of a test's objects on the S3 server that all tests share.
#[derive(Clone, Debug)]
pub struct S3 {
    /// The server, `http://HOST:PORT`. It takes buckets in the path and accepts any region.
    pub endpoint: String,
    /// Access key id.
    pub key: String,
    /// Secret access key.
    pub secret: String,
    /// Bucket and prefix: `s3://BUCKET/PREFIX`.
    pub url: String,
}

impl S3 {
    /// Returns a new unique prefix in the bucket that all tests share.
    pub fn with_unique_prefix() -> Self {
        let mut server: Url = url_from_env("DROVER_TEST_S3").parse().expect("http://KEY:SECRET@HOST:PORT");
        let key = server.username().to_owned();
        let secret = server.password().expect("a secret in DROVER_TEST_S3").to_owned();
        server.set_username("").unwrap();
        server.set_password(None).unwrap();
        let endpoint = server.as_str().trim_end_matches('/').to_owned();
        Self { endpoint, key, secret, url: format!("s3://{BUCKET}/{}", Uuid::new_v4()) }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    fn accepts(port: u16) -> bool {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    }

    #[test]
    fn servers_stop_restart_and_exit_on_drop() {
        let (mut redis, mut pooler) = (Redis::start(), PgBouncer::start(1));
        let redis_port = redis.url().rsplit(':').next().unwrap().parse().unwrap();
        for port in [redis_port, pooler.port] {
            assert!(accepts(port));
        }
        redis.stop();
        pooler.stop();
        assert!(!accepts(redis_port) && !accepts(pooler.port));
        redis.restart();
        pooler.restart();
        let pooler_port = pooler.port;
        assert!(accepts(redis_port) && accepts(pooler_port));
        drop((redis, pooler));
        assert!(!accepts(redis_port) && !accepts(pooler_port));
    }
}
