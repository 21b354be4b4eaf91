//! The three services, Redis and the proxy as processes, configured by docker-compose.yml.
//!
//! They have the commands, variables, secrets, files and health checks of their containers. Names of hosts become
//! ports of 127.0.0.1, and paths of containers become folders of the trial. System uses the S3 store of the trials.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use super::compose::Compose;
use super::container::Container;
use super::secrets::Secrets;
use crate::command::output;
use stack::checkout::SERVICES;
use stack::servers::{S3, Server, ShutdownSignals, folder};
use stack::trial::Trial;
use stack::{nginx, ports, tools};

const SHUTDOWN: ShutdownSignals = &[(Signal::TERM, 10), (Signal::KILL, 5)];

/// The running site. Dropped, all processes end.
#[derive(Debug)]
pub struct Site<'a> {
    pub trial: &'a Trial<'a>,
    pub secrets: &'a Secrets,
    pub ports: Ports,
    /// The services, in the order of [`SERVICES`].
    pub services: Vec<Server>,
    /// Redis and the proxy.
    others: Vec<Server>,
    compose: &'a Compose,
    /// Texts of docker-compose.yml and of the proxy's files, and what replaces them here.
    replacements: Vec<(&'static str, String)>,
}

/// Ports on 127.0.0.1.
#[derive(Debug, Clone, Copy)]
pub struct Ports {
    /// In the order of [`SERVICES`].
    pub services: [u16; 3],
    /// The proxy's port for TLS.
    pub https: u16,
    redis: u16,
}

impl<'a> Site<'a> {
    /// Migrates the databases and starts all processes. Each is healthy by the health check of its container.
    pub fn start(trial: &'a Trial<'a>, compose: &'a Compose, secrets: &'a Secrets) -> Result<Self> {
        let begun = Instant::now();
        for folder in ["proxy", "tmp"] {
            fs::create_dir_all(trial.path(folder)).context("cannot create a folder")?;
        }
        let [system, logistics, livestock, https, redis] = ports::find_free()?;
        let ports = Ports { services: [system, logistics, livestock], https, redis };
        let replacements = replacements(trial, secrets, ports)?;
        let (services, others) = (Vec::new(), Vec::new());
        let mut site = Self { trial, secrets, ports, services, others, compose, replacements };

        let redis = site.start_server("redis", &["--bind", "127.0.0.1", "--port", &redis.to_string()])?;
        site.others.push(redis);
        for service in SERVICES {
            let container = compose.container(&format!("{service}-migration"))?;
            let mut migration = site.service_command(container, service);
            output(migration.args(container.words("command"))).with_context(|| container.name.to_owned())?;
        }
        for service in SERVICES {
            let server = site.start_server(service, &[])?;
            site.services.push(server);
        }
        site.write_proxy_files()?;
        let folder = format!("{}/", trial.path("proxy").display());
        let proxy = site.start_server("proxy", &["-p", &folder])?; // in place of /tmp/
        site.others.push(proxy);
        let figure = format!("healthy after {:.1} s", begun.elapsed().as_secs_f64());
        trial.note("services, Redis and proxy as docker-compose.yml configures them", figure, "healthy");
        Ok(site)
    }

    /// Starts the process of a container and waits until it is healthy.
    fn start_server(&self, name: &'static str, more: &[&str]) -> Result<Server> {
        let container = self.compose.container(name)?;
        let words = [container.words("entrypoint"), container.words("command")].concat();
        let mut command = match (container.service(), words.first()) {
            (Some(service), _) => self.service_command(container, service),
            (None, Some(&"nginx")) => nginx::command(&tools::find("nginx")?),
            (None, Some(&"redis-server")) => Command::new(&self.trial.servers.programs().redis),
            (None, other) => bail!("docker-compose.yml: {name} runs {other:?}"),
        };
        command.args(words.iter().skip(1).map(|word| self.localize(word))).args(more);
        let mut server = Server::spawn(name, &mut command, folder(name)?, SHUTDOWN)?;
        let is_healthy = |_: &Path| self.check_health(container).is_ok();
        server.wait_ready(self.trial.stop, is_healthy).with_context(|| {
            match self.check_health(container) {
                Ok(()) => name.to_owned(),
                Err(error) => format!("the health check of {name}: {error:#}"),
            }
        })?;
        Ok(server)
    }

