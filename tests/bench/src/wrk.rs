//! The load generator wrk with the script `wrk.lua`. It uses little CPU beside the services that it loads.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use testkit::processes::{checkout, tools};

use crate::measurement::Measurement;

/// A file of requests for `wrk.lua`.
#[derive(Debug)]
pub struct Requests {
    file: PathBuf,
}

impl Requests {
    /// Writes GET requests with a token and further headers.
    pub fn get(file: PathBuf, token: &str, headers: &[(&str, &str)], paths: &[String]) -> Result<Self> {
        let bearer = format!("Bearer {token}");
        let headers = [&[("Authorization", bearer.as_str())], headers].concat();
        Self::write(file, &headers, "GET", paths.iter().map(|path| (path.as_str(), None)))
    }

    /// Writes requests. Each consists of a path and the file of its body.
    pub fn write<'a>(
        file: PathBuf,
        headers: &[(&str, &str)],
        method: &str,
        requests: impl IntoIterator<Item = (&'a str, Option<PathBuf>)>,
    ) -> Result<Self> {
        let mut text = String::new();
        for (name, value) in headers {
            writeln!(text, "H\t{name}\t{value}")?;
        }
        for (path, body) in requests {
            let body = body.map(|body| body.display().to_string()).unwrap_or_default();
            writeln!(text, "R\t{method}\t{path}\t{body}")?;
        }
        Self::store(file, &text)
    }

    /// Writes POST requests to a path, each with its token and the file of its JSON body.
    pub fn post(file: PathBuf, path: &str, requests: &[(String, PathBuf)]) -> Result<Self> {
        let mut text = "H\tContent-Type\tapplication/json\n".to_owned();
        for (token, body) in requests {
            writeln!(text, "H\tAuthorization\tBearer {token}")?;
            writeln!(text, "R\tPOST\t{path}\t{}", body.display())?;
        }
        Self::store(file, &text)
    }

    fn store(file: PathBuf, text: &str) -> Result<Self> {
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(Self { file })
    }

    /// Sends the requests in turn to a base URL, from `clients` connections, for `seconds` seconds.
    ///
    /// # Errors
    /// A request failed, or its response has an error status.
    pub fn send(&self, url: &str, clients: usize, seconds: u64) -> Result<Measurement> {
        let script = checkout::root().join("tests/bench/src/wrk.lua");
        let output = Command::new(tools::find("wrk")?)
            .args(["-t1", &format!("-c{clients}"), &format!("-d{seconds}s"), "--timeout", "60s", "-s"])
            .args([script.as_path(), Path::new(url), Path::new("--"), &self.file])
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
    Measurement::parse(&json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_output_of_wrk() {
        let output = "Running 1s test\n  2 requests in 1.00s\n{\"requests\":2000,\"us\":1000000,\"p50\":100,\
                      \"p99\":900,\"p999\":950,\"status_errors\":0,\"socket_errors\":0}\n";
        let run = parse(output).unwrap();
        assert_eq!(format!("{:.0} {:.0} {:.0}", run.rate(), run.p50_us, run.p99_us), "2000 100 900");
    }

    #[test]
    fn error_statuses_and_missing_responses_are_errors() {
        let output = "{\"requests\":9,\"us\":1,\"p50\":1,\"p99\":1,\"status_errors\":3,\"socket_errors\":1}";
        let message = parse(output).unwrap_err().to_string();
        assert_eq!(message, "3 of 9 responses have an error status; 1 requests failed");
        let refused = "{\"requests\":9,\"us\":1,\"p50\":1,\"p99\":1,\"status_errors\":0,\"socket_errors\":1}";
        assert!(parse(refused).is_err());
        assert!(parse("Running").is_err());
        let empty = "{\"requests\":0,\"us\":1,\"p50\":0,\"p99\":0,\"status_errors\":0,\"socket_errors\":0}";
        assert!(parse(empty).unwrap_err().to_string().contains("--seconds"));
    }

    #[test]
    fn writes_headers_and_then_requests() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["/a".to_owned(), "/b?c=d".to_owned()];
        let text = |headers: &[(&str, &str)]| {
            let requests = Requests::get(folder.path().join("r"), "t", headers, &paths).unwrap();
            fs::read_to_string(requests.file).unwrap()
        };
        assert_eq!(text(&[]), "H\tAuthorization\tBearer t\nR\tGET\t/a\t\nR\tGET\t/b?c=d\t\n");
        let gzip = text(&[("Accept-Encoding", "gzip")]);
        assert_eq!(
            gzip,
            "H\tAuthorization\tBearer t\nH\tAccept-Encoding\tgzip\nR\tGET\t/a\t\nR\tGET\t/b?c=d\t\n"
        );
    }
}
