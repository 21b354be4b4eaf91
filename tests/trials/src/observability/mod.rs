//! `dashboards`: a real Prometheus scrapes the three services. Everything that the dashboard and the alerts select has
//! series, and docs/metrics.md lists the metrics that exist.

mod alerts;
mod dashboard;
mod metrics_table;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Seek;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::Value;
use testkit::processes::checkout::{self, SERVICES};
use testkit::processes::http::{Body, HttpClient};
use testkit::processes::interrupt::Interrupt;
use testkit::processes::process::output;
use testkit::processes::servers::{Server, ShutdownSignals, attempt, folder};
use testkit::processes::service::ServiceProcess;
use testkit::processes::trial::Trial;
use testkit::processes::{ports, tools};

/// Time until Prometheus has scraped all services twice and evaluated the rules.
const SCRAPE_TIMEOUT: Duration = Duration::from_secs(30);

/// Checks the files of deploy/observability and docs/metrics.md.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    for arguments in [
        &["check", "rules", "--lint-fatal", "alerts.yml"][..],
        &["check", "config", "--lint-fatal", "prometheus.yml"],
        &["test", "rules", "alerts.test.yml"],
    ] {
        promtool(trial, "", arguments, Stdio::null())?;
    }
    let services = start(trial)?;
    for service in &services {
        let path = trial.path(&format!("{}.metrics", service.name));
        fs::write(&path, service.get("/metrics", "")?.bytes).context("cannot write the metrics")?;
        promtool(trial, service.name, &["check", "metrics"], File::open(&path)?.into())?;
    }
    let mut config = read("prometheus.yml")?.replace("15s", "1s");
    for service in &services {
        config = with_target(&config, service.name, service.port())?;
    }
    let prometheus = Prometheus::start(&config, &files_folder().join("alerts.yml"), trial.stop)?;
    wait_scraped(trial, &prometheus)?;
    metrics_table::check(trial, &prometheus)?;
    alerts::check(trial, &prometheus)?;
    dashboard::check(trial, &prometheus)?;
    check_detection(trial, &prometheus)
}

fn files_folder() -> PathBuf {
    checkout::root().join("deploy/observability")
}

fn read(name: &str) -> Result<String> {
    fs::read_to_string(files_folder().join(name))
        .with_context(|| format!("cannot read deploy/observability/{name}"))
}

fn promtool(trial: &Trial<'_>, title: &str, arguments: &[&str], input: Stdio) -> Result<()> {
    let mut promtool = Command::new(tools::find("promtool")?);
    output(promtool.args(arguments).current_dir(files_folder()).stdin(input))?;
    trial.note(format!("dashboards: promtool {} {title}", arguments.join(" ")), "no finding", "no finding");
    Ok(())
}

/// Starts the three services and sends each a request that succeeds and one for an unknown path.
fn start(trial: &Trial<'_>) -> Result<Vec<ServiceProcess>> {
    let services = trial.stack(&trial.stack_config("dashboards", false)?)?.services;
    let client = HttpClient::new(Duration::from_secs(30));
    for (service, path) in services.iter().zip(["addresses?query=hereford", "loads", "listings"]) {
        service.get(&format!("/v1/{path}"), &service.token(Some("farm")))?;
        let unknown = client.send("GET", &service.url("/v1/no-such-path"), None, &Body::Empty)?;
        ensure!(
            unknown.status == 404,
            "{} responds to an unknown path with {}",
            service.name,
            unknown.status
        );
    }
    Ok(services)
}

/// Replaces the service discovery of a job, which is the line after its name, with one local target.
fn with_target(config: &str, name: &str, port: u16) -> Result<String> {
    let job = format!("job_name: {name}\n");
    let (before, after) = config.split_once(&job).with_context(|| format!("prometheus.yml has no {job}"))?;
    let (discovery, after) = after.split_once('\n').unwrap_or_default();
    ensure!(
        discovery.contains("_configs: ") && discovery.contains(name),
        "prometheus.yml: after the name of the job {name} comes its discovery, not {discovery}"
    );
    let target = format!("    static_configs: [{{targets: [\"127.0.0.1:{port}\"]}}]");
    Ok(format!("{before}{job}{target}\n{after}"))
}

/// Waits until rates exist for all services and the rules have been evaluated.
fn wait_scraped(trial: &Trial<'_>, prometheus: &Prometheus) -> Result<()> {
    let until = Instant::now() + SCRAPE_TIMEOUT;
    while prometheus.query("rate(process_cpu_seconds_total[1m])")?.len() < SERVICES.len()
        || prometheus.query("job:drover_errors:ratio6h")?.len() < SERVICES.len()
    {
        let targets = prometheus.query("up")?;
        ensure!(Instant::now() < until, "Prometheus has not scraped all services: {targets:?}");
        trial.pause(Duration::from_millis(250))?;
    }
    Ok(())
}

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

/// What one expression requires: a name for reports, and queries of which one must return series.
type Requirements = Vec<(String, Vec<String>)>;

/// Expressions that select something that does not exist.
const WRONG: [&str; 8] = [
    "sum(rate(drover_no_such_total[1m]))",
    "sum by (no_such) (up)",
    "up * on (no_such) up",
    "up * on (job) group_left (no_such) up",
    "drover_requests_total{status=\"999\"}",
    "drover_requests_total{status=~\"200|999\"}",
    "drover_requests_total{operation!=\"no_such\"}",
    "drover_requests_total{operation!~\"none|no_such\"}",
];

/// Returns what does not exist, for each of the expressions.
fn missing_series(prometheus: &Prometheus, expressions: &[&str]) -> Result<Vec<Vec<String>>> {
    let mut all = Vec::new();
    for requirements in requirements(expressions)? {
        let mut missing = Vec::new();
        for (name, queries) in requirements {
            let any = queries.iter().map(|query| format!("count({query})")).collect::<Vec<_>>().join(" or ");
            if prometheus.query(&any)?.is_empty() {
                missing.push(name);
            }
        }
        all.push(missing);
    }
    Ok(all)
}

/// Checks that [`missing_series`] finds mistakes.
pub fn check_detection(trial: &Trial<'_>, prometheus: &Prometheus) -> Result<()> {
    for (expression, missing) in WRONG.iter().zip(missing_series(prometheus, &WRONG)?) {
        let found = missing.join(", ");
        trial.expect(
            !missing.is_empty(),
            format!("dashboards: {expression}"),
            found,
            "reported as missing",
        )?;
    }
    Ok(())
}

/// Runs selectors.py, which parses the expressions.
fn requirements(expressions: &[&str]) -> Result<Vec<Requirements>> {
    let mut input = tempfile::tempfile().context("cannot create a temporary file")?;
    serde_json::to_writer(&input, expressions)?;
    input.rewind()?;
    let mut python = Command::new(tools::find("python3")?);
    python.arg(checkout::root().join("tests/trials/src/observability/selectors.py")).stdin(input);
    let requirements: Vec<Requirements> = serde_json::from_str(&output(&mut python)?)?;
    ensure!(requirements.len() == expressions.len(), "selectors.py printed too few lists");
    Ok(requirements)
}