    fn check_health(&self, container: Container<'_>) -> Result<()> {
        let words = container.health_check();
        let (program, arguments) = words.split_first().context("the container has no health check")?;
        let mut command = match (*program, container.service()) {
            ("/usr/local/bin/drover", Some(service)) => self.service_command(container, service),
            (program, _) => Command::new(program),
        };
        output(command.args(arguments.iter().map(|word| self.localize(word)))).map(drop)
    }

    /// Returns a command of a service with the variables of its container and no others.
    fn service_command(&self, container: Container<'_>, service: &str) -> Command {
        let mut command = Command::new(self.trial.binaries.join(service));
        command.env_clear().env("TMPDIR", self.trial.path("tmp"));
        for (name, value) in container.environment() {
            command.env(name, self.localize(value));
        }
        let port = SERVICES.into_iter().zip(self.ports.services).find(|(name, _)| *name == service);
        command.env("DROVER_SERVER__PORT", port.map_or(0, |(_, port)| port).to_string());
        command.env("DROVER_SERVER__DRAIN_SECONDS", "1"); // no load balancer has to notice the stop
        command
    }

    fn localize(&self, text: &str) -> String {
        if text == "0.0.0.0" {
            return "127.0.0.1".to_owned();
        }
        self.replacements.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    }

    /// Writes the files and secrets that the proxy's container mounts.
    fn write_proxy_files(&self) -> Result<()> {
        let container = self.compose.container("proxy")?;
        for bind in container.binds() {
            let text =
                fs::read_to_string(bind.source).with_context(|| format!("cannot read {}", bind.source))?;
            fs::write(self.localize(bind.target), self.localize(&text)).context(bind.target.to_owned())?;
        }
        for (secret, target) in container.secrets() {
            let name = self.compose.secret_file(secret).and_then(Path::file_name).unwrap_or_default();
            let source = self.secrets.folder().join(name);
            fs::copy(source, self.localize(target)).with_context(|| format!("cannot copy {secret}"))?;
        }
        Ok(())
    }
}

/// Replaces hosts and paths of containers. Writes the addresses of Redis and the store into the secrets.
fn replacements(trial: &Trial<'_>, secrets: &Secrets, ports: Ports) -> Result<Vec<(&'static str, String)>> {
    let address = |port: u16| format!("127.0.0.1:{port}");
    let folder = |path: &Path| format!("{}/", path.display());
    let store = trial.servers.s3_url();
    let store = store.strip_prefix("http://drover:").and_then(|rest| rest.split_once('@'));
    let (store_key, store) = store.context("the URL of the S3 store has another form")?;
    secrets.replace("cache-url", "redis:6379", &address(ports.redis))?;
    secrets.replace("store-secret-key", &secrets.read("store-secret-key")?, store_key)?;
    let [system, logistics, livestock] = ports.services.map(address);
    Ok(vec![
        ("/run/secrets/", folder(secrets.folder())),
        ("/etc/drover/", folder(&trial.path("proxy"))),
        ("redis-cli ping", format!("redis-cli -p {} ping", ports.redis)),
        ("store:8333", store.to_owned()),
        ("s3://drover-files/system", S3::place("deploy")),
        ("system:8081", system),
        ("logistics:8082", logistics),
        ("livestock:8083", livestock),
        ("localhost:8443", format!("localhost:{}", ports.https)),
        ("127.0.0.1:8443", address(ports.https)),
        ("listen 8443", format!("listen {}", address(ports.https))),
        // Older versions of nginx cannot look up names again.
        ("resolver 127.0.0.11 valid=5s ipv6=off;", String::new()),
        (" resolve fail_timeout", " fail_timeout".to_owned()),
    ])
}
