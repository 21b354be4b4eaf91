//! Checks of the running site.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use rustix::process::Signal;

use super::site::Site;
use crate::command::output;
use stack::checkout::{self, SERVICES};
use stack::http::{Body, HttpClient};

/// Time until all dependencies are reached on a busy machine. `/readyz` waits only a second for each.
const READY_TIMEOUT: Duration = Duration::from_secs(10);

impl Site<'_> {
    /// Requests from each service the paths that Kubernetes and Prometheus request. Each must be 200, and no dependency
    /// may be reported as other than `ok`.
    pub fn check_probes(&self, paths: &BTreeSet<String>) -> Result<()> {
        let client = HttpClient::new(Duration::from_secs(5));
        for (service, port) in SERVICES.iter().zip(self.ports.services) {
            for path in paths {
                let (url, begun) = (format!("http://127.0.0.1:{port}{path}"), Instant::now());
                loop {
                    let response = client.send("GET", &url, None, &Body::Empty)?;
                    // /readyz is also 200 without cache or store, and reports that.
                    let mut parts = response.json.as_object().into_iter().flatten();
                    if response.status == 200 && parts.all(|(_, state)| state == "ok") {
                        break;
                    }
                    ensure!(
                        begun.elapsed() < READY_TIMEOUT,
                        "deploy/kubernetes probes {path}; {service} responds with {}: {}",
                        response.status,
                        response.json
                    );
                    sleep(Duration::from_millis(200));
                }
            }
        }
        let paths = paths.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        self.trial.note("probes of deploy/kubernetes", paths, "200 and ok from each service");
        Ok(())
    }

    /// Runs `deploy/try.sh` through the proxy.
    pub fn check_try_script(&self) -> Result<()> {
        let mut script = Command::new(checkout::root().join("deploy/try.sh"));
        script.arg(self.base()).env("SECRETS", self.secrets.folder());
        let report = output(&mut script).map_err(|error| anyhow!("{error:#}\n{}", self.warnings()))?;
        let steps = report.lines().count();
        self.trial.expect(
            steps > 0,
            "deploy/try.sh through the proxy",
            format!("{steps} steps"),
            "all succeed",
        )
    }

    /// Requests the operators' paths of each service through the proxy. The response is the API's 404 over HTTP/2.
    pub fn check_hidden_paths(&self) -> Result<()> {
        for service in SERVICES {
            for path in ["metrics", "readyz"] {
                let url = format!("{}/{service}/{path}", self.base());
                let response = self.curl(&["--write-out", "\n%{http_code} HTTP/%{http_version}", &url])?;
                let is_right =
                    response.contains(r#""code":"not_found""#) && response.ends_with("\n404 HTTP/2");
                ensure!(is_right, "{url} must be 404 over HTTP/2: {response}");
            }
        }
        self.trial.note("/metrics and /readyz through the proxy", "404 over HTTP/2", "404 over HTTP/2");
        Ok(())
    }

    /// Checks that a redirect keeps the client's port.
    pub fn check_redirect(&self) -> Result<()> {
        let url = format!("{}/system", self.base());
        let headers = self.curl(&["--output", "/dev/null", "--dump-header", "-", &url])?.to_lowercase();
        let status = headers.lines().next().unwrap_or_default();
        let status = status.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let location = headers.lines().find_map(|line| line.strip_prefix("location: "));
        let found = format!("{} {}", status.trim_end(), location.unwrap_or_default().trim_end());
        let expected = "http/2 301 /system/";
        self.trial.expect(found == expected, format!("redirect of {url}"), found, expected)
    }

    /// Stops the services with SIGTERM. They must succeed, have written nothing into their working directories, and
    /// have logged no warning.
    pub fn check_shutdown(&mut self) -> Result<()> {
        let begun = Instant::now();
        let statuses = scope(|scope| {
            let servers = self.services.iter_mut();
            let threads: Vec<_> =
                servers.map(|server| scope.spawn(|| server.exit_status(Signal::TERM))).collect();
            let statuses = threads.into_iter().map(|thread| thread.join().map_err(|_| anyhow!("a panic"))?);
            statuses.collect::<Result<Vec<_>>>()
        })?;
        for ((name, server), status) in SERVICES.iter().zip(&self.services).zip(statuses) {
            ensure!(status.success(), "{name} ended with {status} after SIGTERM");
            let names = fs::read_dir(server.folder())?.flatten().map(|entry| entry.file_name());
            let written: Vec<_> = names.filter(|name| name != "log").collect();
            ensure!(written.is_empty(), "{name} has written {written:?} into its working directory");
        }
        let warnings = self.warnings();
        ensure!(warnings.is_empty(), "the services have logged:\n{warnings}");
        let figure = format!("ended after {:.1} s", begun.elapsed().as_secs_f64());
        self.trial.note("services after SIGTERM", figure, "exit status 0, nothing written, no warning");
        Ok(())
    }

    fn base(&self) -> String {
        format!("https://localhost:{}", self.ports.https)
    }

    fn curl(&self, arguments: &[&str]) -> Result<String> {
        let mut curl = Command::new("curl");
        curl.args(["-q", "--silent", "--show-error", "--max-time", "10", "--cacert"]);
        output(curl.arg(self.secrets.folder().join("certificate.pem")).args(arguments))
    }

    /// Returns the warnings and errors that the services have logged.
    fn warnings(&self) -> String {
        let logs = self.services.iter().map(|server| fs::read_to_string(server.folder().join("log")));
        let text = logs.flatten().collect::<String>();
        let lines = text.lines().filter(|line| line.contains("WARN") || line.contains("ERROR"));
        lines.collect::<Vec<_>>().join("\n")
    }
}
