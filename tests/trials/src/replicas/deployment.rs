//! The replicas, the servers that they call, and nginx before them with the configuration of deploy/nginx, in which
//! only the listener (without TLS) and the addresses of the replicas differ.

use std::fs;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use tempfile::TempDir;
use testkit::processes::checkout::{self, CONSOLE, PROGRAMS, SERVICES};
use testkit::processes::environment::{Environment, variables};
use testkit::processes::http::{Body, HttpClient};
use testkit::processes::servers::{S3, Server, ShutdownSignals, folder};
use testkit::processes::service::ServiceProcess;
use testkit::processes::stack::Stack;
use testkit::processes::trial::Trial;
use testkit::processes::{ports, tools};

use crate::chaos::shifted;
use crate::receiver::{Receiver, WEBHOOK_SECRET};
use crate::traffic::REQUEST_TIMEOUT;

/// Replicas of each of [`SERVICES`].
const REPLICAS: [usize; 3] = [2, 3, 2];
/// Clocks of the first two replicas of each service, and why they refuse a token that is valid from now for
/// five minutes.
const CLOCKS: [(&str, &str); 2] = [("-10m", "not valid yet"), ("+10m", "expired")];

/// The running deployment.
pub struct Deployment<'a> {
    /// The trial.
    pub trial: &'a Trial<'a>,
    /// All replicas.
    pub stack: Stack,
    /// The proxy.
    pub proxy: Proxy,
    /// A client of replicas and proxy.
    pub http: HttpClient,
    /// Receives webhooks.
    pub receiver: Receiver,
    /// URL of the common database.
    pub database: String,
}

impl<'a> Deployment<'a> {
    /// Starts all replicas at once over an empty database, with different clocks.
    pub fn start(trial: &'a Trial<'a>) -> Result<Self> {
        let [port] = ports::find_free()?;
        let receiver = Receiver::start()?;
        let database = trial.databases.create("replicas")?;
        let mut config = trial.stack_config("replicas", false)?;
        config.replicas = REPLICAS;
        config.databases = std::array::from_fn(|_| Some(database.clone()));
        config.environment = environment(trial, port, &receiver);
        let mut services = config.services()?;
        for name in SERVICES {
            for (number, replica) in services.iter_mut().filter(|config| config.name == name).enumerate() {
                if let Some((offset, _)) = CLOCKS.get(number) {
                    replica.environment.extend(shifted(offset)?);
                }
            }
        }
        let begun = Instant::now();
        let mut stack = Stack::spawn(services, None)?;
        stack.wait_ready(|| trial.check())?;
        let took = begun.elapsed();
        let proxy = Proxy::start(trial, port, &stack)?;
        let http = HttpClient::new(REQUEST_TIMEOUT);
        let mut deployment = Self { trial, stack, proxy, http, receiver, database };
        deployment.check_start(took)?;
        Ok(deployment)
    }

    /// Checks that all replicas run, each with its clock, and each migration was applied once.
    fn check_start(&mut self, took: Duration) -> Result<()> {
        self.stack.check_running()?;
        let count = self.stack.services.len();
        let what = format!("{count} replicas started at once over an empty database");
        self.trial.note(what, format!("all ready after {:.1} s", took.as_secs_f64()), "60 s");
        for name in SERVICES {
            let statement = "SELECT count(*), count(DISTINCT version) FROM __diesel_schema_migrations";
            let counts = self.query(name, statement)?;
            let (applied, different) = counts.trim().split_once('|').context("two counts expected")?;
            self.trial.expect(
                applied == different && applied != "0",
                format!("{name}: migrations applied, of different ones"),
                format!("{applied} of {different}"),
                "each once",
            )?;
            let output = self.replicas(name)[0].command(&["migrate"], &[])?;
            ensure!(output.starts_with("0 migrations"), "{name} migrate after the start: {output}");
            for (replica, (offset, reason)) in self.replicas(name).iter().zip(CLOCKS) {
                let token = replica.token_from(None, 0, Duration::from_secs(300));
                let response = replica.call("GET", "/v1/settings", &token, None, &Body::Empty)?;
                let challenge = response.header("www-authenticate");
                self.trial.expect(
                    response.status == 401 && challenge.contains(reason),
                    format!("{name}, clock {offset}: a token that is valid now"),
                    format!("{} {challenge}", response.status),
                    format!("401, {reason}"),
                )?;
            }
        }
        Ok(())
    }

