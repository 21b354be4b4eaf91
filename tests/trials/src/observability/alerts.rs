//! The rules of deploy/observability/alerts.yml.

use std::fs;

use anyhow::{Result, ensure};
use serde_json::Value;
use testkit::processes::checkout;
use testkit::processes::trial::Trial;

use super::{Prometheus, missing_series, read};

/// Checks that each rule is evaluated and selects existing series, and that each alert is documented and tested.
pub fn check(trial: &Trial<'_>, prometheus: &Prometheus) -> Result<()> {
    let tests = read("alerts.test.yml")?;
    let page = fs::read_to_string(checkout::root().join(PAGE)).unwrap_or_default();
    let rules = prometheus.rules()?;
    let queries: Vec<_> = rules.iter().map(|rule| text(rule, "query")).collect();
    let mut problems = Vec::new();
    for (rule, missing) in rules.iter().zip(missing_series(prometheus, &queries)?) {
        let name = text(rule, "name");
        if text(rule, "health") != "ok" {
            problems.push(format!("{name} is {}: {}", text(rule, "health"), text(rule, "lastError")));
        }
        problems.extend(missing.into_iter().map(|missing| format!("{name}: there is no {missing}")));
        if rule["type"] == "alerting" {
            let found = documentation(rule, &page, &tests);
            problems.extend(found.into_iter().map(|problem| format!("{name}: {problem}")));
        }
    }
    ensure!(problems.is_empty(), "alerts.yml:\n{}", problems.join("\n"));
    let count = rules.len();
    trial.expect(
        count > 10,
        "dashboards: rules",
        count.to_string(),
        "all evaluated, each selector has series",
    )
}

/// The page that tells operators what to do.
const PAGE: &str = "docs/operations/runbooks.md";

/// An alert has a severity, a summary, a section of its name in the operators' page, and a test.
fn documentation(rule: &Value, page: &str, tests: &str) -> Vec<String> {
    let name = text(rule, "name");
    let runbook = format!("{PAGE}#{}", name.to_lowercase());
    let is_heading = |line: &str| line.starts_with('#') && line.trim_start_matches('#').trim() == name;
    let severity = rule["labels"]["severity"].as_str();
    let conditions = [
        (matches!(severity, Some("critical" | "warning")), "severity must be critical or warning".to_owned()),
        (rule["annotations"]["summary"].is_string(), "annotations must have a summary".to_owned()),
        (rule["annotations"]["runbook"] == *runbook, format!("runbook must be {runbook}")),
        (page.lines().any(is_heading), format!("{PAGE} has no section {name}")),
        (tests.contains(&format!("alertname=\"{name}\"")), "alerts.test.yml does not test it".to_owned()),
    ];
    conditions.into_iter().filter(|(holds, _)| !holds).map(|(_, problem)| problem).collect()
}

fn text<'a>(rule: &'a Value, member: &str) -> &'a str {
    rule[member].as_str().unwrap_or_default()
}
