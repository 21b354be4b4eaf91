//! `dashboards`: a real Prometheus scrapes the three services. Everything that the dashboard and the alerts select has
//! series, and docs/metrics.md lists the metrics that exist.

mod alerts;
mod dashboard;
mod expressions;
mod metrics_table;
mod prometheus;

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use self::prometheus::Prometheus;
use crate::command::output;
use stack::checkout::{self, SERVICES};
use stack::http::{Body, HttpClient};
use stack::service::ServiceProcess;
use stack::tools;
use stack::trial::Trial;

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
    let prometheus = Prometheus::start(&config, &folder().join("alerts.yml"), trial.stop)?;
    wait_scraped(trial, &prometheus)?;
    metrics_table::check(trial, &prometheus)?;
    alerts::check(trial, &prometheus)?;
    dashboard::check(trial, &prometheus)?;
    expressions::check_detection(trial, &prometheus)
}

fn folder() -> PathBuf {
    checkout::root().join("deploy/observability")
}

fn read(name: &str) -> Result<String> {
    fs::read_to_string(folder().join(name))
        .with_context(|| format!("cannot read deploy/observability/{name}"))
}

fn promtool(trial: &Trial<'_>, title: &str, arguments: &[&str], input: Stdio) -> Result<()> {
    let mut promtool = Command::new(tools::find("promtool")?);
    output(promtool.args(arguments).current_dir(folder()).stdin(input))?;
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