    /// The replicas of a service.
    pub fn replicas(&self, name: &str) -> &[ServiceProcess] {
        &self.stack.services[self.stack.range(name)]
    }

    /// A token for a user of an organisation, or without one for an administrator. All replicas accept it.
    pub fn token(&self, org: Option<&str>) -> String {
        self.stack.services[0].token(org)
    }

    /// Runs a statement in the schema of a service.
    pub fn query(&self, schema: &str, statement: &str) -> Result<String> {
        self.trial.databases.execute(&self.database, schema, statement)
    }

    /// Starts replicas that have ended, by their indices, and waits until they are ready.
    pub fn restart(&mut self, indices: &[usize]) -> Result<()> {
        let begun = Instant::now();
        indices.iter().try_for_each(|index| self.stack.services[*index].restart())?;
        let check = || self.trial.check();
        indices.iter().try_for_each(|index| self.stack.services[*index].wait_ready(begun, check))
    }

    /// Checks that all replicas still run and logged no errors.
    pub fn check_logs(&mut self) -> Result<()> {
        self.stack.check_running()?;
        let errors: Vec<_> = self.stack.services.iter().flat_map(ServiceProcess::errors).collect();
        for error in &errors {
            eprintln!("    {error}");
        }
        let count = errors.len();
        self.trial.expect(count == 0, "errors in the logs of all replicas", count.to_string(), "0")
    }
}

impl Drop for Deployment<'_> {
    fn drop(&mut self) {
        // An orderly stop would take `drain_seconds` for each replica.
        for replica in &self.stack.services {
            replica.signal(Signal::KILL);
        }
    }
}

/// `drain_seconds` of the replicas: the default of deploy/settings/*.toml, less in the short form. It is longer than
/// the proxy keeps an idle connection (deploy/nginx/upstreams.conf).
pub fn drain(short: bool) -> Duration {
    Duration::from_secs(if short { 2 } else { 10 })
}

/// Variables of the replicas of each service.
fn environment(trial: &Trial<'_>, port: u16, receiver: &Receiver) -> [Environment; 3] {
    // Services call system through the proxy.
    let system_url = ("SERVICE__SYSTEM_URL", Proxy::url_at(port, "system"));
    let mut environment = SERVICES.map(|name| {
        variables([
            ("SERVER__PUBLIC_URL", Proxy::url_at(port, name)),
            ("SERVER__TRUSTED_PROXIES", "127.0.0.1".to_owned()),
            ("SERVER__DRAIN_SECONDS", drain(trial.short).as_secs().to_string()),
            ("DATABASE__POOL_SIZE", "6".to_owned()),
        ])
    });
    let [system, logistics, livestock] = &mut environment;
    system.extend(trial.servers.s3_variables());
    system.extend(variables([
        ("SERVICE__STORE_URL", S3::place("replicas")),
        ("SERVICE__CACHE_URL", trial.servers.redis_url()),
        ("SERVICE__CACHE_PREFIX", format!("drover:replicas-{}:", std::process::id())),
    ]));
    logistics.extend(variables([
        system_url.clone(),
        ("SERVICE__WEBHOOK_URL", receiver.url()),
        ("SERVICE__WEBHOOK_ALLOW_PRIVATE", "true".to_owned()),
        ("SERVICE__WEBHOOK_SECRETS", WEBHOOK_SECRET.to_owned()),
    ]));
    livestock.extend(variables([system_url]));
    environment
}

const SHUTDOWN: ShutdownSignals = &[(Signal::TERM, 10), (Signal::KILL, 5)];

