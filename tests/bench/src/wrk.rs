//! The load generator wrk with the script `wrk.lua`. It uses little CPU beside the services that it loads.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::measurement::Measurement;
use testkit::processes::{checkout, tools};

/// A file of requests for `wrk.lua`.
#[derive(Debug)]
pub struct Requests(PathBuf);

impl Requests {
    /// Writes headers of all requests, and requests: method, path, token and body of each.
    pub fn write<'a>(
        file: PathBuf,
        headers: &[(&str, &str)],
        requests: impl IntoIterator<Item = (&'a str, &'a str, &'a str, String)>,
    ) -> Result<Self> {
        let mut text = String::new();
        for (name, value) in headers {
            writeln!(text, "H\t{name}\t{value}")?;
        }
        let mut last_token = "";
        for (method, path, token, body) in requests {
            if token != last_token {
                writeln!(text, "H\tAuthorization\tBearer {token}")?;
                last_token = token;
            }
            writeln!(text, "R\t{method}\t{path}\t{body}")?;
        }
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(Self(file))
    }

    /// Writes GET requests with a token and further headers.
    pub fn get(file: PathBuf, token: &str, headers: &[(&str, &str)], paths: &[String]) -> Result<Self> {
        Self::write(file, headers, paths.iter().map(|path| ("GET", path.as_str(), token, String::new())))
    }

    /// Writes POST requests to a path, each with its token and JSON body.
    pub fn post(file: PathBuf, path: &str, requests: &[(String, Value)]) -> Result<Self> {
        let requests = requests.iter().map(|(token, body)| ("POST", path, token.as_str(), body.to_string()));
        Self::write(file, &[("Content-Type", "application/json")], requests)
    }

    /// Sends the requests in turn to a base URL, from `clients` connections, for `seconds` seconds.
    ///
    /// # Errors
    /// A request failed, or its response has an error status.
    pub fn send(&self, url: &str, clients: usize, seconds: u64) -> Result<Measurement> {
        let script = checkout::root().join("tests/bench/src/wrk.lua");
        let output = Command::new(tools::find("wrk")?)
            .args(["-t1", &format!("-c{clients}"), &format!("-d{seconds}s"), "--timeout", "60s", "-s"])
            .args([script.as_path(), Path::new(url), Path::new("--"), &self.0])
            .output()
            .context("cannot run wrk")?;
        parse(&String::from_utf8_lossy(&output.stdout))
            .with_context(|| format!("wrk: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// Parses the output of `wrk.lua`.
fn parse(output: &str) -> Result<Measurement> {
    let line = output.lines().find(|line| line.starts_with('{')).context("no JSON in its output")?;
    let json: Value = serde_json::from_str(line).context("invalid JSON in its output")?;
    let (requests, status_errors, socket_errors) =
        (&json["requests"], &json["status_errors"], &json["socket_errors"]);
    ensure!(
        *status_errors == 0 && *socket_errors == 0,
        "{status_errors} of {requests} responses have an error status; {socket_errors} requests failed"
    );
    ensure!(*requests != 0, "no response within this time: increase --seconds");
    Ok(serde_json::from_value(json)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_statuses_and_missing_responses_are_errors() {
        let output = |requests, status, socket| {
            format!(
                "Running 1s test\n  2 requests in 1.00s\n{{\"requests\":{requests},\"us\":1000000,\"p50\":100,\
                 \"p99\":900,\"p999\":950,\"status_errors\":{status},\"socket_errors\":{socket}}}\n"
            )
        };
        let run = parse(&output(2000, 0, 0)).unwrap();
        assert_eq!((run.requests, run.us, run.p99, run.cpu), (2000.0, 1e6, 900.0, None));
        let message = parse(&output(9, 3, 1)).unwrap_err().to_string();
        assert_eq!(message, "3 of 9 responses have an error status; 1 requests failed");
        assert!(parse(&output(9, 0, 1)).is_err() && parse("Running").is_err());
        assert!(parse(&output(0, 0, 0)).unwrap_err().to_string().contains("--seconds"));
    }

    #[test]
    fn writes_headers_and_then_requests() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["/a".to_owned(), "/b?c=d".to_owned()];
        let requests =
            Requests::get(folder.path().join("r"), "t", &[("Accept-Encoding", "gzip")], &paths).unwrap();
        let text = "H\tAccept-Encoding\tgzip\nH\tAuthorization\tBearer t\nR\tGET\t/a\t\nR\tGET\t/b?c=d\t\n";
        assert_eq!(fs::read_to_string(requests.0).unwrap(), text);
    }
}
