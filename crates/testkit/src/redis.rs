//! Redis servers: one that all tests share, and private ones that a test can stop.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::server::url_from_env;

/// Time within which a server must answer.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// Returns the URL of the server that all tests share, `redis://:PASSWORD@HOST:PORT`. Keys must be unique to the test.
pub fn redis_url() -> String {
    url_from_env("DROVER_TEST_REDIS")
}

/// A private Redis server on a constant port, with a password of its own, stopped when this is dropped.
pub struct Redis {
    port: u16,
    password: String,
    /// The folder with the configuration.
    folder: tempfile::TempDir,
    process: Option<Child>,
}

impl Redis {
    /// Starts an empty server on a free port.
    ///
    /// # Panics
    /// If `redis-server` cannot be run or does not answer within 20 s.
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let password = Uuid::new_v4().simple().to_string();
        let folder = tempfile::tempdir().unwrap();
        let settings =
            format!("bind 127.0.0.1\nport {port}\nrequirepass {password}\nsave \"\"\nappendonly no\n");
        std::fs::write(folder.path().join("redis.conf"), settings).unwrap();
        let mut redis = Self { port, password, folder, process: None };
        redis.restart();
        redis
    }

    /// Returns the URL of the server, whether it runs or not.
    pub fn url(&self) -> String {
        format!("redis://:{}@127.0.0.1:{}", self.password, self.port)
    }

    /// Kills the server, like a crash: connections break and all data is lost.
    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Restarts the server on the same port, without data.
    ///
    /// # Panics
    /// If it does not answer within 20 s.
    pub fn restart(&mut self) {
        self.stop();
        let deadline = Instant::now() + START_TIMEOUT;
        while !self.answers() {
            assert!(
                Instant::now() < deadline,
                "Redis does not start on port {}: run the test again",
                self.port
            );
            // The server exits if a short-lived connection occupies the port.
            if self.process.as_mut().is_none_or(|process| process.try_wait().unwrap().is_some()) {
                self.process = Some(self.spawn());
            }
            sleep(Duration::from_millis(10));
        }
    }

    fn spawn(&self) -> Child {
        let program =
            std::env::var_os("DROVER_TEST_REDIS_SERVER").map_or("redis-server".into(), PathBuf::from);
        Command::new(&program)
            .arg("redis.conf")
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!(
                    "cannot run {} ({error}): run the tests with `cargo xtask test`, which sets \
                     DROVER_TEST_REDIS_SERVER, or put redis-server on PATH",
                    program.display()
                )
            })
    }

    /// Returns whether a server with this password answers on the port.
    fn answers(&self) -> bool {
        self.ping().is_ok_and(|reply| reply.contains("+PONG"))
    }

    /// Returns the responses to the password and a ping.
    fn ping(&self) -> std::io::Result<String> {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port))?;
        connection.set_read_timeout(Some(Duration::from_secs(1)))?;
        // The server closes the connection after `QUIT`.
        write!(connection, "AUTH {}\r\nPING\r\nQUIT\r\n", self.password)?;
        let mut replies = String::new();
        connection.read_to_string(&mut replies)?;
        Ok(replies)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_restarts_and_exits_on_drop() {
        let mut redis = Redis::start();
        assert!(redis.answers());
        redis.stop();
        assert!(!redis.answers());
        redis.restart();
        assert!(redis.answers());
        let port = redis.port;
        drop(redis);
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    }
}
