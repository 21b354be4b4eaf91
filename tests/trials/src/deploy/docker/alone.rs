//! Each service alone by its own Compose file, at the same time, and a full volume.

use std::thread::scope;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use testkit::processes::checkout::{CONSOLE, SERVICES};
use testkit::processes::http::{Body, HttpClient};
use testkit::processes::ports;
use testkit::processes::trial::Trial;

use super::clients::{Clients, during};
use super::project::Project;
use super::replicas::expect_kept;
use super::volumes;
use crate::deploy::docker::clients::PlainHttp;
use crate::deploy::docker::images::{HEALTHY_TIMEOUT, run_in};
use crate::traffic::{Client, Workload, new_prefix};

/// Size of an upload, in bytes. It is on the disk while it is in progress.
const UPLOAD: usize = 300_000;
/// Keeps the volume full for three seconds: an upload in progress that ends gives back space for the next.
/// Fails if a write succeeds, because then there was no limit.
const FILL: &str = "for _ in $(seq 30); do if cat /dev/zero >>/tmp/filler; then exit 1; fi; sleep 0.1; done; \
    rm /tmp/filler";
/// The longest that a request may take while the volume is full.
const SLOWEST: Duration = Duration::from_secs(9);

/// Starts all three projects, and sends requests to each service. Logistics and livestock use the system of `site`.
pub fn run(trial: &Trial<'_>, site: &Project<'_>, clients: &Clients<'_>, http: &PlainHttp) -> Result<()> {
    let ticket = clients.ticket()?;
    scope(|scope| {
        let run = |service| {
            scope.spawn({
                let ticket = &ticket;
                move || check(trial, site, http, ticket, service)
            })
        };
        let threads = SERVICES.map(run);
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| anyhow!("a panic"))?)
    })
}

/// Starts the console alone. It uses the services of `site`.
pub fn run_console(trial: &Trial<'_>, site: &Project<'_>, http: &PlainHttp) -> Result<()> {
    let [port] = ports::find_free()?;
    let addresses = [
        ("DROVER_CONSOLE_PORT", port.to_string()),
        ("DROVER_SYSTEM_URL", http.url_for_containers("system")),
        ("DROVER_LOGISTICS_URL", http.url_for_containers("logistics")),
        ("DROVER_LIVESTOCK_URL", http.url_for_containers("livestock")),
    ];
    let project = site.alone(CONSOLE, CONSOLE_ADDITIONS, addresses)?;
    let begun = Instant::now();
    project.start().context("the console alone")?;
    let healthy = begun.elapsed().as_secs_f64();
    let url = format!("http://127.0.0.1:{port}/readyz");
    let reply = HttpClient::new(Duration::from_secs(5)).send("GET", &url, None, &Body::Empty)?;
    let mut parts = reply.json.as_object().into_iter().flatten();
    trial.expect(
        reply.status == 200 && parts.all(|(_, state)| state == "ok"),
        "deploy/compose/console.yml",
        format!("healthy after {healthy:.0} s; {}", reply.json),
        "ready, and reaches the services",
    )
}

/// Development tokens.
const CONSOLE_ADDITIONS: &str = "services:
  console:
    environment:
      DROVER_SERVICE__PROVIDER_URL: ''
      DROVER_SERVICE__DEVELOPMENT_KEY_FILE: /run/secrets/demo-key
      DROVER_SERVICE__DEVELOPMENT_ISSUER: drover-demo
    secrets: [demo-key]
secrets:
  demo-key: {file: ../secrets/demo-key.pem}
";

fn check(
    trial: &Trial<'_>,
    site: &Project<'_>,
    http: &PlainHttp,
    ticket: &str,
    service: &'static str,
) -> Result<()> {
    let [port] = ports::find_free()?;
    let variable = match service {
        "system" => "DROVER_SYSTEM_PORT",
        "logistics" => "DROVER_LOGISTICS_PORT",
        _ => "DROVER_LIVESTOCK_PORT",
    };
    let variables = [(variable, port.to_string()), ("DROVER_SYSTEM_URL", http.url_for_containers("system"))];
    let project = site.alone(service, &additions(service), variables)?;
    let begun = Instant::now();
    project.start().with_context(|| format!("{service} alone"))?;
    let healthy = begun.elapsed().as_secs_f64();
    let url = format!("http://127.0.0.1:{port}");
    let client = project.client(service, url, Some(project.database_url(service)?))?;
    if service == "system" {
        fill_volume(trial, &project, &client)?;
        if !trial.short {
            volumes::run(trial, &project, &client)?;
        }
    }
    if service == "logistics" {
        // Its port is taken while the old replica runs.
        let message = "the new replicas cannot be started. The old replicas continue.";
        expect_kept(&project, service, &project.version, HEALTHY_TIMEOUT, message)?;
    }
    let prefix = new_prefix();
    let mut workloads = client.workloads(&prefix);
    if service != "system" {
        workloads.push(client.writes_with_file(&prefix, ticket));
    }
    let outcomes = during(trial, &[client], &prefix, workloads, || trial.pause(Duration::from_secs(2)))?;
    trial.expect(
        outcomes.failed == 0 && outcomes.violations == 0,
        format!("deploy/compose/{service}.yml"),
        format!("healthy after {healthy:.0} s; {}", outcomes.figures()),
        "failed 0, violations 0",
    )
}

/// Test tokens, and volumes of system that can be filled.
fn additions(service: &str) -> String {
    let volumes = format!(
        "volumes:
  system-tmp:
    driver_opts: {{type: tmpfs, device: tmpfs, o: \"size=16m,uid=65532,gid=65532,mode=1777\"}}
{}",
        volumes::define("postgres", 999)
    );
    format!(
        "services:
  {service}:
    environment:
      DROVER_AUTH__JWKS_FILE: /run/secrets/jwks
      DROVER_AUTH__ISSUER: drover-demo
      DROVER_AUTH__AUDIENCE: drover
    secrets: [jwks]
secrets:
  jwks: {{file: ../secrets/jwks}}
{}",
        if service == "system" { volumes } else { String::new() }
    )
}

/// Fills the volume for temporary files. Uploads are refused, nothing of them is stored, and reads succeed.
fn fill_volume(trial: &Trial<'_>, project: &Project<'_>, client: &Client) -> Result<()> {
    let (container, prefix) = (project.container("system")?, new_prefix());
    let all = client.workloads(&prefix).into_iter();
    let mut workloads: Vec<_> = all.filter(|each| !each.is_write()).map(Workload::unaffected).collect();
    workloads.push(client.large_uploads(&prefix, UPLOAD));
    let outcomes = during(trial, std::slice::from_ref(client), &prefix, workloads, || {
        run_in(&container, FILL).map(drop)
    })?;
    let is_right = outcomes.failed > 0
        && outcomes.unexpected == 0
        && outcomes.violations == 0
        && outcomes.slowest <= SLOWEST;
    trial.expect(
        is_right,
        "system with a full volume `system-tmp`: uploads",
        outcomes.figures(),
        format!("refused; unexpected 0, violations 0, slowest {} s", SLOWEST.as_secs()),
    )
}
