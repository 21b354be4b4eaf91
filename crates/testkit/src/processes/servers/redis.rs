//! A private Redis server with a password and without persistence.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Signal;

use super::server::{Server, ShutdownSignals, attempt, folder, random_password};
use crate::processes::interrupt::Interrupt;
use crate::processes::ports;

const SHUTDOWN: ShutdownSignals = &[(Signal::TERM, 5), (Signal::KILL, 5)];

/// A running server.
#[derive(Debug)]
pub struct Redis {
    /// The process.
    pub server: Server,
    program: PathBuf,
    port: u16,
    password: String,
}

impl Redis {
    /// Starts a program.
    pub fn start(program: &Path, stop: &Interrupt) -> Result<Self> {
        let password = random_password()?;
        attempt(stop, || {
            let folder = folder("redis")?;
            let [port] = ports::find_free()?;
            let file = configure(folder.path(), port, &password)?;
            let mut server = Server::spawn("Redis", Command::new(program).arg(&file), folder, SHUTDOWN)?;
            server.wait_ready(stop, |_| answers(port, &password).is_ok_and(|answers| answers))?;
            Ok(Self { server, program: program.to_owned(), port, password: password.clone() })
        })
    }

    /// Starts the server again on the same port after it has ended, with its password or another.
    pub fn start_again(&mut self, password: Option<&str>, stop: &Interrupt) -> Result<()> {
        let password = password.unwrap_or(&self.password);
        let file = configure(self.server.folder(), self.port, password)?;
        self.server.restart(Command::new(&self.program).arg(file))?;
        let port = self.port;
        self.server.wait_ready(stop, |_| answers(port, password).is_ok_and(|answers| answers))
    }

    /// URL for clients.
    pub fn url(&self) -> String {
        format!("redis://:{}@127.0.0.1:{}", self.password, self.port)
    }
}

fn configure(folder: &Path, port: u16, password: &str) -> Result<PathBuf> {
    let settings = format!("bind 127.0.0.1\nport {port}\nrequirepass {password}\nsave \"\"\nappendonly no\n");
    let file = folder.join("redis.conf");
    fs::write(&file, settings)
        .with_context(|| format!("cannot write {}: free disk space", file.display()))?;
    Ok(file)
}

/// Whether the server on this port accepts the password and answers PING.
fn answers(port: u16, password: &str) -> std::io::Result<bool> {
    let mut connection = TcpStream::connect(("127.0.0.1", port))?;
    connection.set_read_timeout(Some(Duration::from_secs(1)))?;
    write!(connection, "AUTH {password}\r\nPING\r\nQUIT\r\n")?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    Ok(answer.contains("+PONG"))
}
