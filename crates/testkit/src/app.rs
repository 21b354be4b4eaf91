//! A service that runs in the test's process.

use std::time::{Duration, Instant};

use common::config::{Auth, Config, DatabaseConfig, Server};
use common::{Running, Service};
use serde_json::Value;
use tokio::time::sleep;

use crate::client::TestRequest;
use crate::{AUDIENCE, Backend, ISSUER, TestDatabase, jwks_file, statements};

/// A running service that listens on a free port of the loopback interface.
pub struct App {
    /// Base URL, without a trailing slash.
    pub url: String,
    client: reqwest::Client,
    running: Running,
    /// The service's database, removed when this is dropped.
    pub database: TestDatabase,
}

impl App {
    /// Starts a service over a fresh database.
    pub async fn start<S: Service>(backend: Backend, settings: S::Settings) -> Self {
        let database = TestDatabase::new::<S>(backend).await;
        Self::start_on::<S>(database, settings).await
    }

    /// Starts a service over an existing database.
    pub async fn start_on<S: Service>(database: TestDatabase, settings: S::Settings) -> Self {
        let config = config::<S>(&database, settings);
        Self::start_with::<S>(database, config).await
    }

    /// Starts a replica over the database of another instance. That instance still owns the database.
    pub async fn start_replica<S: Service>(other: &Self, settings: S::Settings) -> Self {
        Self::start_on::<S>(other.database.shared(), settings).await
    }

    /// Starts a service with a complete configuration, usually a changed [`config`].
    pub async fn start_with<S: Service>(database: TestDatabase, config: Config<S::Settings>) -> Self {
        statements::install_listener();
        let running = common::start::<S>(config).await.expect("the service starts");
        Self { url: format!("http://{}", running.address), client: reqwest::Client::new(), running, database }
    }

    /// Builds a request with this method and path.
    pub fn call(&self, method: &str, path: &str) -> TestRequest {
        let method = method.parse().expect("a method");
        TestRequest::new(self.client.request(method, format!("{}{path}", self.url)))
    }

    /// Builds a GET request.
    pub fn get(&self, path: &str) -> TestRequest {
        self.call("GET", path)
    }

    /// Builds a POST request.
    pub fn post(&self, path: &str) -> TestRequest {
        self.call("POST", path)
    }

    /// Returns the body of `/readyz` as soon as the service is ready and a dependency has this state. The checks of
    /// `/readyz` have short timeouts, so on a busy machine one request shows no state, or a wrong one.
    ///
    /// # Panics
    /// After 15 s.
    pub async fn wait_for_readiness(&self, dependency: &str, state: &str) -> Value {
        let begun = Instant::now();
        loop {
            let reply = self.get("/readyz").send().await;
            if reply.status == 200 && reply.json()[dependency] == state {
                return reply.json();
            }
            assert!(begun.elapsed() < Duration::from_secs(15), "{} {}", reply.status, reply.text());
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Starts to record the SQL statements of the service, for [`App::take_statements`].
    pub fn record_statements(&self) {
        statements::record(&self.database);
    }

    /// Returns the statements recorded since the last call, oldest first, each with its values after ` -- binds: `.
    /// Entries that start with `cached: ` are statements that a connection keeps prepared from then on.
    pub fn take_statements(&self) -> Vec<String> {
        statements::take(&self.database)
    }

    /// Returns SQLite's query plan of a recorded statement. The planner uses the estimates that the migrations store,
    /// not the rows, so an empty database gives the plan of a full one.
    pub fn query_plan(&self, statement: &str) -> String {
        self.database.query_plan(statement.split(" -- binds").next().unwrap_or_default())
    }

    /// Stops the service and returns its database.
    pub async fn stop(self) -> TestDatabase {
        self.running.stop().await;
        self.database
    }

    /// Drains and stops the service as a signal does. Stops at once when `stop_now` completes, as a second signal does.
    pub async fn drain_and_stop(self, stop_now: impl Future<Output = ()>) {
        self.running.drain_and_stop(stop_now).await;
    }
}

/// Returns the configuration of a service in tests: this database and the key of the test users.
pub fn config<S: Service>(database: &TestDatabase, settings: S::Settings) -> Config<S::Settings> {
    Config {
        server: Server { workers: 2, shutdown_seconds: 5, ..Server::default() },
        database: DatabaseConfig {
            url: database.url.clone().into(),
            pool_size: 4,
            ..DatabaseConfig::default()
        },
        auth: Auth {
            jwks_file: Some(jwks_file().to_owned()),
            issuer: Some(ISSUER.into()),
            audience: Some(AUDIENCE.into()),
            ..Auth::default()
        },
        service: settings,
        ..Config::default()
    }
}
