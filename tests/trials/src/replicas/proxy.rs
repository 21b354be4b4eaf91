//! nginx with the configuration of deploy/nginx. Only its listener (without TLS) and the addresses of the
//! replicas differ.

use std::fs;
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use stack::checkout::{self, SERVICES};
use stack::servers::{Server, ShutdownSignals, folder};
use stack::stack::Stack;
use stack::trial::Trial;
use stack::{nginx, tools};

const SHUTDOWN: ShutdownSignals = &[(Signal::TERM, 10), (Signal::KILL, 5)];

/// The running proxy. It ends when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    _server: Server,
    port: u16,
}

impl Proxy {
    /// Starts nginx before the replicas of a stack.
    pub fn start(trial: &Trial<'_>, port: u16, stack: &Stack) -> Result<Self> {
        let folder = folder("nginx")?;
        let path = |name: &str| folder.path().join(name);
        let original = checkout::root().join("deploy/nginx");
        for file in fs::read_dir(&original).with_context(|| format!("cannot read {}", original.display()))? {
            let file = file?;
            fs::copy(file.path(), path(&file.file_name().to_string_lossy())).context("cannot copy a file")?;
        }
        let upstreams = fs::read_to_string(path("upstreams.conf")).context("cannot read upstreams.conf")?;
        fs::write(path("upstreams.conf"), replace_servers(upstreams, stack, trial.short)?)?;
        let site = format!("server {{\n    listen 127.0.0.1:{port};\n    include routes.conf;\n}}\n");
        fs::write(path("site.conf"), site)?;
        fs::create_dir(path("prefix"))?;
        let mut command = nginx::command(&tools::find("nginx")?);
        command.args(["-e", "stderr", "-p"]).arg(path("prefix")).arg("-c").arg(path("nginx.conf"));
        let mut server = Server::spawn("nginx", &mut command, folder, SHUTDOWN)?;
        server.wait_ready(trial.stop, |_| TcpStream::connect(("127.0.0.1", port)).is_ok())?;
        Ok(Self { _server: server, port })
    }

    /// Base URL of a service.
    pub fn url(&self, service: &str) -> String {
        Self::url_at(self.port, service)
    }

    /// Base URL of a service behind a proxy on this port.
    pub fn url_at(port: u16, service: &str) -> String {
        format!("http://127.0.0.1:{port}/{service}")
    }
}

/// `fail_timeout` of the proxy: the time without requests to a replica that refused one. Less in the short form.
pub fn fail_timeout(short: bool) -> Duration {
    Duration::from_secs(if short { 1 } else { 5 })
}

/// Replaces the server of each upstream by the replicas of the service. The short form shortens the timeouts.
fn replace_servers(mut upstreams: String, stack: &Stack, short: bool) -> Result<String> {
    for (name, port) in SERVICES.into_iter().zip(8081..) {
        let server = format!("    server {name}:{port} fail_timeout=5s;\n");
        ensure!(upstreams.contains(&server), "deploy/nginx/upstreams.conf has no line `{}`", server.trim());
        let address = |port: u16| format!("127.0.0.1:{port}");
        let replicas =
            stack.replicas(name).map(|r| server.replace(&format!("{name}:{port}"), &address(r.port())));
        upstreams = upstreams.replace(&server, &replicas.collect::<String>());
    }
    let shorten = |text: String| text.replace("=5s", "=1s").replace("_timeout 5s", "_timeout 1s");
    Ok(if short { shorten(upstreams) } else { upstreams })
}
