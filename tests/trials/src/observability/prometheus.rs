//! A private Prometheus and its HTTP API.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::Value;

use stack::http::{Body, HttpClient};
use stack::interrupt::Interrupt;
use stack::servers::{Server, ShutdownSignals, attempt, folder};
use stack::{ports, tools};

const SHUTDOWN: ShutdownSignals = &[(Signal::TERM, 5), (Signal::KILL, 5)];

/// A running Prometheus.
#[derive(Debug)]
pub struct Prometheus {
    _server: Server,
    url: String,
    client: HttpClient,
}

impl Prometheus {
    /// Starts Prometheus with a configuration and a file of rules.
    pub fn start(config: &str, rules: &Path, stop: &Interrupt) -> Result<Self> {
        let program = tools::find("prometheus")?;
        attempt(stop, || {
            let (folder, [port]) = (folder("prometheus")?, ports::find_free()?);
            fs::write(folder.path().join("prometheus.yml"), config).context("cannot write prometheus.yml")?;
            fs::copy(rules, folder.path().join("alerts.yml")).context("cannot copy the rules")?;
            let mut command = Command::new(&program);
            let address = format!("127.0.0.1:{port}");
            command.args(["--config.file=prometheus.yml", "--storage.tsdb.path=data", "--log.level=warn"]);
            command.arg(format!("--web.listen-address={address}"));
            let mut server = Server::spawn("Prometheus", &mut command, folder, SHUTDOWN)?;
            let (url, client) = (format!("http://{address}"), HttpClient::new(Duration::from_secs(10)));
            let ready = || client.send("GET", &format!("{url}/-/ready"), None, &Body::Empty);
            server.wait_ready(stop, |_| ready().is_ok_and(|response| response.status == 200))?;
            Ok(Self { _server: server, url, client })
        })
    }

    /// Returns the series of an expression.
    pub fn query(&self, expression: &str) -> Result<Vec<Value>> {
        let data = self.get("query", &[("query", expression)])?;
        Ok(data["result"].as_array().cloned().unwrap_or_default())
    }

    /// Returns the label sets of all series that a selector matches.
    pub fn series(&self, selector: &str) -> Result<Vec<Value>> {
        let data = self.get("series", &[("match[]", selector)])?;
        Ok(data.as_array().cloned().unwrap_or_default())
    }

    /// Returns the type of each metric that a job exposes.
    pub fn metadata(&self, job: &str) -> Result<BTreeMap<String, String>> {
        let data = self.get("targets/metadata", &[("match_target", &format!("{{job=\"{job}\"}}"))])?;
        let metrics = data.as_array().into_iter().flatten().map(|metric| {
            let text = |member: &str| metric[member].as_str().unwrap_or_default().to_owned();
            ensure!(!text("help").is_empty(), "{job}: the metric {} has no help text", text("metric"));
            Ok((text("metric"), text("type")))
        });
        metrics.collect()
    }

    /// Returns all rules with their expression and health.
    pub fn rules(&self) -> Result<Vec<Value>> {
        let data = self.get("rules", &[])?;
        let groups = data["groups"].as_array().into_iter().flatten();
        Ok(groups.flat_map(|group| group["rules"].as_array().cloned().unwrap_or_default()).collect())
    }

    fn get(&self, path: &str, parameters: &[(&str, &str)]) -> Result<Value> {
        let query: Vec<_> =
            parameters.iter().map(|(name, value)| format!("{name}={}", percent_encode(value))).collect();
        let url = format!("{}/api/v1/{path}?{}", self.url, query.join("&"));
        let mut response = self.client.send("GET", &url, None, &Body::Empty)?;
        ensure!(response.json["status"] == "success", "Prometheus: {}", response.json["error"]);
        Ok(response.json["data"].take())
    }
}

fn percent_encode(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}
