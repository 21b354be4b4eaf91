//! Which statements ask one part of a table and which all: the plans that `auto_explain` logs at the coordinator.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};

use super::cluster::Services;
use super::measure;
use super::operations::{Operation, Work};
use crate::environment::BenchEnvironment;
use crate::report::PlanRow;

/// Makes sessions that begin afterwards log the plan of each statement.
const EXPLAIN: &str = "ALTER DATABASE drover SET session_preload_libraries = 'auto_explain'; \
    ALTER DATABASE drover SET auto_explain.log_min_duration = 0";
/// Seconds of each operation.
const SECONDS: u64 = 2;

/// Runs all operations once more and reports the plans of their statements.
pub fn report(env: &BenchEnvironment, services: &mut Services, operations: &[Operation]) -> Result<()> {
    services.cluster.execute(EXPLAIN)?;
    services.restart(env)?;
    for operation in operations {
        env.stop.check()?;
        if matches!(operation.work, Work::Batch(_)) {
            continue; // COPY has no plan
        }
        let log = services.cluster.coordinator.server.log_file();
        let start = fs::metadata(&log).context("the coordinator has a log")?.len();
        let (requests, ..) = measure::perform(services, operation, SECONDS)?;
        let text = fs::read(&log).context("the coordinator has a log")?;
        let text = String::from_utf8_lossy(&text[usize::try_from(start)?..]).into_owned();
        // Statements of fewer requests are those of background workers.
        let rows = plans(&text).into_iter().filter(|(_, count)| f64::from(*count) >= requests / 4.0);
        env.report.borrow_mut().plans.extend(rows.map(|((statement, parts), _)| PlanRow {
            operation: operation.name,
            statement,
            parts,
        }));
    }
    Ok(())
}

/// Counts the statements in a log by their kind and the number of parts that each scan of their plan asks.
fn plans(log: &str) -> BTreeMap<(String, String), u32> {
    let mut counts = BTreeMap::new();
    for plan in log.split(" plan:\n").skip(1).filter_map(plan) {
        *counts.entry(plan).or_default() += 1;
    }
    counts
}

/// Returns the kind of statement and the parts of a plan. `None` if it reads no table of a service.
fn plan(text: &str) -> Option<(String, String)> {
    let mut lines = text.lines().map(str::trim_start).take_while(|line| !line.contains(" LOG: "));
    let query = lines.next()?.strip_prefix("Query Text: ")?.replace('"', "");
    let mut words = query.split_whitespace();
    let verb = words.next().filter(|verb| *verb != "EXPLAIN")?;
    // An UPDATE has its table behind the verb.
    let mut words = std::iter::once(verb).chain(words);
    let table = loop {
        words.find(|word| ["FROM", "INTO", "UPDATE"].contains(word))?;
        // A query in parentheses has a table of its own.
        let name = words.next()?;
        if name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.starts_with("pg_") {
            break name.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        }
    };
    let parts: Vec<_> = lines.filter_map(|line| line.strip_prefix("Task Count: ")).collect();
    let parts = if parts.is_empty() { "coordinator".to_owned() } else { parts.join(" + ") };
    Some((format!("{verb} {table}"), parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_have_their_parts() {
        let log = "1 LOG:  starting\n\
            1 LOG:  duration: 3 ms  plan:\n\tQuery Text: SELECT \"l\".\"id\" FROM (SELECT * FROM \"loads\") AS l\n\
            \tSort\n\t  ->  Custom Scan (Citus Adaptive)\n\t        Task Count: 32\n\t        Tasks Shown: One of 32\n\
            2 LOG:  duration: 3 ms  plan:\n\tQuery Text: UPDATE loads SET a = $1\n\
            \tCustom Scan (Citus Adaptive)\n\t  Task Count: 1\n\
            1 LOG:  duration: 1 ms  plan:\n\tQuery Text: SELECT 1 FROM webhooks\n\tSeq Scan on webhooks\n\
            1 LOG:  duration: 1 ms  plan:\n\tQuery Text: SELECT 1 FROM pg_class\n\tResult\n";
        let expected = [("SELECT loads", "32"), ("SELECT webhooks", "coordinator"), ("UPDATE loads", "1")];
        let expected = expected.map(|(statement, parts)| ((statement.to_owned(), parts.to_owned()), 1));
        assert_eq!(plans(log), BTreeMap::from(expected));
    }
}
