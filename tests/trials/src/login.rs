//! `login`: the OpenID provider of the Compose profile `login`, which is LemonLDAP::NG of this machine's packages
//! with the files of deploy/login, behind nginx as in docker-compose.yml. In a browser, invited people choose a
//! password, land in the console, add a passkey, log out, come back, leave, and log in on the docs pages. Services
//! and console have the settings of docker-compose.yml with deploy/login/env.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::market;
use testkit::processes::checkout::{self, CONSOLE, PROGRAMS};
use testkit::processes::environment::Environment;
use testkit::processes::http::{Body, HttpClient};
use testkit::processes::ports;
use testkit::processes::process::output;
use testkit::processes::servers::{Server, ShutdownSignals, folder};
use testkit::processes::stack::Stack;
use testkit::processes::trial::Trial;

use crate::browser::{Browser, Page, log_in, try_out};
use crate::deploy::compose::Compose;
use crate::provider::{PASSWORD, choose_password, link, log_out, person, sign_in};
use crate::replicas::deployment::Proxy;

/// What deploy/login/env names, and docker-compose.yml by default.
const PUBLIC_URL: &str = "https://localhost:8443";
const INTERNAL_URL: &str = "http://login:8444";
/// Lifetime of access tokens, in seconds.
const TOKEN_SECONDS: u64 = 5;
/// People: name, organisation, its name, and role.
const PEOPLE: [(&str, &str, &str, &str); 4] = [
    ("owen", "border-grain", "Border Grain Merchants", ""),
    ("carys", "penybont-farm", "Penybont Farm", ""),
    ("ruth", "hereford-haulage", "Hereford Haulage", ""),
    ("anna", "drover", "Drover", "admin"),
];

/// Runs the trial.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let [login_port, port] = ports::find_free()?;
    // Passkeys belong to a name, not to an address.
    let public_url = format!("http://localhost:{port}");
    let mut provider = Provider::start(trial, login_port, &public_url)?;
    let mut config = trial.stack_config("login", false)?;
    config.console = true;
    let compose = Compose::load_login()?;
    let mut services = config.services()?;
    for (service, name) in services.iter_mut().zip(PROGRAMS) {
        service.environment.extend(settings(&compose, name, login_port, &public_url)?);
        let path = if name == CONSOLE { String::new() } else { format!("/{name}") };
        service.environment.push(("DROVER_SERVER__PUBLIC_URL".to_owned(), format!("{public_url}{path}")));
    }
    let client_secret = provider.server.folder().join("secrets/console-client-secret");
    let session_keys = provider.server.folder().join("secrets/session-keys");
    for service in services.iter_mut().filter(|service| service.name == CONSOLE) {
        for (name, file) in [("CLIENT_SECRET_FILE", &client_secret), ("SESSION_KEYS_FILE", &session_keys)] {
            service.environment.push((format!("DROVER_SERVICE__{name}"), file.display().to_string()));
        }
    }
    let mut stack = Stack::spawn(services, None)?;
    stack.wait_ready(|| trial.check())?;
    let _proxy = Proxy::start_with_login(trial, port, &stack, login_port)?;
    let mut browser = Browser::start()?;
    invite(trial, &provider, &mut browser, &public_url)?;
    passkey(trial, &provider, &mut browser, &public_url)?;
    docs_pages(trial, &mut browser, &public_url, &stack)?;
    leave(trial, &provider, &mut browser, &public_url)?;
    restore(trial, &mut provider, &mut browser, &public_url)
}

