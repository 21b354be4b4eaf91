//! Traffic while something happens to the containers, and how its requests ended.

use std::fs;
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use testkit::processes::checkout::SERVICES;
use testkit::processes::process::output;
use testkit::processes::servers::{Server, ShutdownSignals, folder};
use testkit::processes::trial::Trial;
use testkit::processes::{ports, tools};

use crate::browser::{Browser, log_in, try_out};
use crate::console::choose;
use crate::deploy::docker::images::docker;
use crate::deploy::docker::project::Project;
use crate::ledger::Ledger;
use crate::provider;
use crate::traffic::{Client, Traffic, Workload, new_prefix};

/// Time until all requests succeed, before and after.
const SUCCESS_TIMEOUT: Duration = Duration::from_secs(60);

/// Clients of the three services.
pub struct Clients<'a> {
    trial: &'a Trial<'a>,
    clients: Vec<Client>,
}

/// How the requests ended.
pub struct Outcomes {
    /// Number of responses by status.
    pub summary: String,
    /// Number of requests without success.
    pub failed: usize,
    /// Of those: responses that are no error body of docs/api/errors.md, and failures of other services.
    pub unexpected: usize,
    /// Time from the first failure to the last one.
    pub failed_for: Duration,
    /// Time from the end of the action to the last failure.
    pub recovered: Duration,
    /// The longest time until a response was complete.
    pub slowest: Duration,
    /// Writes that were acknowledged and are not stored once, or that were refused and are stored.
    pub violations: usize,
}

impl Outcomes {
    /// The figures as a text.
    pub fn figures(&self) -> String {
        let [failed_for, recovered, slowest] =
            [self.failed_for, self.recovered, self.slowest].map(|time| time.as_secs_f64());
        let Self { summary, failed, unexpected, violations, .. } = self;
        let failures = if *failed > 0 {
            format!(
                " within {failed_for:.1} s, the last {recovered:.1} s after the repair, unexpected {unexpected}"
            )
        } else {
            String::new()
        };
        format!("{summary}; failed {failed}{failures}; slowest {slowest:.1} s; violations {violations}")
    }
}

impl<'a> Clients<'a> {
    /// Seeds all services.
    pub fn new(trial: &'a Trial<'a>, project: &Project<'_>, http: &PlainHttp) -> Result<Self> {
        let clients = SERVICES.map(|service| project.client(service, http.url(service), None));
        Ok(Self { trial, clients: clients.into_iter().collect::<Result<_>>()? })
    }

    /// Uploads a file and returns its id.
    pub fn ticket(&self) -> Result<String> {
        self.clients[0].write("ticket")
    }

    /// Performs an action while clients read from all services and write to some. It may affect those only.
    pub fn during(&self, affected: &[&str], action: impl FnOnce() -> Result<()>) -> Result<Outcomes> {
        let prefix = new_prefix();
        let mut workloads = Vec::new();
        for client in &self.clients {
            let all = client.workloads(&prefix);
            if affected.contains(&client.service) {
                workloads.extend(all);
            } else {
                workloads.extend(all.into_iter().rfind(|each| !each.is_write()).map(Workload::unaffected));
            }
        }
        during(self.trial, &self.clients, &prefix, workloads, action)
    }
}

/// Performs an action under traffic. Afterwards everything must work again, and what is stored is compared with what
/// was acknowledged.
pub fn during(
    trial: &Trial<'_>,
    clients: &[Client],
    prefix: &str,
    workloads: Vec<Workload>,
    action: impl FnOnce() -> Result<()>,
) -> Result<Outcomes> {
    let traffic = Traffic::start(workloads);
    traffic.wait_healthy(trial, Instant::now(), SUCCESS_TIMEOUT).context("before the action")?;
    action()?;
    let ended = Instant::now();
    traffic.wait_healthy(trial, ended, SUCCESS_TIMEOUT).context("after the action")?;
    let mut records = traffic.finish();
    for record in records.unexpected().take(5) {
        eprintln!("    unexpected: {record}");
    }
    let first = records.failures().map(|record| record.started).min();
    let mut outcomes = Outcomes {
        summary: records.summary(),
        failed: records.failures().count(),
        unexpected: records.unexpected().count(),
        failed_for: first.map(|first| records.last_failure(first)).unwrap_or_default(),
        recovered: records.last_failure(ended),
        slowest: records.slowest().0,
        violations: 0,
    };
    records.resolve_unknown()?;
    let mut ledger = Ledger::default();
    for client in clients {
        client.verify(trial, &records, prefix, &mut ledger)?;
    }
    outcomes.violations = ledger.violations();
    Ok(outcomes)
}

const SHUTDOWN: ShutdownSignals = &[(Signal::TERM, 5), (Signal::KILL, 5)];

/// The running server. It ends when it is dropped.
#[derive(Debug)]
pub struct PlainHttp {
    _server: Server,
    port: u16,
    /// Address of the host in the network `front`.
    gateway: String,
}

