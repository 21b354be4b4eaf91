//! The OpenID provider of the Compose profile `login`, as a process.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Signal;
use stack::checkout;
use stack::http::{Body, HttpClient};
use stack::servers::{Server, ShutdownSignals, folder};
use stack::tools;
use stack::trial::Trial;

use crate::command::output;

const SHUTDOWN: ShutdownSignals = &[(Signal::TERM, 10), (Signal::KILL, 5)];

/// The running provider. It ends when it is dropped.
pub struct Provider {
    _server: Server,
    /// The password of the sample users.
    pub password: String,
}

impl Provider {
    /// Starts the provider with the files of deploy/login and new secrets. `public_url`: the base URL of the docs
    /// pages.
    pub fn start(trial: &Trial<'_>, port: u16, public_url: &str) -> Result<Self> {
        let folder = folder("login")?;
        let path = |name: &str| folder.path().join(name);
        output(Command::new(checkout::root().join("deploy/secrets.sh")).arg(path("secrets")))?;
        fs::create_dir(path("tmp"))?;
        for name in ["start.sh", "settings.yaml", "users.yaml"] {
            let original = checkout::root().join("deploy/login").join(name);
            let text = fs::read_to_string(&original).context("cannot read a file of deploy/login")?;
            fs::write(path(name), localize(&text, folder.path(), port))?;
        }
        let password = fs::read_to_string(path("secrets/login-password"))?.trim().to_owned();
        let program = tools::find("nanoidp")?;
        let mut command = Command::new("sh");
        command.arg(path("start.sh")).env("DROVER_PUBLIC_URL", public_url);
        command.env("PATH", tools::path_with(&[program.parent().context("no folder")?])?);
        let mut server = Server::spawn("NanoIDP", &mut command, folder, SHUTDOWN)?;
        let client = HttpClient::new(Duration::from_secs(2));
        let health = format!("http://127.0.0.1:{port}/api/health");
        let is_ready =
            |_: &Path| client.send("GET", &health, None, &Body::Empty).is_ok_and(|reply| reply.status == 200);
        server.wait_ready(trial.stop, is_ready)?;
        Ok(Self { _server: server, password })
    }
}

/// Replaces the paths and the address of the container.
fn localize(text: &str, folder: &Path, port: u16) -> String {
    let folder = folder.display();
    text.replace("8444", &port.to_string())
        .replace("0.0.0.0", "127.0.0.1")
        .replace("/tmp", &format!("{folder}/tmp"))
        .replace("/etc/drover/", &format!("{folder}/"))
        .replace("/run/secrets/", &format!("{folder}/secrets/"))
}
