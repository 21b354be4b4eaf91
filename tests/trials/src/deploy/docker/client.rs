//! Requests without a pause through the proxy, and how they ended.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use stack::trial::Trial;

use super::project::Project;

/// Requests of each process per second.
const RATE: &str = "40/s";

/// One curl process for each kind of request. Dropped, they end.
#[derive(Debug)]
pub struct Client(Vec<(Child, PathBuf)>);

/// How the requests ended.
#[derive(Debug, Default)]
pub struct Counts {
    /// Number of responses below 500.
    pub answered: usize,
    /// Status, or 000 without a response, with time and kind of request, and number.
    pub lost: BTreeMap<String, usize>,
    /// The longest time until a response was complete.
    pub slowest: Duration,
}

impl Client {
    /// Starts the requests: reads of each service, and POST, which the proxy never repeats. The POST is refused as
    /// invalid.
    pub fn start(trial: &Trial<'_>, project: &Project<'_>) -> Result<Self> {
        let token = format!("Authorization: Bearer {}", project.token()?);
        let kinds: [(&str, &[&str]); 4] = [
            ("/system/v1/countries?limit=1&n=[1-1000000]", &[]),
            ("/logistics/v1/loads?limit=1&cursor=&n=[1-1000000]", &["--header", &token]),
            ("/livestock/healthz?n=[1-1000000]", &[]),
            ("/logistics/v1/loads?n=[1-1000000]", &["--header", &token, "--json", "{}"]),
        ];
        let mut client = Self(Vec::new());
        for (number, (path, options)) in kinds.into_iter().enumerate() {
            let file = trial.path(&format!("requests-{number}"));
            let mut curl = Command::new("curl");
            curl.args(["-q", "--silent", "--max-time", "30", "--rate", RATE, "--output", "/dev/null"]);
            curl.args(["--write-out", "%{http_code} %{time_total} %{errormsg}\n", "--cacert"]);
            curl.arg(project.certificate()).args(options).arg(format!("{}{path}", project.base()));
            let child = curl.stdout(File::create(&file)?).spawn().context("cannot run curl")?;
            client.0.push((child, file));
        }
        Ok(client)
    }

    /// Ends the requests and counts them.
    pub fn stop(mut self) -> Result<Counts> {
        let mut counts = Counts::default();
        for (child, file) in &mut self.0 {
            child.kill()?;
            child.wait()?;
            let text = fs::read_to_string(&*file)?;
            ensure!(text.lines().count() > 50, "curl sent {} requests only", text.lines().count());
            // curl was killed while it wrote the last line.
            let complete = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
            for line in complete.lines() {
                let mut words = line.split(' ');
                let status = words.next().unwrap_or_default();
                let seconds = words.next().and_then(|seconds| seconds.parse().ok()).unwrap_or_default();
                counts.slowest = counts.slowest.max(Duration::from_secs_f64(seconds));
                if matches!(status.parse(), Ok(100..500u16)) {
                    counts.answered += 1;
                } else {
                    *counts.lost.entry(format!("{line}({})", file.display())).or_default() += 1;
                }
            }
        }
        Ok(counts)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        for (child, _) in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
