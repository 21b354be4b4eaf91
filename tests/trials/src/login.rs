//! `login`: users log in on the docs pages in a browser, by authorization code with PKCE, at the OpenID provider of the
//! Compose profile `login`, and try an operation. The services have the settings of docker-compose.yml with
//! deploy/login/env, and the proxy serves each under a path.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::market;
use testkit::processes::checkout::{self, SERVICES};
use testkit::processes::environment::Environment;
use testkit::processes::http::{Body, HttpClient};
use testkit::processes::process::output;
use testkit::processes::servers::{Server, ShutdownSignals, folder};
use testkit::processes::trial::Trial;
use testkit::processes::{ports, tools};

use crate::browser::{Browser, Page, log_in, try_out};
use crate::deploy::compose::Compose;
use crate::replicas::deployment::Proxy;

/// The provider's port in deploy/login.
const PORT: &str = "8444";

/// Runs the trial.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let [login_port, port] = ports::find_free()?;
    let public_url = format!("http://127.0.0.1:{port}");
    let provider = Provider::start(trial, login_port, &public_url)?;
    let mut config = trial.stack_config("login", false)?;
    let compose = Compose::load_login()?;
    for (environment, name) in config.environment.iter_mut().zip(SERVICES) {
        *environment = settings(&compose, name, login_port)?;
        environment.push(("DROVER_SERVER__PUBLIC_URL".to_owned(), Proxy::url_at(port, name)));
    }
    let stack = trial.stack(&config)?;
    let proxy = Proxy::start(trial, port, &stack)?;
    let mut browser = Browser::start()?;
    let mut visit = |service: &str, user: &str| -> Result<Visit> {
        trial.check()?;
        let begun = Instant::now();
        let page = browser.open(&format!("{}/docs/", proxy.url(service)))?;
        let token = log_in(&mut browser, &page, user, &provider.password)
            .with_context(|| format!("{user} at the docs page of {service}"))?;
        let took = format!("{:.1} s", begun.elapsed().as_secs_f64());
        trial.note(format!("{user} logs in on the docs page of {service}"), took, "a token");
        Ok(Visit { page, token })
    };

    let [owen, anna, carys] =
        [visit("logistics", "owen")?, visit("system", "anna")?, visit("livestock", "carys")?];
    let http = HttpClient::new(Duration::from_secs(10));
    let load = Body::Json(market::organised_load("border-grain", "LOGIN-1", &Value::Null));
    let url = format!("{}/v1/loads/organiser", proxy.url("logistics"));
    let created = http.send("POST", &url, Some(&owen.token), &load)?;
    ensure!(created.status == 200, "a load of the user's organisation: {} {}", created.status, created.json);
    for (visit, service, operation, status, part) in [
        (&owen, "logistics", "list_commodities", "200", r#""name": "Feed Wheat""#),
        (&anna, "system", "find_settings", "200", r#""level": "info""#),
        (&carys, "livestock", "find_settings", "403", "This needs the role admin."),
    ] {
        let [url, shown, body] = try_out(&mut browser, &visit.page, operation)?;
        let prefix = format!("{}/v1/", proxy.url(service));
        let is_right = url.contains(&prefix) && shown.starts_with(status) && body.contains(part);
        trial.note(format!("{service}: {operation} on the docs page"), &shown, status);
        ensure!(
            is_right,
            "{service}: {operation}: expected {prefix}, {status}, {part}: {url}, {shown}, {body}"
        );
    }
    check_policy(trial, &mut browser, &owen.page, login_port, &stack.services[0].url("/healthz"))
}

/// A user's page after the login.
struct Visit {
    page: Page,
    token: String,
}

/// Returns the variables for the login that docker-compose.yml gives to a service.
fn settings(compose: &Compose, service: &str, login_port: u16) -> Result<Environment> {
    let variables = compose.container(service)?.environment().into_iter();
    let auth = variables.filter(|(name, value)| name.starts_with("DROVER_AUTH__") && !value.is_empty());
    let mut settings: Environment = auth
        .map(|(name, value)| {
            let value = value.replace(&format!("//login:{PORT}"), &format!("//localhost:{PORT}"));
            (name.to_owned(), value.replace(PORT, &login_port.to_string()))
        })
        .collect();
    settings.push(("DROVER_AUTH__JWKS_FILE".to_owned(), String::new())); // not the key of the other trials
    Ok(settings)
}

/// The page may connect to its own origin and to the provider, and to no other.
fn check_policy(
    trial: &Trial<'_>,
    browser: &mut Browser,
    page: &Page,
    login_port: u16,
    other: &str,
) -> Result<()> {
    let provider = format!("http://localhost:{login_port}/api/health");
    let mut can_fetch = |url: &str| -> Result<bool> {
        let script = format!("fetch({}, {{mode: 'no-cors'}}).then(() => true, () => false)", json!(url));
        Ok(browser.evaluate(page, &script)? == true)
    };
    let fetched = [can_fetch(&provider)?, can_fetch("../openapi.json")?, can_fetch(other)?];
    trial.expect(
        fetched == [true, true, false],
        "the docs page connects to the provider, to itself, to another port",
        format!("{fetched:?}"),
        "[true, true, false]",
    )
}

const SHUTDOWN: ShutdownSignals = &[(Signal::TERM, 10), (Signal::KILL, 5)];

/// The running provider. It ends when it is dropped.
pub struct Provider {
    _server: Server,
    /// The password of the sample users.
    pub password: String,
}

impl Provider {
    /// Starts the provider with the files of deploy/login and new secrets. `public_url`: the base URL of the docs
    /// pages.
    pub fn start(trial: &Trial<'_>, port: u16, public_url: &str) -> Result<Self> {
        let folder = folder("login")?;
        let path = |name: &str| folder.path().join(name);
        output(Command::new(checkout::root().join("deploy/secrets.sh")).arg(path("secrets")))?;
        fs::create_dir(path("tmp"))?;
        for name in ["start.sh", "settings.yaml", "users.yaml"] {
            let original = checkout::root().join("deploy/login").join(name);
            let text = fs::read_to_string(&original).context("cannot read a file of deploy/login")?;
            fs::write(path(name), localize(&text, folder.path(), port))?;
        }
        let password = fs::read_to_string(path("secrets/login-password"))?.trim().to_owned();
        let program = tools::find("nanoidp")?;
        let mut command = Command::new("sh");
        command.arg(path("start.sh")).env("DROVER_PUBLIC_URL", public_url);
        command.env("PATH", tools::path_with(&[program.parent().context("no folder")?])?);
        let mut server = Server::spawn("NanoIDP", &mut command, folder, SHUTDOWN)?;
        let client = HttpClient::new(Duration::from_secs(2));
        let health = format!("http://127.0.0.1:{port}/api/health");
        let is_ready =
            |_: &Path| client.send("GET", &health, None, &Body::Empty).is_ok_and(|reply| reply.status == 200);
        server.wait_ready(trial.stop, is_ready)?;
        Ok(Self { _server: server, password })
    }
}

/// Replaces the paths and the address of the container.
fn localize(text: &str, folder: &Path, port: u16) -> String {
    let folder = folder.display();
    text.replace("8444", &port.to_string())
        .replace("0.0.0.0", "127.0.0.1")
        .replace("/tmp", &format!("{folder}/tmp"))
        .replace("/etc/drover/", &format!("{folder}/"))
        .replace("/run/secrets/", &format!("{folder}/secrets/"))
}
