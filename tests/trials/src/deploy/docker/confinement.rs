//! What running containers may do: as Docker reports it, and as the kernel applies it. And a start without an issuer.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::processes::checkout::{CONSOLE, PROGRAMS, SERVICES};
use testkit::processes::tools;
use testkit::processes::trial::Trial;

use super::images::{Images, revision};
use super::project::{CONTAINERS, Project};
use crate::deploy::compose::Compose;
use crate::deploy::docker::images::{docker, run_in};

/// The user of our own images (deploy/Dockerfile).
const USER: &str = "65532:65532";
/// Prints the limits of the container's first process, one a line, and fails if its root file system can be written to.
const LIMITS: &str = "awk '/^(Uid|CapEff|CapBnd|NoNewPrivs):/ {print $1 $2}' /proc/1/status
    cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null
    cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null
    if touch /trial 2>/dev/null; then echo writable; fi";
/// Seconds within which a service without an issuer must end.
const START_SECONDS: &str = "60";

/// Checks all running containers, and the labels of our own.
pub fn check(trial: &Trial<'_>, project: &Project<'_>, images: &Images<'_>) -> Result<()> {
    let compose = Compose::load_demo()?;
    for name in CONTAINERS {
        let spec = compose.container(name)?.spec;
        let id = project.container(name)?;
        let found: Value =
            serde_json::from_str(&docker(&["container", "inspect", "--format={{json .}}", &id])?)?;
        check_reported(name, spec, &found)?;
        check_applied(name, spec, &id)?;
        if PROGRAMS.contains(&name) {
            check_labels(name, &images.version, &found["Config"]["Labels"])?;
        }
    }
    let figure = format!("{} containers confined, {} with labels", CONTAINERS.len(), PROGRAMS.len());
    trial.note("user, capabilities, memory, processes, file system", figure, "as docker-compose.yml states");
    let keys = "https://login.example/jwks.json";
    for service in SERVICES {
        check_refused_start(project, service, "", "DROVER_AUTH__JWKS_URL")?;
        check_refused_start(project, service, keys, "DROVER_AUTH__ISSUER")?;
    }
    check_refused_start(project, CONSOLE, "", "DROVER_SERVICE__PROVIDER_URL")?;
    trial.note("start without an identity provider", "ends and names the setting", "the same");
    Ok(())
}

/// Compares what Docker reports with a container's definition.
fn check_reported(name: &str, spec: &Value, found: &Value) -> Result<()> {
    let host = &found["HostConfig"];
    for (member, actual, expected) in [
        ("user", &found["Config"]["User"], user(spec)),
        ("read_only", &host["ReadonlyRootfs"], json!(true)),
        ("cap_drop", &host["CapDrop"], json!(["ALL"])),
        ("cap_add", &host["CapAdd"], Value::Null),
        ("privileged", &host["Privileged"], json!(false)),
        ("security_opt", &host["SecurityOpt"], json!(["no-new-privileges:true"])),
        ("mem_limit", &host["Memory"], json!(number(spec, "mem_limit")?)),
        ("pids_limit", &host["PidsLimit"], json!(number(spec, "pids_limit")?)),
        ("restart", &host["RestartPolicy"]["Name"], json!("unless-stopped")),
    ] {
        ensure!(*actual == expected, "{name}: {member} is {actual}, expected {expected}");
    }
    Ok(())
}

/// Compares what the kernel applies with a container's definition.
fn check_applied(name: &str, spec: &Value, id: &str) -> Result<()> {
    let user = user(spec);
    let user = user.as_str().and_then(|user| user.split(':').next()).context("no user")?;
    let expected = [
        format!("Uid:{user}"),
        "CapBnd:0000000000000000".to_owned(),
        "CapEff:0000000000000000".to_owned(),
        "NoNewPrivs:1".to_owned(),
        number(spec, "mem_limit")?.to_string(),
        number(spec, "pids_limit")?.to_string(),
    ];
    let limits = run_in(id, LIMITS)?;
    let mut limits: Vec<_> = limits.lines().collect();
    limits[1..3].sort_unstable(); // the kernel's order of capabilities
    ensure!(limits == expected, "{name}: the kernel applies {limits:?}, expected {expected:?}");
    Ok(())
}

fn check_labels(service: &str, version: &str, labels: &Value) -> Result<()> {
    for (label, expected) in [
        ("title", format!("drover-{service}")),
        ("version", version.to_owned()),
        ("revision", revision(version)),
        ("base.name", "debian:bookworm-slim".to_owned()),
    ] {
        let actual = &labels[format!("org.opencontainers.image.{label}")];
        ensure!(*actual == expected, "the label {label} of {service} is {actual}, expected {expected}");
    }
    Ok(())
}

/// Without docker-compose.demo.yml and without an issuer no service starts. `keys`: DROVER_JWKS_URL. `missing`: the
/// setting that the service must name.
fn check_refused_start(project: &Project<'_>, service: &str, keys: &str, missing: &str) -> Result<()> {
    // `timeout` ends a service that has started.
    let mut run = project.command("timeout");
    run.env("DROVER_JWKS_URL", keys)
        .args(["--signal=INT", START_SECONDS])
        .arg(tools::find("docker-compose")?);
    run.args(["--file", "docker-compose.yml", "run", "--rm", "--no-deps", "-T", service]);
    let output = run.output().context("cannot run timeout")?;
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let (text, status) = (text.concat(), output.status);
    let is_refused = status.code() == Some(1) && text.contains(missing);
    ensure!(is_refused, "{service} without an issuer must end and name {missing} ({status}):\n{text}");
    Ok(())
}

fn user(spec: &Value) -> Value {
    if spec["user"].is_null() { json!(USER) } else { spec["user"].clone() }
}

/// Returns a limit, which Compose prints as a number or a string.
fn number(spec: &Value, member: &str) -> Result<u64> {
    let value = &spec[member];
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
    number.with_context(|| format!("{member} is {value}"))
}