/// The running proxy. It ends when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    _server: Server,
    port: u16,
}

impl Proxy {
    /// Starts nginx before the replicas of a stack.
    pub fn start(trial: &Trial<'_>, port: u16, stack: &Stack) -> Result<Self> {
        Self::start_in(folder("nginx")?, trial, port, stack)
    }

    /// Starts nginx before the replicas of a stack, and the OpenID provider of deploy/login on a port.
    pub fn start_with_login(trial: &Trial<'_>, port: u16, stack: &Stack, login_port: u16) -> Result<Self> {
        let folder = folder("nginx")?;
        let route = fs::read_to_string(checkout::root().join("deploy/login/nginx.conf"))?;
        ensure!(route.contains(" login:8444;"), "deploy/login/nginx.conf has no address of the provider");
        fs::write(
            folder.path().join("login.conf"),
            route.replace(" login:8444;", &format!(" 127.0.0.1:{login_port};")),
        )?;
        Self::start_in(folder, trial, port, stack)
    }

    fn start_in(folder: TempDir, trial: &Trial<'_>, port: u16, stack: &Stack) -> Result<Self> {
        let path = |name: &str| folder.path().join(name);
        let original = checkout::root().join("deploy/nginx");
        for file in fs::read_dir(&original).with_context(|| format!("cannot read {}", original.display()))? {
            let file = file?;
            fs::copy(file.path(), path(&file.file_name().to_string_lossy())).context("cannot copy a file")?;
        }
        let upstreams = fs::read_to_string(path("upstreams.conf")).context("cannot read upstreams.conf")?;
        fs::write(path("upstreams.conf"), replace_servers(upstreams, stack, trial.short)?)?;
        let site = format!("server {{\n    listen 127.0.0.1:{port};\n    include routes.conf;\n}}\n");
        fs::write(path("site.conf"), site)?;
        fs::create_dir(path("prefix"))?;
        let mut command = tools::nginx(&tools::find("nginx")?);
        command.args(["-e", "stderr", "-p"]).arg(path("prefix")).arg("-c").arg(path("nginx.conf"));
        let mut server = Server::spawn("nginx", &mut command, folder, SHUTDOWN)?;
        server.wait_ready(trial.stop, |_| TcpStream::connect(("127.0.0.1", port)).is_ok())?;
        Ok(Self { _server: server, port })
    }

    /// Base URL of a service.
    pub fn url(&self, service: &str) -> String {
        Self::url_at(self.port, service)
    }

    /// Base URL of a service behind a proxy on this port.
    pub fn url_at(port: u16, service: &str) -> String {
        format!("http://127.0.0.1:{port}/{service}")
    }
}

/// `fail_timeout` of the proxy: the time without requests to a replica that refused one. Less in the short form.
pub fn fail_timeout(short: bool) -> Duration {
    Duration::from_secs(if short { 1 } else { 5 })
}

/// Replaces the server of each upstream by the replicas of the service. The short form shortens the timeouts.
fn replace_servers(mut upstreams: String, stack: &Stack, short: bool) -> Result<String> {
    for (name, port) in PROGRAMS.into_iter().zip(8081..) {
        let server = format!("    server {name}:{port} fail_timeout=5s;\n");
        ensure!(upstreams.contains(&server), "deploy/nginx/upstreams.conf has no line `{}`", server.trim());
        let address = |port: u16| format!("127.0.0.1:{port}");
        let replicas =
            stack.replicas(name).map(|r| server.replace(&format!("{name}:{port}"), &address(r.port())));
        let mut replicas = replicas.collect::<String>();
        if name == CONSOLE && replicas.is_empty() {
            // A port on which nothing listens: nginx would not start without a server.
            replicas = server.replace(&format!("{name}:{port}"), &address(1));
        }
        upstreams = upstreams.replace(&server, &replicas);
    }
    let shorten = |text: String| text.replace("=5s", "=1s").replace("_timeout 5s", "_timeout 1s");
    Ok(if short { shorten(upstreams) } else { upstreams })
}
