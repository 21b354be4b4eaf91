//! The panels and variables of deploy/observability/grafana-dashboard.json.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use testkit::processes::trial::Trial;

use super::{Prometheus, missing_series, read};

/// Checks that each expression of a panel, and each variable, selects existing series.
pub fn check(trial: &Trial<'_>, prometheus: &Prometheus) -> Result<()> {
    let dashboard: Value = serde_json::from_str(&read("grafana-dashboard.json")?)?;
    let (panels, variables) = (panels(&dashboard)?, variables(&dashboard)?);
    let all: Vec<_> = panels.iter().chain(&variables).collect();
    let expressions: Vec<_> = all.iter().map(|(_, expression)| expression.as_str()).collect();
    let mut problems = Vec::new();
    for ((title, expression), missing) in all.iter().zip(missing_series(prometheus, &expressions)?) {
        problems.extend(missing.into_iter().map(|missing| format!("{title}: there is no {missing}")));
        match prometheus.query(expression) {
            Ok(series) if series.is_empty() => problems.push(format!("{title}: {expression} is empty")),
            Ok(_) => {}
            Err(error) => problems.push(format!("{title}: {expression}: {error}")),
        }
    }
    ensure!(problems.is_empty(), "grafana-dashboard.json:\n{}", problems.join("\n"));
    ensure!(variables.len() > 2, "grafana-dashboard.json: variables are missing");
    let count = panels.len();
    trial.expect(count > 30, "dashboards: expressions of panels", count.to_string(), "each has series")
}

/// Title and expression of each target.
fn panels(dashboard: &Value) -> Result<Vec<(String, String)>> {
    let mut expressions = Vec::new();
    for panel in dashboard["panels"].as_array().into_iter().flatten() {
        let title = panel["title"].as_str().unwrap_or_default();
        for target in panel["targets"].as_array().into_iter().flatten() {
            let expression = target["expr"]
                .as_str()
                .with_context(|| format!("{title} has a target without expression"))?;
            expressions.push((title.to_owned(), substitute(expression)));
        }
    }
    Ok(expressions)
}

/// Each variable with an expression for the same series and label. `label_values(SELECTOR, LABEL)` is a function of
/// Grafana.
fn variables(dashboard: &Value) -> Result<Vec<(String, String)>> {
    let variables = dashboard["templating"]["list"].as_array().into_iter().flatten();
    let definitions = variables.filter_map(|variable| variable["definition"].as_str());
    let expressions = definitions.map(|definition| {
        let arguments = definition.strip_prefix("label_values(").and_then(|rest| rest.strip_suffix(')'));
        let (selector, label) =
            arguments.and_then(|arguments| arguments.rsplit_once(", ")).with_context(|| {
                format!("grafana-dashboard.json: {definition} is not label_values(SELECTOR, LABEL)")
            })?;
        Ok((definition.to_owned(), substitute(&format!("count by ({label}) ({selector})"))))
    });
    expressions.collect()
}

/// Replaces Grafana's variables as with "All" selected.
fn substitute(expression: &str) -> String {
    let variables = ["$service", "$instance", "$operation"];
    let text = variables.iter().fold(expression.to_owned(), |text, name| text.replace(name, ".*"));
    text.replace("$__rate_interval", "1m")
}
