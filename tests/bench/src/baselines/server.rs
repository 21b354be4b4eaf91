//! A server beside the services.

use std::net::TcpStream;
use std::process::Command;

use anyhow::Result;
use rustix::process::Signal;
use tempfile::TempDir;
use testkit::processes::servers::{Server, ShutdownSignals, attempt, folder};
use testkit::processes::{ports, process_stats};

use crate::environment::BenchEnvironment;
use crate::measurement::Measurement;
use crate::wrk::Requests;

const SHUTDOWN: ShutdownSignals = &[(Signal::TERM, 10), (Signal::KILL, 5)];

/// A server that listens on a port of 127.0.0.1.
pub struct BaselineServer {
    server: Server,
    port: u16,
}

impl BaselineServer {
    /// Starts a server and waits until it listens. `command` receives the folder of the server and its port.
    pub fn start(
        env: &BenchEnvironment,
        name: &'static str,
        command: impl Fn(&TempDir, u16) -> Result<Command>,
    ) -> Result<Self> {
        attempt(env.stop, || {
            let ([port], folder) = (ports::find_free()?, folder(name)?);
            let mut server = Server::spawn(name, &mut command(&folder, port)?, folder, SHUTDOWN)?;
            server.wait_ready(env.stop, |_| TcpStream::connect(("127.0.0.1", port)).is_ok())?;
            Ok(Self { server, port })
        })
    }

    /// URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Sends requests for `seconds` seconds and measures the CPU time of the server and its child processes.
    pub fn send(&self, requests: &Requests, clients: usize, seconds: u64) -> Result<Measurement> {
        let before = process_stats::family_cpu_us(self.server.pid())?;
        let run = requests.send(&self.url(""), clients, seconds)?;
        Ok(Measurement { cpu_us: Some(process_stats::family_cpu_us(self.server.pid())? - before), ..run })
    }
}
