//! The replicas, the proxy before them, and the servers that they call.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::json;
use stack::checkout::SERVICES;
use stack::environment::{Environment, variables};
use stack::http::{Body, HttpClient, Response};
use stack::keys::DevKeys;
use stack::ports;
use stack::servers::S3;
use stack::service::ServiceProcess;
use stack::stack::Stack;
use stack::trial::Trial;
use stack::webhook_receiver::WebhookReceiver;

use super::address_provider::AddressProvider;
use super::proxy::Proxy;
use super::webhook_signature::secret;
use crate::chaos::clock::shifted;
use crate::traffic::REQUEST_TIMEOUT;

/// Replicas of each of [`SERVICES`].
const REPLICAS: [usize; 3] = [2, 3, 2];
/// Clocks of the first two replicas of each service, and why they refuse a token that is valid from now for
/// five minutes.
const CLOCKS: [(&str, &str); 2] = [("-10m", "not valid yet"), ("+10m", "expired")];

/// Delay of the webhook receiver.
pub const RESPONSE_DELAY: Duration = Duration::from_millis(20);

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
    pub receiver: WebhookReceiver,
    /// Serves addresses.
    pub addresses: AddressProvider,
    /// A key that all replicas accept beside the usual one.
    pub second_key: DevKeys,
    /// The file of both keys.
    pub jwks: PathBuf,
    /// URL of the common database.
    pub database: String,
}

impl<'a> Deployment<'a> {
    /// Starts all replicas at once over an empty database, with different clocks.
    pub fn start(trial: &'a Trial<'a>) -> Result<Self> {
        let [port] = ports::find_free()?;
        let receiver = WebhookReceiver::start(RESPONSE_DELAY)?;
        let addresses = AddressProvider::start()?;
        let database = trial.databases.create("replicas")?;
        let mut config = trial.stack_config("replicas", false)?;
        let first_key = DevKeys::load_or_create(&config.keys)?;
        let second_key = DevKeys::load_or_create(&trial.path("second-key"))?;
        let jwks = trial.path("jwks.json");
        let both = json!({"keys": [first_key.jwks()["keys"][0], second_key.jwks()["keys"][0]]});
        fs::write(&jwks, both.to_string()).context("cannot write the key set")?;
        config.replicas = REPLICAS;
        config.databases = std::array::from_fn(|_| Some(database.clone()));
        config.environment = environment(trial, port, &jwks, &receiver, &addresses);
        let mut services = config.services()?;
        for name in SERVICES {
            for (number, replica) in services.iter_mut().filter(|config| config.name == name).enumerate() {
                // The signature of a webhook identifies the replica that sent it.
                let secret = (name == "logistics").then(|| ("SERVICE__WEBHOOK_SECRETS", secret(number)));
                replica.environment.extend(variables(secret));
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
        let mut deployment =
            Self { trial, stack, proxy, http, receiver, addresses, second_key, jwks, database };
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
                let response = self.send(replica, "GET", "/v1/settings", &token, &Body::Empty)?;
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

    /// Sends a request to a replica and returns any response.
    pub fn send(
        &self,
        replica: &ServiceProcess,
        method: &str,
        path: &str,
        token: &str,
        body: &Body,
    ) -> Result<Response> {
        self.http.send(method, &replica.url(path), Some(token), body)
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
fn environment(
    trial: &Trial<'_>,
    port: u16,
    jwks: &Path,
    receiver: &WebhookReceiver,
    addresses: &AddressProvider,
) -> [Environment; 3] {
    // Services call system through the proxy.
    let system_url = ("SERVICE__SYSTEM_URL", Proxy::url_at(port, "system"));
    let mut environment = SERVICES.map(|name| {
        variables([
            ("AUTH__JWKS_FILE", jwks.display().to_string()),
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
        ("SERVICE__ADDRESS_PROVIDER", "photon".to_owned()),
        ("SERVICE__ADDRESS_URL", format!("http://127.0.0.1:{}", addresses.port())),
    ]));
    logistics.extend(variables([
        system_url.clone(),
        ("SERVICE__WEBHOOK_URL", format!("http://127.0.0.1:{}/hook", receiver.port())),
        ("SERVICE__WEBHOOK_ALLOW_PRIVATE", "true".to_owned()),
        ("SERVICE__WEBHOOK_TIMEOUT_MS", "1500".to_owned()),
    ]));
    livestock.extend(variables([system_url, ("SERVICE__WEBHOOK_ALLOW_PRIVATE", "true".to_owned())]));
    environment
}
