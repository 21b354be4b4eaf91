//! The load generator: wrk, light enough to share two cores with what it measures, and its script `wrk.lua`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::sample::Sample;
use crate::servers::Package;
use crate::workspace;

/// What brings it.
pub const PACKAGE: Package = Package {
    name: "wrk",
    by_hand: "wrk, the load generator: `sudo apt-get install wrk`, `brew install wrk`, or put it on PATH",
    prepare: || Ok(()),
};

/// Requests in a file, as the script reads them.
#[derive(Debug)]
pub struct Requests {
    file: PathBuf,
}

impl Requests {
    /// Each path once, for the bearer of this token.
    pub fn get(file: PathBuf, token: &str, paths: &[String]) -> Result<Self> {
        Self::get_with(file, token, &[], paths)
    }

    /// As [`Requests::get`], with these headers too.
    pub fn get_with(file: PathBuf, token: &str, headers: &[(&str, &str)], paths: &[String]) -> Result<Self> {
        let bearer = format!("Bearer {token}");
        let headers = [&[("Authorization", bearer.as_str())], headers].concat();
        Self::write(file, &headers, "GET", paths.iter().map(|p| (p, None)))
    }

    /// Each path with these headers and the file that is its body.
    pub fn write<'a>(
        file: PathBuf,
        headers: &[(&str, &str)],
        method: &str,
        requests: impl Iterator<Item = (&'a String, Option<PathBuf>)>,
    ) -> Result<Self> {
        let mut text = String::new();
        for (name, value) in headers {
            writeln!(text, "H\t{name}\t{value}")?;
        }
        for (path, body) in requests {
            let body = body.map(|body| body.display().to_string()).unwrap_or_default();
            writeln!(text, "R\t{method}\t{path}\t{body}")?;
        }
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(Self { file })
    }

    /// Sends them to this address from so many connections for so many seconds. An answer that is none, or an error,
    /// is a failure.
    pub fn send(&self, url: &str, clients: usize, seconds: u64) -> Result<Sample> {
        let script = workspace::root().join("crates/xtask/src/bench/wrk.lua");
        let output = Command::new("wrk")
            .args(["-t1", &format!("-c{clients}"), &format!("-d{seconds}s"), "--timeout", "60s", "-s"])
            .args([script.as_path(), Path::new(url), Path::new("--"), &self.file])
            .output()
            .context("cannot run wrk")?;
        parse(&String::from_utf8_lossy(&output.stdout))
            .with_context(|| format!("wrk: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

fn parse(output: &str) -> Result<Sample> {
    let line = output.lines().find(|line| line.starts_with('{')).context("it said nothing")?;
    let said: Value = serde_json::from_str(line).context("its script said no JSON")?;
    let (refused, broken) = (&said["refused"], &said["broken"]);
    if *refused != 0 || *broken != 0 {
        bail!(
            "of {} requests {refused} were answered with an error and {broken} not at all",
            said["requests"]
        );
    }
    if said["requests"] == 0 {
        bail!("nothing was answered in this time: give it more with --seconds");
    }
    Sample::read(&said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wrk_says_is_read() {
        let said = "Running 1s test\n  2 requests in 1.00s\n\
                    {\"requests\":2000,\"us\":1000000,\"p50\":100,\"p99\":900,\"refused\":0,\"broken\":0}\n";
        let sample = parse(said).unwrap();
        assert_eq!(format!("{:.0} {:.0} {:.0}", sample.rate(), sample.p50, sample.p99), "2000 100 900");
    }

    #[test]
    fn refusals_and_silence_are_failures() {
        let said = "{\"requests\":9,\"us\":1,\"p50\":1,\"p99\":1,\"refused\":3,\"broken\":1}";
        let message = parse(said).unwrap_err().to_string();
        assert!(message.contains("of 9 requests 3 were answered with an error and 1 not"), "{message}");
        assert!(parse("Running").is_err());
        let nothing = "{\"requests\":0,\"us\":1,\"p50\":0,\"p99\":0,\"refused\":0,\"broken\":0}";
        assert!(parse(nothing).unwrap_err().to_string().contains("--seconds"));
    }

    #[test]
    fn requests_are_lines_with_their_headers_first() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["/a".to_owned(), "/b?c=d".to_owned()];
        let requests = Requests::get(folder.path().join("r"), "t", &paths).unwrap();
        let text = fs::read_to_string(&requests.file).unwrap();
        assert_eq!(text, "H\tAuthorization\tBearer t\nR\tGET\t/a\t\nR\tGET\t/b?c=d\t\n");
        let headers = [("Accept-Encoding", "gzip")];
        let requests = Requests::get_with(folder.path().join("s"), "t", &headers, &paths[..1]).unwrap();
        let text = fs::read_to_string(&requests.file).unwrap();
        assert_eq!(text, "H\tAuthorization\tBearer t\nH\tAccept-Encoding\tgzip\nR\tGET\t/a\t\n");
    }
}
