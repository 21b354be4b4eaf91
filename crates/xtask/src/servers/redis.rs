//! Redis: a server of its own, with a password, that keeps nothing.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Signal;

use super::debian::Package;
use super::programs::on_path;
use super::server::{Farewell, Server, attempt, folder, random_password};
use crate::ports;
use crate::stop::Stop;

/// What brings the program. Debian's package `redis-server` would also start a server of the system's.
pub const PACKAGE: Package = Package {
    name: "redis-tools",
    by_hand: "Redis 6 or newer (the program redis-server): `sudo apt-get install redis-server`, \
              `sudo dnf install redis` or `brew install redis`, or put it on PATH",
    prepare: || Ok(()),
};

const FAREWELL: Farewell = &[(Signal::TERM, 5), (Signal::KILL, 5)];

/// The program `redis-server`.
pub fn find(tools: &Path) -> Option<PathBuf> {
    on_path("redis-server").or_else(|| link(&on_path("redis-check-rdb")?, &tools.join("redis-server")))
}

/// Debian's `redis-check-rdb` is the server too: the program goes by the name that it is called by.
fn link(program: &Path, link: &Path) -> Option<PathBuf> {
    if !link.is_file() {
        let _ = fs::remove_file(link); // it led to what is no longer there
        let _ = symlink(program, link); // unless another xtask was first
    }
    link.is_file().then(|| link.to_owned())
}

/// A running server.
#[derive(Debug)]
pub struct Redis {
    /// Its process.
    pub server: Server,
    program: PathBuf,
    port: u16,
    password: String,
}

impl Redis {
    /// Starts this program.
    pub fn start(program: &Path, stop: &Stop) -> Result<Self> {
        let password = random_password()?;
        attempt(stop, || {
            let folder = folder("redis")?;
            let [port] = ports::find_free()?;
            let file = configure(folder.path(), port, &password)?;
            let mut server = Server::spawn("Redis", Command::new(program).arg(&file), folder, FAREWELL)?;
            server.wait_ready(stop, |_| answers(port, &password).is_ok_and(|answers| answers))?;
            Ok(Self { server, program: program.to_owned(), port, password: password.clone() })
        })
    }

    /// Starts it again where it was, once it has ended, with its password or another.
    pub fn start_again(&mut self, password: Option<&str>, stop: &Stop) -> Result<()> {
        let password = password.unwrap_or(&self.password);
        let file = configure(self.server.folder(), self.port, password)?;
        self.server.again(Command::new(&self.program).arg(file))?;
        let port = self.port;
        self.server.wait_ready(stop, |_| answers(port, password).is_ok_and(|answers| answers))
    }

    /// How clients connect.
    pub fn url(&self) -> String {
        format!("redis://:{}@127.0.0.1:{}", self.password, self.port)
    }
}

fn configure(folder: &Path, port: u16, password: &str) -> Result<PathBuf> {
    let settings = format!("bind 127.0.0.1\nport {port}\nrequirepass {password}\nsave \"\"\nappendonly no\n");
    let file = folder.join("redis.conf");
    fs::write(&file, settings)
        .with_context(|| format!("cannot write {}: make room there", file.display()))?;
    Ok(file)
}

/// Whether a server here answers PING to those who know this password: then it is ours.
fn answers(port: u16, password: &str) -> std::io::Result<bool> {
    let mut connection = TcpStream::connect(("127.0.0.1", port))?;
    connection.set_read_timeout(Some(Duration::from_secs(1)))?;
    write!(connection, "AUTH {password}\r\nPING\r\nQUIT\r\n")?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    Ok(answer.contains("+PONG"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_leads_nowhere_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (program, server) = (folder.path().join("redis-check-rdb"), folder.path().join("redis-server"));
        fs::write(&program, "").unwrap();
        symlink(folder.path().join("gone"), &server).unwrap();
        assert_eq!(link(&program, &server), Some(server.clone()));
        assert_eq!(fs::read_link(&server).unwrap(), program);
    }
}
