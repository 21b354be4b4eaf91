//! Checks of the running site: what clients, operators and the other roles of the database can reach.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use stack::checkout::SERVICES;
use stack::http::{Body, HttpClient};
use stack::trial::Trial;

use super::engine::{address, docker};
use super::project::Project;
use crate::command::output;

/// Time until all dependencies are reached on a busy machine. `/readyz` waits only a second for each.
const READY_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs `deploy/try.sh`, then all other checks.
pub fn check(trial: &Trial<'_>, project: &Project<'_>, probes: &BTreeSet<String>) -> Result<()> {
    check_probes(trial, project, probes)?;
    check_try_script(trial, project)?;
    check_hidden_paths(trial, project)?;
    check_redirect(trial, project)?;
    check_hsts(trial, project)?;
    check_memory(trial, project)?;
    check_logs(project)
}

/// Requests from each service the paths that Kubernetes and Prometheus request. Each must be 200, and no dependency may
/// be reported as other than `ok`.
fn check_probes(trial: &Trial<'_>, project: &Project<'_>, paths: &BTreeSet<String>) -> Result<()> {
    let client = HttpClient::new(Duration::from_secs(5));
    for (service, port) in SERVICES.iter().zip(8081..) {
        let host = address(&project.container(service)?, &project.network("front"))?;
        for path in paths {
            let url = format!("http://{host}:{port}{path}");
            trial.wait_for(&format!("{url} is 200"), READY_TIMEOUT, || {
                let response = client.send("GET", &url, None, &Body::Empty)?;
                // /readyz is also 200 without cache or store, and reports that.
                let mut parts = response.json.as_object().into_iter().flatten();
                Ok(response.status == 200 && parts.all(|(_, state)| state == "ok"))
            })?;
        }
    }
    let paths = paths.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    trial.note("probes of deploy/kubernetes", paths, "200 and ok from each service");
    Ok(())
}

fn check_try_script(trial: &Trial<'_>, project: &Project<'_>) -> Result<()> {
    let report = output(project.command("deploy/try.sh").arg(project.base()))?;
    let steps = report.lines().count();
    trial.expect(steps > 0, "deploy/try.sh through the proxy", format!("{steps} steps"), "all succeed")
}

/// Requests the operators' paths of each service through the proxy. The response is the API's 404.
fn check_hidden_paths(trial: &Trial<'_>, project: &Project<'_>) -> Result<()> {
    for service in SERVICES {
        for path in ["metrics", "readyz"] {
            let url = format!("{}/{service}/{path}", project.base());
            let response = curl(project, &["--write-out", "\n%{http_code}", &url])?;
            let is_right = response.contains(r#""code":"not_found""#) && response.ends_with("\n404");
            ensure!(is_right, "{url} must be 404: {response}");
        }
    }
    trial.note("/metrics and /readyz through the proxy", "404", "404");
    Ok(())
}

/// Checks that a redirect keeps the client's port.
fn check_redirect(trial: &Trial<'_>, project: &Project<'_>) -> Result<()> {
    let url = format!("{}/system", project.base());
    let headers = curl(project, &["--output", "/dev/null", "--dump-header", "-", &url])?.to_lowercase();
    let status = headers.lines().next().unwrap_or_default();
    let status = status.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let location = headers.lines().find_map(|line| line.strip_prefix("location: "));
    let found = format!("{} {}", status.trim_end(), location.unwrap_or_default().trim_end());
    let expected = "http/1.1 301 /system/";
    trial.expect(found == expected, format!("redirect of {url}"), found, expected)
}

/// Checks that browsers are told to use HTTPS only, except on localhost, where other programs have other ports.
fn check_hsts(trial: &Trial<'_>, project: &Project<'_>) -> Result<()> {
    let port = project.https_port();
    let resolve = format!("drover.example:{port}:127.0.0.1");
    let mut found = Vec::new();
    for host in ["drover.example", "localhost"] {
        let url = format!("https://{host}:{port}/system/healthz");
        let headers =
            curl(project, &["--resolve", &resolve, "--output", "/dev/null", "--dump-header", "-", &url])?;
        let headers = headers.to_lowercase();
        let value = headers.lines().find_map(|line| line.strip_prefix("strict-transport-security: "));
        found.push(format!("{host} {}", value.map_or("none", str::trim_end)));
    }
    let (found, expected) = (found.join(", "), "drover.example max-age=31536000, localhost none");
    trial.expect(found == expected, "Strict-Transport-Security", found.clone(), expected)
}

/// Reports the memory of the containers. None may have been ended by its limit.
fn check_memory(trial: &Trial<'_>, project: &Project<'_>) -> Result<()> {
    let ids = project.compose(&["ps", "--quiet"])?;
    let ids: Vec<_> = ids.lines().collect();
    let format = "{{.Name}} {{.MemUsage}}";
    let used = docker(&[&["stats", "--no-stream", "--format", format], &*ids].concat())?;
    let used = used.lines().filter_map(|line| {
        let (name, usage) = line.split_once(' ')?;
        let name = name.strip_prefix(&project.name)?.trim_matches(['-', '_']).trim_end_matches("-1");
        Some(format!("{name} {}", usage.split(" / ").next()?))
    });
    trial.note("memory of the containers", used.collect::<Vec<_>>().join(", "), "below mem_limit");
    let format = "{{.State.OOMKilled}} {{.RestartCount}}";
    let endings = docker(&[&["inspect", "--format", format], &*ids].concat())?;
    ensure!(endings.lines().all(|line| line == "false 0"), "containers were restarted:\n{endings}");
    Ok(())
}

/// No service may have logged a warning so far.
fn check_logs(project: &Project<'_>) -> Result<()> {
    let log = project.compose(&[&["logs", "--no-color"], &SERVICES[..]].concat())?;
    ensure!(!log.is_empty(), "the services have logged nothing");
    let warnings: Vec<_> =
        log.lines().filter(|line| line.contains("WARN") || line.contains("ERROR")).collect();
    ensure!(warnings.is_empty(), "the services have logged:\n{}", warnings.join("\n"));
    Ok(())
}

fn curl(project: &Project<'_>, arguments: &[&str]) -> Result<String> {
    let mut curl = Command::new("curl");
    curl.args(["-q", "--silent", "--show-error", "--max-time", "10", "--cacert"]);
    output(curl.arg(project.certificate()).args(arguments))
}