/// Returns the variables for the log-in that docker-compose.yml gives to a program.
fn settings(compose: &Compose, name: &str, login_port: u16, public_url: &str) -> Result<Environment> {
    let is_meant = |name: &str| {
        name.starts_with("DROVER_AUTH__")
            || ["PROVIDER_URL", "PROVIDER_INTERNAL_URL", "CLIENT_ID", "SCOPES"]
                .iter()
                .any(|setting| name == format!("DROVER_SERVICE__{setting}"))
    };
    let variables = compose.container(name)?.environment().into_iter();
    let variables = variables.filter(|(name, value)| is_meant(name) && !value.is_empty());
    let mut settings: Environment = variables
        .map(|(name, value)| {
            let inside = format!("http://127.0.0.1:{login_port}");
            (name.to_owned(), value.replace(PUBLIC_URL, public_url).replace(INTERNAL_URL, &inside))
        })
        .collect();
    // Not the keys of the other trials.
    let key = if name == CONSOLE { "DROVER_SERVICE__DEVELOPMENT_KEY_FILE" } else { "DROVER_AUTH__JWKS_FILE" };
    settings.push((key.to_owned(), String::new()));
    Ok(settings)
}

/// Invited people choose a password and land in the console.
fn invite(trial: &Trial<'_>, provider: &Provider, browser: &mut Browser, public_url: &str) -> Result<()> {
    for (name, org, org_name, role) in PEOPLE {
        trial.check()?;
        let begun = Instant::now();
        let email = format!("{name}@{org}.example");
        let mut arguments = vec!["invite", name, &email, "--org", org, "--org-name", org_name];
        if !role.is_empty() {
            arguments.extend(["--role", role]);
        }
        let link = link(&provider.people(&arguments)?)?;
        let page = browser.open(&link)?;
        if name == "ruth" {
            choose_password(browser, &page, "too short")?;
            browser.wait(&page, "document.querySelector('.alert')?.innerText.includes('too short')")?;
        }
        choose_password(browser, &page, PASSWORD)?;
        sign_in(browser, &page, name, PASSWORD)?;
        let shown = person(browser, &page, public_url)?;
        let took = format!("{shown} after {:.1} s", begun.elapsed().as_secs_f64());
        trial.expect(
            shown == format!("{name}, {org_name}"),
            format!("{name} is invited, chooses a password, lands in the console"),
            took,
            org_name,
        )?;
        if name == "ruth" {
            let again = browser.open(&link)?;
            let text = browser.wait(&again, "document.querySelector('.alert')?.innerText")?;
            let is_refused = text.as_str().is_some_and(|text| text.contains("invalid or too old"));
            trial.expect(is_refused, "the link a second time", text.to_string(), "invalid or too old")?;
        }
    }
    Ok(())
}

/// A person adds a passkey, and needs it from then on. Log-out ends the provider's session too.
fn passkey(trial: &Trial<'_>, provider: &Provider, browser: &mut Browser, public_url: &str) -> Result<()> {
    let page = browser.open(&format!("{public_url}/"))?;
    sign_in(browser, &page, "ruth", PASSWORD)?;
    person(browser, &page, public_url)?;
    browser.command(&page, "WebAuthn.enable", &json!({}))?;
    let authenticator = json!({"options": {
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": true, "hasUserVerification": true,
        "isUserVerified": true, "automaticPresenceSimulation": true,
    }});
    browser.command(&page, "WebAuthn.addVirtualAuthenticator", &authenticator)?;
    browser.navigate(&page, &format!("{public_url}/id/2fregisters/webauthn"))?;
    browser.click(&page, "document.querySelector('#register')")?;
    browser.wait(&page, "document.querySelector('#msg')?.innerText.includes('registered')")?;
    log_out(browser, &page, public_url)?;
    browser.navigate(&page, &format!("{public_url}/loads"))?;
    sign_in(browser, &page, "ruth", PASSWORD)?;
    let shown = person(browser, &page, public_url)?;
    trial.expect(
        shown == "ruth, Hereford Haulage",
        "after log-out, with password and passkey",
        shown,
        "Hereford Haulage",
    )?;
    // Another device has no passkey.
    let other = browser.open(&format!("{public_url}/"))?;
    sign_in(browser, &other, "ruth", PASSWORD)?;
    browser.wait(
        &other,
        "location.pathname.startsWith('/id/') && document.querySelector('#retrybutton') !== null",
    )?;
    let link = link(&provider.people(&["reset", "ruth"])?)?;
    browser.navigate(&other, &link)?;
    choose_password(browser, &other, PASSWORD)?;
    sign_in(browser, &other, "ruth", PASSWORD)?;
    let shown = person(browser, &other, public_url)?;
    trial.expect(
        shown == "ruth, Hereford Haulage",
        "a lost passkey: by a new link",
        shown,
        "Hereford Haulage",
    )
}

