//! A running service.

use common::config::{Auth, Config, DatabaseConfig, Server};
use common::{Running, Service};

use crate::client::TestRequest;
use crate::{AUDIENCE, Backend, ISSUER, TestDatabase, jwks_file, statements};

/// A service that listens on a free port, the real thing but for its database.
pub struct App {
    /// Its base URL.
    pub url: String,
    client: reqwest::Client,
    running: Running,
    /// Gone when this is dropped.
    pub database: TestDatabase,
}

impl App {
    /// Starts a service over a fresh database.
    pub async fn start<S: Service>(backend: Backend, settings: S::Settings) -> Self {
        let database = TestDatabase::new::<S>(backend).await;
        Self::start_on::<S>(database, settings).await
    }

    /// Starts a service over a given database.
    pub async fn start_on<S: Service>(database: TestDatabase, settings: S::Settings) -> Self {
        let config = config::<S>(&database, settings);
        Self::start_with::<S>(database, config).await
    }

    /// Starts another instance over the database of this one, which keeps it.
    pub async fn start_replica<S: Service>(other: &Self, settings: S::Settings) -> Self {
        Self::start_on::<S>(other.database.shared(), settings).await
    }

    /// Starts a service that is told more than the usual, beginning from [`config`].
    pub async fn start_with<S: Service>(database: TestDatabase, config: Config<S::Settings>) -> Self {
        statements::listen();
        let running = common::start::<S>(config).await.expect("the service starts");
        Self { url: format!("http://{}", running.address), client: reqwest::Client::new(), running, database }
    }

    /// A request with this method to this path.
    pub fn call(&self, method: &str, path: &str) -> TestRequest {
        let method = method.parse().expect("a method");
        TestRequest::new(self.client.request(method, format!("{}{path}", self.url)))
    }

    /// `GET path`
    pub fn get(&self, path: &str) -> TestRequest {
        self.call("GET", path)
    }

    /// `POST path`
    pub fn post(&self, path: &str) -> TestRequest {
        self.call("POST", path)
    }

    /// From now on [`App::statements`] are kept.
    pub fn record_statements(&self) {
        statements::watch(&self.database);
    }

    /// What was asked of the database since the last time, in order: each statement with its values behind
    /// ` -- binds: `.
    pub fn take_statements(&self) -> Vec<String> {
        statements::take(&self.database)
    }

    /// How SQLite goes about a statement. It decides by the migrations' estimates and without looking at the rows, so
    /// an empty database shows what a full one does.
    pub fn query_plan(&self, statement: &str) -> String {
        self.database.plan(statement.split(" -- binds").next().unwrap_or_default())
    }

    /// Stops the service and keeps its database.
    pub async fn stop(self) -> TestDatabase {
        self.running.stop().await;
        self.database
    }

    /// Stops it as a signal does, and another one when it is `enough`.
    pub async fn drain_and_stop(self, enough: impl Future<Output = ()>) {
        self.running.drain_and_stop(enough).await;
    }
}

/// What a service is told in tests: this database, the test users' keys.
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
