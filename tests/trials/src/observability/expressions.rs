//! Whether the series exist that an expression selects. To Prometheus a selector without series is no error; on a
//! dashboard it is an empty panel, and in an alert it is an alert that never fires.

use std::io::Seek;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::prometheus::Prometheus;
use crate::command::output;
use stack::trial::Trial;
use stack::{checkout, tools};

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
pub fn missing(prometheus: &Prometheus, expressions: &[&str]) -> Result<Vec<Vec<String>>> {
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

/// Checks that [`missing`] finds mistakes.
pub fn check_detection(trial: &Trial<'_>, prometheus: &Prometheus) -> Result<()> {
    for (expression, missing) in WRONG.iter().zip(missing(prometheus, &WRONG)?) {
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
