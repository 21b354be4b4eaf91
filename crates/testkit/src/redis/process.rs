//! A process of `redis-server` on a constant port.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use uuid::Uuid;

/// Time within which a server must answer, and servers must find each other.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// A server with a password and a folder of its own, stopped when this is dropped.
pub(super) struct RedisProcess {
    pub(super) port: u16,
    password: String,
    /// Arguments after the configuration file.
    arguments: &'static [&'static str],
    directory: tempfile::TempDir,
    child: Option<Child>,
}

impl RedisProcess {
    /// Starts a server with these additional settings.
    ///
    /// # Panics
    /// If `redis-server` cannot be run or does not answer within 20 s.
    pub(super) fn start(
        port: u16,
        password: &str,
        settings: &str,
        arguments: &'static [&'static str],
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let settings = format!("bind 127.0.0.1\nport {port}\nrequirepass {password}\n{settings}");
        std::fs::write(directory.path().join("redis.conf"), settings).unwrap();
        let mut process = Self { port, password: password.to_owned(), arguments, directory, child: None };
        process.restart();
        process
    }

    /// Kills the server, like a crash.
    pub(super) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Restarts the server on the same port.
    pub(super) fn restart(&mut self) {
        self.stop();
        let deadline = Instant::now() + START_TIMEOUT;
        while !self.answers() {
            assert!(
                Instant::now() < deadline,
                "Redis does not start on port {}: run the test again",
                self.port
            );
            // The server exits if a short-lived connection occupies the port.
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
            .args(self.arguments)
            .current_dir(self.directory.path())
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
    pub(super) fn answers(&self) -> bool {
        self.try_send("PING").is_ok_and(|reply| reply.contains("+PONG"))
    }

    /// Sends a command and returns the text of the responses to the password and the command.
    pub(super) fn try_send(&self, command: &str) -> std::io::Result<String> {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port))?;
        connection.set_read_timeout(Some(Duration::from_secs(1)))?;
        write!(connection, "AUTH {}\r\n{command}\r\n", self.password)?;
        // The server then closes the connection. Sentinels have no command for that.
        connection.shutdown(Shutdown::Write)?;
        let mut reply = String::new();
        connection.read_to_string(&mut reply)?;
        Ok(reply)
    }

    /// Sends a command.
    ///
    /// # Panics
    /// If the server does not answer or refuses the command.
    pub(super) fn send(&self, command: &str) -> String {
        let reply = self.try_send(command).unwrap();
        assert!(!reply.lines().any(|line| line.starts_with('-')), "{command}: {reply}");
        reply
    }

    /// Waits until the response to a command contains all these texts.
    ///
    /// # Panics
    /// If it does not contain them within 20 s.
    pub(super) fn wait_for(&self, command: &str, texts: &[&str]) {
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            let reply = self.try_send(command).unwrap_or_default();
            if texts.iter().all(|text| reply.contains(text)) {
                return;
            }
            assert!(Instant::now() < deadline, "{command} of port {} has no {texts:?}: {reply}", self.port);
            sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for RedisProcess {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns free ports, each another one.
pub(super) fn free_ports(count: usize) -> Vec<u16> {
    // All listeners are open until the last port is found.
    let listeners: Vec<_> = (0..count).map(|_| TcpListener::bind(("127.0.0.1", 0)).unwrap()).collect();
    listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}

/// Returns a password that no other server has.
pub(super) fn random_password() -> String {
    Uuid::new_v4().simple().to_string()
}
