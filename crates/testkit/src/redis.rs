//! Redis for tests: the server that all share, and servers of a test's own that can fail.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::server::named;

const READY_LIMIT: Duration = Duration::from_secs(20);

/// The server that all tests share, `redis://:PASSWORD@HOST:PORT`: use names that no other test uses.
pub fn redis_url() -> String {
    named("DROVER_TEST_REDIS")
}

/// A Redis server of a test's own, empty, on a port that stays the same. Ended when dropped.
pub struct Redis {
    port: u16,
    password: String,
    folder: tempfile::TempDir,
    child: Option<Child>,
}

impl Redis {
    /// Starts it.
    pub fn start() -> Self {
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let password = Uuid::new_v4().simple().to_string();
        let mut redis = Self { port, password, folder: tempfile::tempdir().unwrap(), child: None };
        let settings = format!(
            "bind 127.0.0.1\nport {port}\nrequirepass {}\nsave \"\"\nappendonly no\n",
            redis.password
        );
        std::fs::write(redis.folder.path().join("redis.conf"), settings).unwrap();
        redis.restart();
        redis
    }

    /// How clients connect, whether it runs or not.
    pub fn url(&self) -> String {
        format!("redis://:{}@127.0.0.1:{}", self.password, self.port)
    }

    /// Kills it, as a crash would: connections break, what it held is lost.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts it again where it was, empty.
    pub fn restart(&mut self) {
        self.stop();
        let deadline = Instant::now() + READY_LIMIT;
        while !self.answers() {
            assert!(
                Instant::now() < deadline,
                "Redis does not start on port {}: run the test again",
                self.port
            );
            // It ends by itself if a passing connection has the port.
            if self.child.as_mut().is_none_or(|child| child.try_wait().unwrap().is_some()) {
                self.child = Some(self.spawn());
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

    /// Whether a server answers that knows our password.
    fn answers(&self) -> bool {
        let ask = || -> std::io::Result<String> {
            let mut connection = TcpStream::connect(("127.0.0.1", self.port))?;
            connection.set_read_timeout(Some(Duration::from_secs(1)))?;
            write!(connection, "AUTH {}\r\nPING\r\nQUIT\r\n", self.password)?;
            let mut answer = String::new();
            connection.read_to_string(&mut answer)?;
            Ok(answer)
        };
        ask().is_ok_and(|answer| answer.contains("+PONG"))
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
    fn a_server_of_its_own_stops_and_comes_back() {
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
