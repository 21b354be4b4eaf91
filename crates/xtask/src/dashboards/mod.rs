//! `dashboards`: a real Prometheus asks the three services, and whatever the dashboard and the alerts ask of it has
//! series.

mod documented;
mod expressions;
mod prometheus;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

pub use self::prometheus::Programs;
use self::prometheus::Prometheus;
use crate::client::{Body, Client};
use crate::service::Service;
use crate::trial::Trial;
use crate::workspace::{self, SERVICES};

/// How long Prometheus may take to have asked everybody often enough.
const PATIENCE: Duration = Duration::from_secs(30);

/// Checks what is in deploy/observability and docs/metrics.md.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let programs = Programs::provide(trial.stop)?;
    let folder = workspace::root().join("deploy/observability");
    for check in [
        ["check", "rules", "alerts.yml"],
        ["check", "config", "prometheus.yml"],
        ["test", "rules", "alerts.test.yml"],
    ] {
        promtool(trial, &programs, &folder, &check)?;
    }
    let services = start(trial)?;
    table(trial, &services)?;

    let read =
        |name: &str| fs::read_to_string(folder.join(name)).with_context(|| format!("cannot read {name}"));
    let mut config = read("prometheus.yml")?.replace("15s", "1s");
    for service in &services {
        config = found_at(&config, service.name, service.port())?;
    }
    let prometheus = Prometheus::start(&programs, &config, &folder.join("alerts.yml"), trial.stop)?;
    settle(trial, &prometheus)?;
    alerts(trial, &prometheus, &read("alerts.test.yml")?)?;
    dashboard(trial, &prometheus, &serde_json::from_str(&read("grafana-dashboard.json")?)?)?;
    // What finds nothing wrong may be unable to.
    for wrong in [
        "sum(rate(drover_no_such_total[1m]))",
        "sum by (nobody) (up)",
        "drover_requests_total{status=\"999\"}",
        "drover_requests_total{status=~\"200|999\"}",
        "drover_requests_total{operation!~\"none|no_such\"}",
    ] {
        let found = missing(&prometheus, wrong)?;
        trial.expect(
            !found.is_empty(),
            format!("dashboards: {wrong}"),
            found.join(", "),
            "found to be wrong",
        )?;
    }
    Ok(())
}

fn promtool(trial: &Trial<'_>, programs: &Programs, folder: &Path, arguments: &[&str]) -> Result<()> {
    let output = Command::new(&programs.promtool).args(arguments).current_dir(folder).output();
    let output = output.context("promtool cannot be run")?;
    let told = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "promtool {}: {told}", arguments.join(" "));
    trial.note(format!("dashboards: promtool {}", arguments.join(" ")), "well", "well");
    Ok(())
}

/// The three services, each asked something that it has and something that it has not.
fn start(trial: &Trial<'_>) -> Result<Vec<Service>> {
    let mut services = Vec::new();
    for (name, path) in SERVICES.into_iter().zip(["addresses?query=hereford", "loads", "listings"]) {
        let service = trial.service(name, "dashboards", None, Vec::new())?;
        let token = service.token(Some("farm"));
        service.get(&format!("/v1/{path}"), &token)?;
        let nothing = Client::new(PATIENCE).send("GET", &service.url("/v1/nothing"), None, &Body::Empty)?;
        ensure!(nothing.status == 404, "{name} has something called nothing");
        services.push(service);
    }
    Ok(services)
}

/// The sample's configuration with the place of one service: the line after its name says how it is found.
fn found_at(config: &str, name: &str, port: u16) -> Result<String> {
    let job = format!("job_name: {name}\n");
    let (before, after) = config.split_once(&job).with_context(|| format!("prometheus.yml has no {job}"))?;
    let (how, after) = after.split_once('\n').unwrap_or_default();
    ensure!(how.contains("_configs: ") && how.contains(name), "prometheus.yml: how {name} is found: {how}");
    let here = format!("    static_configs: [{{targets: [\"127.0.0.1:{port}\"]}}]");
    Ok(format!("{before}{job}{here}\n{after}"))
}

/// The table of metrics is what the services show, and all that their sources name.
fn table(trial: &Trial<'_>, services: &[Service]) -> Result<()> {
    let root = workspace::root();
    let table = fs::read_to_string(root.join("docs/metrics.md")).context("cannot read docs/metrics.md")?;
    let mut differences = Vec::new();
    for service in services {
        let text = String::from_utf8(service.get("/metrics", "")?.bytes)?;
        let documented = documented::rows(&table, Some(service.name));
        let found = documented::differences(&documented, &documented::shown(&text)?);
        trial.note(
            format!("dashboards: metrics of {}", service.name),
            documented.len().to_string(),
            "as documented",
        );
        differences.extend(found.into_iter().map(|found| format!("{}: {found}", service.name)));
    }
    let all: BTreeSet<_> = documented::rows(&table, None).into_keys().collect();
    let mut folders = vec![root.join("crates/common/src"), root.join("crates/database/src")];
    folders.extend(SERVICES.map(|name| root.join("services").join(name).join("src")));
    for folder in folders {
        let unknown: Vec<_> = documented::named(&folder)?.difference(&all).cloned().collect();
        differences.extend(unknown.iter().map(|name| format!("{name} of {} is in no row", folder.display())));
    }
    ensure!(differences.is_empty(), "docs/metrics.md is not what is so:\n{}", differences.join("\n"));
    Ok(())
}

