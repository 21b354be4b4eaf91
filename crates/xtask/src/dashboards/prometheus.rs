//! A Prometheus of our own, and what it is asked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::Value;

use crate::client::{Body, Client};
use crate::servers::{Farewell, Package, Server, attempt, folder, on_path, unpack};
use crate::stop::Stop;
use crate::{ports, workspace};

const PACKAGE: Package = Package {
    name: "prometheus",
    by_hand: "Prometheus 2.40 or newer (the programs prometheus and promtool), or put them on PATH",
    prepare: || Ok(()),
};
const FAREWELL: Farewell = &[(Signal::TERM, 5), (Signal::KILL, 5)];

/// Where the programs are.
#[derive(Debug)]
pub struct Programs {
    prometheus: PathBuf,
    /// Checks files.
    pub promtool: PathBuf,
}

impl Programs {
    /// Those on PATH, or Debian's, fetched once.
    pub fn provide(stop: &Stop) -> Result<Self> {
        if let (Some(prometheus), Some(promtool)) = (on_path("prometheus"), on_path("promtool")) {
            return Ok(Self { prometheus, promtool });
        }
        let prometheus = unpack(PACKAGE, "usr/bin/prometheus", &workspace::tools()?, stop)?;
        let promtool = prometheus.with_file_name("promtool");
        Ok(Self { prometheus, promtool })
    }
}

/// A running Prometheus.
#[derive(Debug)]
pub struct Prometheus {
    _server: Server,
    url: String,
    client: Client,
}

impl Prometheus {
    /// Starts it with this configuration and these rules.
    pub fn start(programs: &Programs, config: &str, rules: &Path, stop: &Stop) -> Result<Self> {
        attempt(stop, || {
            let (folder, [port]) = (folder("prometheus")?, ports::find_free()?);
            fs::write(folder.path().join("prometheus.yml"), config).context("cannot write: make room")?;
            fs::copy(rules, folder.path().join("alerts.yml")).context("cannot copy the rules")?;
            let mut command = Command::new(&programs.prometheus);
            let address = format!("127.0.0.1:{port}");
            command.args(["--config.file=prometheus.yml", "--storage.tsdb.path=data", "--log.level=warn"]);
            command.arg(format!("--web.listen-address={address}"));
            let mut server = Server::spawn("Prometheus", &mut command, folder, FAREWELL)?;
            let (url, client) = (format!("http://{address}"), Client::new(Duration::from_secs(10)));
            let ready = || client.send("GET", &format!("{url}/-/ready"), None, &Body::Empty);
            server.wait_ready(stop, |_| ready().is_ok_and(|answer| answer.status == 200))?;
            Ok(Self { _server: server, url, client })
        })
    }

    /// The series that an expression gives; an error is what Prometheus says of it.
    pub fn query(&self, expression: &str) -> Result<Vec<Value>> {
        let data = self.ask(&format!("query?query={}", escaped(expression)))?;
        Ok(data["result"].as_array().cloned().unwrap_or_default())
    }

    /// Its rules: each with its expression, and with what is wrong with it.
    pub fn rules(&self) -> Result<Vec<Value>> {
        let data = self.ask("rules")?;
        let groups = data["groups"].as_array().into_iter().flatten();
        Ok(groups.flat_map(|group| group["rules"].as_array().cloned().unwrap_or_default()).collect())
    }

    fn ask(&self, what: &str) -> Result<Value> {
        let mut answer =
            self.client.send("GET", &format!("{}/api/v1/{what}", self.url), None, &Body::Empty)?;
        ensure!(answer.json["status"] == "success", "{}", answer.json["error"]);
        Ok(answer.json["data"].take())
    }
}

/// For a query.
fn escaped(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}