/// People log in on the docs pages, whose tokens the services accept.
fn docs_pages(trial: &Trial<'_>, browser: &mut Browser, public_url: &str, stack: &Stack) -> Result<()> {
    let mut pages = Vec::new();
    for (service, user, operation, status, part) in [
        ("logistics", "owen", "list_commodities", "200", r#""name": "Feed Wheat""#),
        ("system", "anna", "find_settings", "200", r#""level": "info""#),
        ("livestock", "carys", "find_settings", "403", "This needs the role admin."),
    ] {
        trial.check()?;
        let begun = Instant::now();
        let page = browser.open(&format!("{public_url}/{service}/docs/"))?;
        let token = log_in(browser, &page, user, PASSWORD)
            .with_context(|| format!("{user} at the docs page of {service}"))?;
        if user == "owen" {
            let load = Body::Json(market::organised_load("border-grain", "LOGIN-1", &Value::Null));
            let url = format!("{public_url}/logistics/v1/loads/organiser");
            let created = HttpClient::new(Duration::from_secs(10)).send("POST", &url, Some(&token), &load)?;
            ensure!(
                created.status == 200,
                "a load of the user's organisation: {} {}",
                created.status,
                created.json
            );
        }
        let [url, shown, body] = try_out(browser, &page, operation)?;
        let prefix = format!("{public_url}/{service}/v1/");
        let is_right = url.contains(&prefix) && shown.starts_with(status) && body.contains(part);
        let took = format!("{shown} after {:.1} s", begun.elapsed().as_secs_f64());
        trial.note(format!("{user} logs in on the docs page of {service}: {operation}"), took, status);
        ensure!(
            is_right,
            "{service}: {operation}: expected {prefix}, {status}, {part}: {url}, {shown}, {body}"
        );
        pages.push(page);
    }
    let page = pages.first().context("no page")?;
    check_policy(trial, browser, page, &stack.services[0].url("/healthz"))
}

/// The page may connect to its own origin, which is the provider's too, and to no other.
fn check_policy(trial: &Trial<'_>, browser: &mut Browser, page: &Page, other: &str) -> Result<()> {
    let mut can_fetch = |url: &str| -> Result<bool> {
        let script = format!("fetch({}, {{mode: 'no-cors'}}).then(() => true, () => false)", json!(url));
        Ok(browser.evaluate(page, &script)? == true)
    };
    let fetched = [can_fetch("/id/oauth2/jwks")?, can_fetch("../openapi.json")?, can_fetch(other)?];
    trial.expect(
        fetched == [true, true, false],
        "the docs page connects to the provider, to itself, to another port",
        format!("{fetched:?}"),
        "[true, true, false]",
    )
}

/// A person who leaves is out, also of the console when the access token has expired, and may come back.
fn leave(trial: &Trial<'_>, provider: &Provider, browser: &mut Browser, public_url: &str) -> Result<()> {
    let page = browser.open(&format!("{public_url}/"))?;
    sign_in(browser, &page, "owen", PASSWORD)?;
    person(browser, &page, public_url)?;
    // The console refreshes the token.
    trial.pause(Duration::from_secs(TOKEN_SECONDS))?;
    browser.reload(&page)?;
    person(browser, &page, public_url)?;
    provider.people(&["leave", "OWEN"])?;
    trial.pause(Duration::from_secs(TOKEN_SECONDS))?;
    browser.navigate(&page, &format!("{public_url}/loads"))?;
    sign_in(browser, &page, "owen", PASSWORD)?;
    let text = browser.wait(&page, "document.querySelector('#errormsg .alert')?.innerText")?;
    let is_refused = text.as_str().is_some_and(|text| text.contains("Wrong credentials"));
    trial.expect(is_refused, "a person who has left", text.to_string(), "Wrong credentials")?;
    let link = link(&provider.people(&["return", "owen"])?)?;
    browser.navigate(&page, &link)?;
    choose_password(browser, &page, "another horse and battery")?;
    sign_in(browser, &page, "owen", "another horse and battery")?;
    let shown = person(browser, &page, public_url)?;
    trial.expect(shown == "owen, Border Grain Merchants", "who comes back", shown, "Border Grain Merchants")
}

/// Keys stay when the provider starts again, and a backup restores people and passwords.
fn restore(
    trial: &Trial<'_>,
    provider: &mut Provider,
    browser: &mut Browser,
    public_url: &str,
) -> Result<()> {
    let keys = format!("{public_url}/id/oauth2/jwks");
    let http = HttpClient::new(Duration::from_secs(10));
    let before = http.send("GET", &keys, None, &Body::Empty)?.json;
    let backup = provider.server.folder().join("backup.tar");
    let copied = provider.command("people").arg("backup").stdout(File::create(&backup)?).status()?;
    ensure!(copied.success(), "people backup: {copied}");
    provider.server.end(Signal::TERM)?;
    let data = provider.server.folder().join("data");
    fs::remove_dir_all(&data)?;
    fs::create_dir(&data)?;
    output(Command::new("tar").arg("-C").arg(&data).arg("-xf").arg(&backup))?;
    let mut command = provider.command("start");
    provider.server.restart(&mut command)?;
    provider.wait_ready(trial)?;
    let after = http.send("GET", &keys, None, &Body::Empty)?.json;
    ensure!(before == after, "the keys have changed: {before} {after}");
    let page = browser.open(&format!("{public_url}/"))?;
    sign_in(browser, &page, "carys", PASSWORD)?;
    let shown = person(browser, &page, public_url)?;
    trial.expect(shown == "carys, Penybont Farm", "after a restore", shown, "Penybont Farm")
}

const SHUTDOWN: ShutdownSignals = &[(Signal::TERM, 10), (Signal::KILL, 5)];

/// The running provider. It ends when it is dropped.
struct Provider {
    server: Server,
    variables: Vec<(&'static str, String)>,
    port: u16,
}

impl Provider {
    /// Starts the provider with new secrets and without people. `public_url`: the base URL that browsers use.
    fn start(trial: &Trial<'_>, port: u16, public_url: &str) -> Result<Self> {
        let folder = folder("login")?;
        let path = |name: &str| folder.path().join(name).display().to_string();
        output(Command::new(checkout::root().join("deploy/secrets.sh")).arg(path("secrets")))?;
        let variables = vec![
            ("LOGIN_DATA", path("data")),
            ("LOGIN_SECRETS", path("secrets")),
            ("LOGIN_RUN", path("run")),
            ("LOGIN_LISTEN", format!("127.0.0.1:{port}")),
            ("LOGIN_TOKEN_SECONDS", TOKEN_SECONDS.to_string()),
            ("DROVER_PUBLIC_URL", public_url.to_owned()),
        ];
        let mut command = command("start", &variables);
        let server = Server::spawn("the provider", &mut command, folder, SHUTDOWN)?;
        let mut provider = Self { server, variables, port };
        provider.wait_ready(trial)?;
        Ok(provider)
    }

    fn wait_ready(&mut self, trial: &Trial<'_>) -> Result<()> {
        let client = HttpClient::new(Duration::from_secs(2));
        let health = format!("http://127.0.0.1:{}/healthz", self.port);
        let is_ready =
            |_: &Path| client.send("GET", &health, None, &Body::Empty).is_ok_and(|reply| reply.status == 200);
        self.server.wait_ready(trial.stop, is_ready)
    }

    /// Returns a command of deploy/login.
    fn command(&self, program: &str) -> Command {
        command(program, &self.variables)
    }

    /// Runs `people` and returns what it prints.
    fn people(&self, arguments: &[&str]) -> Result<String> {
        output(self.command("people").args(arguments))
    }
}

fn command(program: &str, variables: &[(&'static str, String)]) -> Command {
    let mut command = Command::new(checkout::root().join("deploy/login").join(program));
    command.envs(variables.iter().cloned());
    command
}
