//! One run of schemathesis against one service.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::install;
use crate::process;
use crate::service::Service;
use crate::stop::Stop;

/// Far more than it takes: what hangs ends here.
const LONGEST: Duration = Duration::from_secs(1200);
/// Requests drawn for each operation, beside those that its document gives by itself.
const DRAWN: [&str; 2] = ["60", "2"];
/// Operations that the short form leaves out: others run the same code.
const LIKE_OTHERS: &str = "_public$|^create_(feed|bedding|working_dog)_listing$";
/// So much of what went wrong is printed; the report has it all.
const LINES: usize = 150;

/// What is asked, of whom.
pub struct Asking<'a> {
    pub short: bool,
    /// What all that is drawn begins with.
    pub seed: u64,
    pub stop: &'a Stop,
    /// The folder of schemathesis.
    pub program: &'a Path,
    pub service: &'a Service,
    pub token: &'a str,
    /// Requests that succeed, by operation, as JSON.
    pub known: &'a str,
    /// The folder of what comes of it, of this service alone.
    pub folder: &'a Path,
}

impl Asking<'_> {
    /// Asks, and tells how much; an answer that is not as documented is an error.
    pub fn run(&self) -> Result<String> {
        let (name, folder) = (self.service.name, self.folder.display());
        let denied = || format!("cannot write to {folder}: make it writable");
        if self.folder.exists() {
            fs::remove_dir_all(self.folder).with_context(denied)?;
        }
        fs::create_dir_all(self.folder).with_context(denied)?;
        let said = self.folder.join("said.txt");
        let output = File::create(&said).with_context(denied)?;
        let mut python = install::python(self.program);
        python
            .args(["-m", "schemathesis.cli", "--config-file"])
            .arg(install::own().join("schemathesis.toml"));
        python.arg("run").arg(self.service.url("/openapi.json")).args([
            "--no-color",
            "--generation-database",
            "none",
        ]);
        python.args(["--seed", &self.seed.to_string(), "--max-examples", DRAWN[usize::from(self.short)]]);
        python.args(["--continue-on-failure", "--request-timeout", "30", "--report", "ndjson"]);
        if self.short {
            python.args(["--no-shrink", "--exclude-operation-id-regex", LIKE_OTHERS]);
        }
        python
            .env("SCHEMATHESIS_HOOKS", install::own().join("rules.py"))
            .env("DROVER_FUZZ_TOKEN", self.token)
            .env("DROVER_FUZZ_KNOWN", self.known)
            .current_dir(self.folder)
            .stdout(output.try_clone()?)
            .stderr(output);
        let begun = Instant::now();
        let limit = || {
            if begun.elapsed() > LONGEST {
                bail!("{name}: not done after {} s, see {folder}", LONGEST.as_secs())
            }
            Ok(())
        };
        let status = process::run_while(&mut python, self.stop, limit)?;
        let said = fs::read_to_string(said).with_context(denied)?;
        let cases = said.lines().skip_while(|line| *line != "Test cases:").nth(1).unwrap_or_default().trim();
        if status.success() && !cases.is_empty() {
            let never = never_done(&self.folder.join("schemathesis-report"))?;
            if !never.is_empty() {
                bail!("{name}: no request to {} succeeded: see {folder}, and sample.rs", never.join(", "));
            }
            return Ok(cases.to_owned());
        }
        let from = said.find("= FAILURES =").or(said.find("= ERRORS =")).unwrap_or_default();
        for line in said[from..].lines().filter(|line| !line.trim().is_empty()).take(LINES) {
            eprintln!("  {name}: {line}");
        }
        let (short, seed) = (if self.short { " --short" } else { "" }, self.seed);
        bail!(
            "{name} does not answer as its document says (above; all of it in {folder}); the same again: \
             `cargo xtask fuzz{short} --seed {seed}`"
        );
    }
}

/// The operations, as `GET /path`, no request to which was answered with success.
fn never_done(folder: &Path) -> Result<Vec<String>> {
    let mut done = BTreeMap::<_, bool>::new();
    for entry in fs::read_dir(folder).context("schemathesis left no report")? {
        for line in BufReader::new(File::open(entry?.path())?).lines() {
            let event: Value = serde_json::from_str(&line?)?;
            let asked = &event["ScenarioFinished"]["recorder"];
            let Some(label) = asked["label"].as_str().filter(|label| label.contains(" /")) else { continue };
            let answers = asked["interactions"].as_object().into_iter().flatten();
            let mut statuses = answers.filter_map(|(_, one)| one["response"]["status_code"].as_u64());
            *done.entry(label.to_owned()).or_default() |= statuses.any(|status| (200..300).contains(&status));
        }
    }
    ensure!(!done.is_empty(), "the report of schemathesis names no operation");
    Ok(done.into_iter().filter(|(_, done)| !done).map(|(label, _)| label).collect())
}
