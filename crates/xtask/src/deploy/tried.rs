//! What is tried on the site of docker-compose.yml once it runs.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;

use super::roles;
use super::site::{Part, Site};
use super::tools::output;
use crate::client::{Body, Client};
use crate::process;
use crate::workspace::{self, SERVICES};

/// For what a busy machine may not have reached in the second that `/readyz` gives it.
const WELL_LIMIT: Duration = Duration::from_secs(10);
/// As long as `stop_grace_period` in docker-compose.yml.
const STOP_LIMIT: Duration = Duration::from_secs(60);

impl Site<'_> {
    /// Every replica answers what Kubernetes and Prometheus will ask it.
    pub fn probe(&self, paths: &BTreeSet<String>) -> Result<()> {
        let client = Client::new(Duration::from_secs(5));
        for (service, port) in SERVICES.iter().zip(self.ports) {
            for path in paths {
                let (url, begun) = (format!("http://127.0.0.1:{port}{path}"), Instant::now());
                loop {
                    let answer = client.send("GET", &url, None, &Body::Empty)?;
                    // /readyz is 200 too where the cache or the store gives no answer, and says so.
                    let mut parts = answer.json.as_object().into_iter().flatten();
                    if answer.status == 200 && parts.all(|(_, state)| state == "ok") {
                        break;
                    }
                    ensure!(
                        begun.elapsed() < WELL_LIMIT,
                        "{service} answers {} to {path}, which deploy/kubernetes asks: {}",
                        answer.status,
                        answer.json
                    );
                    sleep(Duration::from_millis(200));
                }
            }
        }
        let asked = paths.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        self.trial.note("what deploy/kubernetes asks of each service", asked, "200, all of it ok");
        Ok(())
    }

    /// deploy/try.sh, through the proxy; what is not for clients is not there.
    pub fn try_out(&self) -> Result<()> {
        let (base, secrets) = (format!("https://localhost:{}", self.ports[3]), self.folder.join("secrets"));
        let mut script = Command::new(workspace::root().join("deploy/try.sh"));
        let said = output(script.arg(&base).env("SECRETS", &secrets)).with_context(|| self.complaints())?;
        self.trial.note(
            "deploy/try.sh",
            format!("{} answers as they should be", said.lines().count()),
            "all",
        );
        let ask = |url: &str| {
            let mut curl = Command::new("curl");
            curl.args(["-q", "--silent", "--max-time", "10", "--write-out"]);
            curl.arg("\n%{http_code} HTTP/%{http_version} %{redirect_url}").arg("--cacert");
            output(curl.arg(secrets.join("certificate.pem")).arg(url))
        };
        let hidden =
            SERVICES.map(|service| ["metrics", "readyz"].map(|path| format!("{base}/{service}/{path}")));
        for url in hidden.as_flattened() {
            let said = ask(url)?;
            ensure!(
                said.contains(r#""code":"not_found""#) && said.contains("\n404 HTTP/2 "),
                "{url}: {said}"
            );
        }
        self.trial.note("/metrics and /readyz through the proxy, over TLS", "404, HTTP/2", "404, HTTP/2");
        let url = format!("{base}/system");
        let mut curl = Command::new("curl");
        curl.args(["-q", "--silent", "--max-time", "10", "--output", "/dev/null", "--dump-header", "-"]);
        let head =
            output(curl.arg("--cacert").arg(secrets.join("certificate.pem")).arg(&url))?.to_lowercase();
        let to = head.lines().find_map(|line| line.strip_prefix("location: ")).unwrap_or_default().trim_end();
        self.trial.expect(
            to == "/system/",
            "/system through the proxy",
            to,
            "led to /system/ on the same port",
        )?;
        let led = ask(&format!("http://127.0.0.1:{}/system/", self.ports[4]))?;
        let led = led.lines().last().unwrap_or_default();
        let right = led.starts_with("308 ") && led.ends_with(" https://drover.example/system/");
        self.trial.expect(right, "plain HTTP", led, "308 to https")
    }

    /// No role of PostgreSQL gets at what is another's.
    pub fn separate(&self) -> Result<()> {
        let secret =
            |service: &str| fs::read_to_string(self.folder.join(format!("secrets/{service}-database-url")));
        let urls = SERVICES.iter().map(|service| Ok((*service, secret(service)?.trim().to_owned())));
        let tried = roles::separate(&self.trial.databases, &urls.collect::<Result<Vec<_>>>()?)?;
        self.trial.note("statements on what is another role's", format!("{tried} refused"), "all");
        Ok(())
    }

    /// The services stop when they are told to, and have written nothing but where they may.
    pub fn stop(mut self) -> Result<()> {
        let begun = Instant::now();
        let ours = |part: &&mut Part<'_>| SERVICES.contains(&part.name);
        for part in self.running.iter_mut().filter(ours) {
            process::signal(&part.child, Signal::TERM);
        }
        for part in self.running.iter_mut().filter(ours) {
            let status = process::wait(&mut part.child, STOP_LIMIT, || false);
            ensure!(status.is_some_and(|status| status.success()), "{} did not stop in order", part.name);
            let left = fs::read_dir(self.folder.join(part.name))?.count();
            ensure!(left == 0, "{} wrote into the folder that it was started in", part.name);
            let log = fs::read_to_string(self.folder.join(format!("{}.log", part.name)))?;
            ensure!(!log.contains("no file here"), "{} finds a new store strange: {log}", part.name);
        }
        let figure = format!("stopped after {:.1} s", begun.elapsed().as_secs_f64());
        self.trial.note("the services, told to stop", figure, "in order");
        Ok(())
    }

    /// What the services had to say that was no good news.
    fn complaints(&self) -> String {
        let logs = SERVICES.iter().filter_map(|service| fs::read_to_string(self.log(service)).ok());
        let lines: Vec<_> = logs.flat_map(|log| log.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
        let bad = lines.iter().filter(|line| line.contains("WARN") || line.contains("ERROR"));
        format!("the services log:\n{}", bad.cloned().collect::<Vec<_>>().join("\n"))
    }
}
