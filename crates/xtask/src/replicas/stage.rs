//! The replicas, all started at once, and the proxy in front of them.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::scope;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::outbox::secret;
use super::places::Places;
use super::proxy::{self, Proxy};
use crate::client::{Answer, Body, Client};
use crate::keys::{DevKeys, JWKS_FILE};
use crate::load::receiver::Receiver;
use crate::ports;
use crate::servers::S3;
use crate::service::{Environment, Service};
use crate::token::Identity;
use crate::trial::Trial;
use crate::workspace::SERVICES;

/// So many of each of [`SERVICES`].
const REPLICAS: [usize; 3] = [2, 3, 2];
/// Longer than all of this takes.
const HOURS: Duration = Duration::from_secs(4 * 3600);
/// Nobody waits longer for an answer.
const PATIENCE: Duration = Duration::from_secs(40);

/// Replicas, proxy, and those whom they speak with.
pub struct Stage<'a> {
    pub trial: &'a Trial<'a>,
    _proxy: Proxy,
    port: u16,
    pub replicas: Vec<Service>,
    pub client: Client,
    pub receiver: Receiver,
    pub places: Arc<Places>,
    first: DevKeys,
    /// Keys that are known from the beginning beside those that tokens are usually signed with.
    pub second: DevKeys,
    pub jwks: PathBuf,
    database: String,
}

impl<'a> Stage<'a> {
    /// Starts all at once over an empty database.
    pub fn start(trial: &'a Trial<'a>) -> Result<Self> {
        let [port] = ports::find_free()?;
        let (receiver, places) = (Receiver::start(Duration::from_millis(20))?, Places::start()?);
        let database = trial.databases.create("replicas")?;
        let (first, second) =
            (DevKeys::load_or_create(&trial.path("keys"))?, DevKeys::load_or_create(&trial.path("second"))?);
        let jwks = trial.path("keys").join(JWKS_FILE);
        let both = json!({"keys": [first.jwks()["keys"][0], second.jwks()["keys"][0]]});
        fs::write(&jwks, both.to_string()).context("cannot write the keys")?;
        let told = |name: &'static str, number: usize| {
            let mut told = common(trial, port, name, &jwks.display().to_string());
            told.extend(own(trial, port, (name, number), &receiver, &places));
            told
        };
        let begun = Instant::now();
        let replicas = scope(|scope| {
            let (database, told) = (&database, &told);
            let starts: Vec<_> = all()
                .map(|(name, number)| {
                    let folder = format!("{name}-{number}");
                    let environment = told(name, number);
                    Ok(scope.spawn(move || trial.service(name, &folder, Some(database.clone()), environment)))
                })
                .collect::<Result<_>>()?;
            let started = starts.into_iter();
            started
                .map(|start| start.join().map_err(|_| anyhow!("a start panicked"))?)
                .collect::<Result<Vec<_>>>()
        })?;
        let upstreams = SERVICES
            .map(|name| (name, replicas.iter().filter(|s| s.name == name).map(Service::port).collect()));
        let proxy = Proxy::start(trial, port, &upstreams)?;
        let client = Client::new(PATIENCE);
        let stage = Self {
            trial,
            _proxy: proxy,
            port,
            replicas,
            client,
            receiver,
            places,
            first,
            second,
            jwks,
            database,
        };
        stage.replicas.iter().try_for_each(|replica| replica.wait_ready(trial, begun))?;
        stage.began(begun.elapsed())?;
        Ok(stage)
    }

    /// Shows that each migration was applied once, and nobody failed.
    fn began(&self, took: Duration) -> Result<()> {
        let mut applied = Vec::new();
        for name in SERVICES {
            let count =
                "SELECT count(*) || ' of ' || count(DISTINCT version) FROM __diesel_schema_migrations;";
            let said = self.say(name, count)?;
            let again = self.of(name).next().context("no replica")?.command(&["migrate"], &[])?;
            ensure!(again.starts_with("0 migrations"), "{name} migrate, once all are ready: {again}");
            applied.push(format!("{name} {}", said.trim()));
        }
        let right = applied.iter().all(|applied| {
            let counts = applied.split(' ').filter_map(|word| word.parse::<usize>().ok()).collect::<Vec<_>>();
            counts.len() == 2 && counts[0] == counts[1] && counts[0] > 0
        });
        let trial = self.trial;
        trial.expect(right, "migrations applied, of as many different", applied.join(", "), "each once")?;
        let failed: Vec<_> =
            self.replicas.iter().filter(|replica| !replica.is_running()).map(|r| r.name).collect();
        let what = format!("{} replicas started at once over an empty database", self.replicas.len());
        let figure = format!("all ready after {:.1} s, failed: {}", took.as_secs_f64(), failed.len());
        trial.expect(failed.is_empty(), what, figure, "failed: 0")
    }

    /// The replicas of a service.
    pub fn of(&self, name: &str) -> impl Iterator<Item = &Service> {
        self.replicas.iter().filter(move |replica| replica.name == name)
    }

    /// Their places among all.
    pub fn range(&self, name: &str) -> Range<usize> {
        let first = self.replicas.iter().position(|replica| replica.name == name).unwrap_or_default();
        first..first + self.of(name).count()
    }

    /// The address of a service behind the proxy.
    pub fn url(&self, name: &str) -> String {
        proxy::url(self.port, name)
    }

    /// A token that all take, of somebody of an organisation; of an administrator without one.
    pub fn token(&self, org: Option<&str>) -> String {
        let admin = ["admin".to_owned()];
        let roles: &[String] = if org.is_none() { &admin } else { &[] };
        let who = Identity { user: org.unwrap_or("admin"), name: None, org, org_name: None, roles };
        who.token(&self.first, HOURS)
    }

    /// What a statement says in the schema of a service.
    pub fn say(&self, schema: &str, statement: &str) -> Result<String> {
        self.trial.databases.ask(&self.database, schema, statement)
    }

    /// Sends JSON to a service through the proxy; anything but success is an error.
    pub fn send(&self, method: &str, (name, path): (&str, &str), token: &str, body: Value) -> Result<Answer> {
        let url = self.url(name) + path;
        let body = if body.is_null() { Body::Empty } else { Body::Json(body) };
        let answer = self.client.send(method, &url, Some(token), &body)?;
        ensure!(answer.status < 300, "{method} {url} answered {}: {}", answer.status, answer.json);
        Ok(answer)
    }

    /// What a replica answers, whatever it is.
    pub fn ask(
        &self,
        replica: &Service,
        method: &str,
        path: &str,
        token: &str,
        body: &Body,
    ) -> Result<Answer> {
        self.client.send(method, &replica.url(path), Some(token), body)
    }

    /// Starts those again that have ended, and waits until they are ready.
    pub fn again(&mut self, which: &[usize]) -> Result<()> {
        let begun = Instant::now();
        which.iter().try_for_each(|which| self.replicas[*which].launch_again())?;
        which.iter().try_for_each(|which| self.replicas[*which].wait_ready(self.trial, begun))
    }

    /// Nobody has ended by itself, and nobody has met with a bug.
    pub fn end(&self) -> Result<()> {
        let mut bugs = 0;
        for replica in &self.replicas {
            ensure!(replica.is_running(), "{} has ended by itself: {}", replica.name, replica.log());
            for line in replica.errors() {
                bugs += 1;
                eprintln!("    {}: {line}", replica.name);
            }
        }
        self.trial.expect(bugs == 0, "errors in the logs of all replicas", bugs.to_string(), "0")
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // Nobody is served any more who would have to be waited for.
        for replica in &self.replicas {
            replica.signal(Signal::KILL);
        }
    }
}