impl PlainHttp {
    /// Starts it in front of the proxy of a project.
    pub fn start(trial: &Trial<'_>, project: &Project<'_>) -> Result<Self> {
        let gateway = docker(&[
            "network",
            "inspect",
            "--format",
            "{{(index .IPAM.Config 0).Gateway}}",
            &project.network("front"),
        ])?;
        let [port] = ports::find_free()?;
        let certificate = project.certificate();
        let (certificate, proxy) = (certificate.display(), project.https_port());
        let configuration = format!(
            "daemon off;
pid nginx.pid;
error_log stderr warn;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    client_max_body_size 0;
    upstream site {{
        server 127.0.0.1:{proxy};
        keepalive 32;
    }}
    server {{
        listen 127.0.0.1:{port};
        listen {gateway}:{port};
        location / {{
            proxy_pass https://site;
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
            proxy_set_header Host $http_host;
            proxy_ssl_trusted_certificate {certificate};
            proxy_ssl_verify on;
            proxy_ssl_name localhost;
            proxy_next_upstream off;
            proxy_read_timeout 150s;
        }}
    }}
}}
"
        );
        let folder = folder("plain-http")?;
        let file = folder.path().join("nginx.conf");
        fs::write(&file, configuration).context("cannot write nginx.conf")?;
        let mut command = tools::nginx(&tools::find("nginx")?);
        command.args(["-e", "stderr", "-p"]).arg(folder.path()).arg("-c").arg(&file);
        let mut server = Server::spawn("nginx", &mut command, folder, SHUTDOWN)?;
        server.wait_ready(trial.stop, |_| TcpStream::connect(("127.0.0.1", port)).is_ok())?;
        Ok(Self { _server: server, port, gateway })
    }

    /// Base URL of a service for clients on the host.
    pub fn url(&self, service: &str) -> String {
        format!("http://127.0.0.1:{}/{service}", self.port)
    }

    /// Base URL of a service for containers of other projects.
    pub fn url_for_containers(&self, service: &str) -> String {
        format!("http://{}:{}/{service}", self.gateway, self.port)
    }
}

/// Opens `/` of the proxy, where the console is, chooses who to be and looks at the loads.
pub fn look_at_console(trial: &Trial<'_>, project: &Project<'_>) -> Result<()> {
    let begun = Instant::now();
    let mut browser = Browser::start_trusting(Some(&public_key_digest(project)?))?;
    let page = browser.open(&format!("{}/", project.base()))?;
    choose(&mut browser, &page, "owen")?;
    let name = browser.wait(&page, "document.querySelector('.who b')?.textContent")?;
    browser.navigate(&page, &format!("{}/loads", project.base()))?;
    let title = browser.evaluate(&page, "document.querySelector('h1').textContent")?;
    let figure = format!("{name}, {title} after {:.1} s", begun.elapsed().as_secs_f64());
    trial.expect(name == "Owen" && title == "Loads", "the console through the proxy", figure, "Owen, Loads")
}

/// Service, user, organisation, role, operation, and what the page must show: the status and a part of the body.
const VISITS: [(&str, &str, &str, &str, &str, &str, &str); 3] = [
    ("logistics", "owen", "border-grain", "", "search_loads", "200", "["),
    ("system", "anna", "drover", "admin", "find_settings", "200", r#""level": "info""#),
    ("livestock", "carys", "penybont-farm", "", "find_settings", "403", "This needs the role admin."),
];

/// Replaces the test tokens by the OpenID provider, invites people there, and lets them log in to the console and on
/// the docs pages.
pub fn log_in_at_provider(trial: &Trial<'_>, project: &mut Project<'_>) -> Result<()> {
    let begun = Instant::now();
    project.start_login()?;
    let figure = format!("healthy after {:.0} s", begun.elapsed().as_secs_f64());
    trial.note("deploy/login/setup, docker compose up", figure, "healthy");
    let mut browser = Browser::start_trusting(Some(&public_key_digest(project)?))?;
    for (service, user, org, role, operation, status, part) in VISITS {
        trial.check()?;
        let begun = Instant::now();
        let email = format!("{user}@{org}.example");
        let mut arguments = vec![user, &email, "--org", org, "--org-name", org];
        if !role.is_empty() {
            arguments.extend(["--role", role]);
        }
        let page = browser.open(&provider::link(&project.invite(&arguments)?)?)?;
        provider::choose_password(&mut browser, &page, provider::PASSWORD)?;
        provider::sign_in(&mut browser, &page, user, provider::PASSWORD)?;
        let shown = provider::person(&mut browser, &page, &project.base())?;
        let figure = format!("{shown} after {:.1} s", begun.elapsed().as_secs_f64());
        trial.expect(
            shown == format!("{user}, {org}"),
            format!("{user}, invited, in the console"),
            figure,
            org,
        )?;
        let page = browser.open(&format!("{}/{service}/docs/", project.base()))?;
        log_in(&mut browser, &page, user, provider::PASSWORD)
            .with_context(|| format!("{user} at the docs page of {service}"))?;
        let [url, shown, body] = try_out(&mut browser, &page, operation)?;
        let prefix = format!("{}/{service}/v1/", project.base());
        let is_right = url.contains(&prefix) && shown.starts_with(status) && body.contains(part);
        ensure!(is_right, "{user}: {operation}: expected {prefix}, {status}, {part}: {url}, {shown}, {body}");
        trial.note(format!("{user} logs in over TLS, {service}: {operation}"), &shown, status);
    }
    Ok(())
}

/// The digest of the public key of the proxy's certificate, which the browser is to trust.
fn public_key_digest(project: &Project<'_>) -> Result<String> {
    let script = r#"openssl x509 -in "$1" -noout -pubkey | openssl pkey -pubin -outform der |
        openssl dgst -sha256 -binary | openssl base64"#;
    let mut command = Command::new("sh");
    Ok(output(command.args(["-c", script, "sh"]).arg(project.certificate()))?.trim().to_owned())
}
