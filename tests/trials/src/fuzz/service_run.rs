//! A run of schemathesis against one service.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use stack::process;
use stack::service::ServiceProcess;
use stack::trial::Trial;

use super::schemathesis;

/// Timeout of a run.
const RUN_TIMEOUT: Duration = Duration::from_secs(1200);
/// Generated requests of each operation, in addition to those of its examples: long and short form.
const MAX_EXAMPLES: [&str; 2] = ["60", "2"];
/// Operations that the short form skips. Other operations run the same code.
const SKIPPED_OPERATIONS: &str = "_public$|^create_(feed|bedding|working_dog)_listing$";
/// Maximum lines of the output that are printed after a failure.
const MAX_PRINTED_LINES: usize = 150;

/// A service and the requests that it receives.
pub struct ServiceRun<'a> {
    pub trial: &'a Trial<'a>,
    pub service: &'a ServiceProcess,
    pub token: &'a str,
    /// JSON of a successful request for some of the operations.
    pub examples: String,
    /// Folder of the reports. Each service has a folder in it.
    pub reports: &'a Path,
}

impl ServiceRun<'_> {
    /// Runs schemathesis and returns its summary.
    ///
    /// # Errors
    /// A response is not as documented, an operation never succeeded, or the run exceeded its timeout.
    pub fn run(&self) -> Result<String> {
        let name = self.service.name;
        let report = self.reports.join(name);
        let folder = report.display();
        let advice = || format!("cannot write to {folder}: make it writable");
        if report.exists() {
            fs::remove_dir_all(&report).with_context(advice)?;
        }
        fs::create_dir_all(&report).with_context(advice)?;
        let log = report.join("output.txt");
        let stdout = File::create(&log).with_context(advice)?;
        let stderr = stdout.try_clone().with_context(advice)?;
        let mut command = self.command()?;
        command.current_dir(&report).stdout(stdout).stderr(stderr);

        let begun = Instant::now();
        let check = || {
            let limit = RUN_TIMEOUT.as_secs();
            ensure!(begun.elapsed() < RUN_TIMEOUT, "{name}: timeout of {limit} s, see {folder}");
            Ok(())
        };
        let status = process::run_while(&mut command, self.trial.stop, check)?;
        let output = fs::read_to_string(&log).with_context(|| format!("cannot read {}", log.display()))?;
        let summary =
            output.lines().skip_while(|line| *line != "Test cases:").nth(1).unwrap_or_default().trim();
        if status.success() && !summary.is_empty() {
            let failed = operations_without_success(&report.join("schemathesis-report"))?;
            ensure!(
                failed.is_empty(),
                "{name}: no request succeeded for {}: see {folder} and add examples to fuzz/examples.rs",
                failed.join(", ")
            );
            return Ok(summary.to_owned());
        }
        let start = output.find("= FAILURES =").or(output.find("= ERRORS =")).unwrap_or_default();
        for line in output[start..].lines().filter(|line| !line.trim().is_empty()).take(MAX_PRINTED_LINES) {
            eprintln!("  {name}: {line}");
        }
        let (short, seed) = (if self.trial.short { " --short" } else { "" }, self.trial.seed);
        bail!(
            "{name}: responses differ from the OpenAPI document (see above; the whole report is in {folder}). \
             Repeat with `cargo xtask trials fuzz{short} --seed {seed}`"
        );
    }

    fn command(&self) -> Result<Command> {
        let short = self.trial.short;
        let mut command = schemathesis::command()?;
        command.arg("run").arg(self.service.url("/openapi.json"));
        command.args(["--no-color", "--generation-database", "none", "--continue-on-failure"]);
        command.args(["--request-timeout", "30", "--report", "ndjson"]);
        command.args(["--seed", &self.trial.seed.to_string()]);
        command.args(["--max-examples", MAX_EXAMPLES[usize::from(short)]]);
        if short {
            command.args(["--no-shrink", "--exclude-operation-id-regex", SKIPPED_OPERATIONS]);
        }
        command.env("DROVER_FUZZ_TOKEN", self.token).env("DROVER_FUZZ_EXAMPLES", &self.examples);
        Ok(command)
    }
}

/// Returns the operations of a report (`GET /path`) that returned no 2xx status.
fn operations_without_success(report: &Path) -> Result<Vec<String>> {
    let mut operations = BTreeMap::<_, bool>::new();
    for entry in fs::read_dir(report).context("schemathesis wrote no report")? {
        for line in BufReader::new(File::open(entry?.path())?).lines() {
            let event: Value = serde_json::from_str(&line?)?;
            let recorder = &event["ScenarioFinished"]["recorder"];
            let Some(label) = recorder["label"].as_str().filter(|label| label.contains(" /")) else {
                continue;
            };
            let interactions = recorder["interactions"].as_object().into_iter().flatten();
            let mut statuses =
                interactions.filter_map(|(_, interaction)| interaction["response"]["status_code"].as_u64());
            let succeeded = statuses.any(|status| (200..300).contains(&status));
            *operations.entry(label.to_owned()).or_default() |= succeeded;
        }
    }
    ensure!(!operations.is_empty(), "the report of schemathesis names no operation");
    Ok(operations.into_iter().filter(|(_, succeeded)| !succeeded).map(|(label, _)| label).collect())
}