fn all() -> impl Iterator<Item = (&'static str, usize)> {
    SERVICES.into_iter().zip(REPLICAS).flat_map(|(name, count)| (0..count).map(move |number| (name, number)))
}

/// How long a replica goes on when it is told to stop: in production, and where that has to be quick; each time longer
/// than the proxy keeps an idle connection (deploy/nginx/upstreams.conf).
pub fn drain(short: bool) -> Duration {
    Duration::from_secs(if short { 2 } else { 10 })
}

fn pairs<const N: usize>(told: [(&str, String); N]) -> Environment {
    told.map(|(name, value)| (format!("DROVER_{name}"), value)).to_vec()
}

/// What all are told.
fn common(trial: &Trial<'_>, port: u16, name: &str, jwks: &str) -> Environment {
    pairs([
        ("AUTH__JWKS_FILE", jwks.to_owned()),
        ("SERVER__PUBLIC_URL", proxy::url(port, name)),
        ("SERVER__TRUSTED_PROXIES", "127.0.0.1".to_owned()),
        ("SERVER__DRAIN_SECONDS", drain(trial.short).as_secs().to_string()),
        ("DATABASE__POOL_SIZE", "6".to_owned()),
    ])
}

/// What one is told.
fn own(
    trial: &Trial<'_>,
    port: u16,
    (name, number): (&str, usize),
    receiver: &Receiver,
    places: &Places,
) -> Environment {
    // Through the proxy, as the address in deploy/*.toml is one behind which an orchestrator balances. With that of one
    // replica whatever names a file would have to fail while that one is restarted.
    let system = ("SERVICE__SYSTEM_URL", proxy::url(port, SERVICES[0]));
    match name {
        "system" => [
            pairs([
                ("SERVICE__STORE_URL", S3::place("replicas")),
                ("SERVICE__CACHE_URL", trial.servers.redis_url()),
                ("SERVICE__CACHE_PREFIX", format!("drover:replicas-{}:", std::process::id())),
                ("SERVICE__ADDRESS_PROVIDER", "photon".to_owned()),
                ("SERVICE__ADDRESS_URL", format!("http://127.0.0.1:{}", places.port)),
            ]),
            trial.servers.s3_variables(),
        ]
        .concat(),
        "logistics" => pairs([
            system,
            ("SERVICE__WEBHOOK_URL", format!("http://127.0.0.1:{}/hook", receiver.port())),
            ("SERVICE__WEBHOOK_ALLOW_PRIVATE", "true".to_owned()),
            ("SERVICE__WEBHOOK_TIMEOUT_MS", "1500".to_owned()),
            // Each signs with one of its own, so that it is known whose a message is.
            ("SERVICE__WEBHOOK_SECRETS", secret(number)),
        ]),
        _ => pairs([system]),
    }
}