/// Waits until rates can be had of everybody, and rules were evaluated.
fn settle(trial: &Trial<'_>, prometheus: &Prometheus) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    let all = SERVICES.len();
    while prometheus.query("rate(process_cpu_seconds_total[1m])")?.len() < all
        || prometheus.query("job:drover_errors:ratio6h")?.len() < all
    {
        ensure!(
            Instant::now() < until,
            "Prometheus has not asked all services: {:?}",
            prometheus.query("up")?
        );
        trial.pause(Duration::from_millis(250))?;
    }
    Ok(())
}

/// What an expression asks for in vain.
fn missing(prometheus: &Prometheus, expression: &str) -> Result<Vec<String>> {
    let asked = expressions::read(expression);
    let empty =
        |selector: &str| Ok::<_, anyhow::Error>(prometheus.query(&format!("count({selector})"))?.is_empty());
    let mut missing = Vec::new();
    for selector in &asked.selectors {
        // `absent` asks for what should be there as well.
        for one in expressions::alternatives(selector) {
            if empty(&one)? {
                missing.push(one);
            }
        }
    }
    for label in &asked.labels {
        let mut is_known = false;
        for selector in &asked.selectors {
            let (name, matchers) = selector.split_once('{').unwrap_or((selector, "}"));
            is_known |= !empty(&format!("{name}{{{label}!=\"\",{matchers}"))?;
        }
        if !is_known {
            missing.push(format!("label {label}"));
        }
    }
    Ok(missing)
}

/// Every rule is well, asks for what is there, is tested and has a section in the operations page.
fn alerts(trial: &Trial<'_>, prometheus: &Prometheus, tests: &str) -> Result<()> {
    let page = fs::read_to_string(workspace::root().join("docs/operations.md")).ok();
    let (rules, mut wrong) = (prometheus.rules()?, Vec::new());
    for rule in &rules {
        let text = |name: &str| rule[name].as_str().unwrap_or_default();
        let (name, query) = (text("name"), text("query"));
        if text("health") != "ok" {
            wrong.push(format!("{name} is {}: {}", text("health"), text("lastError")));
        }
        wrong.extend(
            missing(prometheus, query)?.into_iter().map(|missing| format!("{name}: nothing is {missing}")),
        );
        if rule["type"] != "alerting" {
            continue;
        }
        let anchor = rule["annotations"]["runbook"]
            .as_str()
            .and_then(|runbook| runbook.strip_prefix("docs/operations.md#"));
        let well = anchor == Some(&name.to_lowercase())
            && rule["annotations"]["summary"].is_string()
            && matches!(rule["labels"]["severity"].as_str(), Some("critical" | "warning"));
        if !well || !tests.contains(&format!("alertname=\"{name}\"")) {
            wrong.push(format!("{name} has no severity, summary, runbook of its name or test"));
        }
        let heading = |line: &str| line.starts_with('#') && line.trim_start_matches('#').trim() == name;
        if page.as_ref().is_some_and(|page| !page.lines().any(heading)) {
            wrong.push(format!("docs/operations.md has no section {name}"));
        }
    }
    ensure!(wrong.is_empty(), "alerts.yml:\n{}", wrong.join("\n"));
    trial.expect(
        rules.len() > 10,
        "dashboards: rules",
        rules.len().to_string(),
        "evaluated, each selector with series",
    )
}

/// Every panel shows something.
fn dashboard(trial: &Trial<'_>, prometheus: &Prometheus, dashboard: &Value) -> Result<()> {
    let (mut wrong, mut count) = (Vec::new(), 0);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for panel in list(&dashboard["panels"]) {
        let title = panel["title"].as_str().unwrap_or_default();
        for target in list(&panel["targets"]) {
            let Some(expression) = target["expr"].as_str() else {
                bail!("{title} has a target without expression")
            };
            let expression = filled(expression);
            count += 1;
            wrong.extend(
                missing(prometheus, &expression)?.into_iter().map(|m| format!("{title}: nothing is {m}")),
            );
            match prometheus.query(&expression) {
                Ok(series) if series.is_empty() => wrong.push(format!("{title}: {expression} is empty")),
                Ok(_) => {}
                Err(error) => wrong.push(format!("{title}: {expression}: {error}")),
            }
        }
    }
    for variable in
        list(&dashboard["templating"]["list"]).iter().filter_map(|variable| variable["definition"].as_str())
    {
        let asked = variable.trim_start_matches("label_values(").trim_end_matches(')');
        let (selector, label) =
            asked.rsplit_once(", ").with_context(|| format!("{variable} names no label"))?;
        let expression = filled(&format!("count by ({label}) ({selector})"));
        wrong.extend(
            missing(prometheus, &expression)?.into_iter().map(|m| format!("{variable}: nothing is {m}")),
        );
    }
    ensure!(wrong.is_empty(), "grafana-dashboard.json:\n{}", wrong.join("\n"));
    trial.expect(count > 30, "dashboards: expressions of panels", count.to_string(), "each with series")
}

/// An expression as Grafana sends it with everything chosen.
fn filled(expression: &str) -> String {
    let all = ["$service", "$instance", "$operation"]
        .iter()
        .fold(expression.to_owned(), |text, name| text.replace(name, ".*"));
    all.replace("$__rate_interval", "1m")
}
