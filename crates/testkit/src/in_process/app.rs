//! A service that runs in the test's process, and an HTTP client of it.

use std::time::{Duration, Instant};

use common::config::{Auth, Config, DatabaseConfig, Server};
use common::{Running, Service};
use database::{AnyConnection, Database, Error, Options};
use diesel::RunQueryDsl;
use diesel::connection::SimpleConnection;
use reqwest::RequestBuilder;
use reqwest::header::HeaderMap;
use reqwest::multipart::Form;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::database::{Backend, TestDatabase, install_listener, options, record_statements, take_statements};
use super::user::{AUDIENCE, ISSUER, User, jwks_file};

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
        install_listener();
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

    /// Reads the pages of a list: the one at this path and those to which the links of each lead.
    pub async fn pages(&self, user: &User, path: &str) -> Vec<TestResponse> {
        let (mut pages, mut next) = (Vec::new(), Some(path.to_owned()));
        while let Some(path) = next {
            let page = self.get(&path).by(user).send().await;
            next = page.link("next");
            pages.push(page);
        }
        pages
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
        record_statements(&self.database);
    }

    /// Returns the statements recorded since the last call, oldest first, each with its values after ` -- binds: `.
    /// Entries that start with `cached: ` are statements that a connection keeps prepared from then on.
    pub fn take_statements(&self) -> Vec<String> {
        take_statements(&self.database)
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

/// A request under construction.
pub struct TestRequest(RequestBuilder);

impl TestRequest {
    pub(crate) fn new(request: RequestBuilder) -> Self {
        Self(request)
    }

    /// Sets the token of this user.
    pub fn by(self, user: &User) -> Self {
        self.bearer(&user.token())
    }

    /// Sets a bearer token.
    pub fn bearer(self, token: &str) -> Self {
        Self(self.0.bearer_auth(token))
    }

    /// Adds a header.
    pub fn header(self, name: &str, value: &str) -> Self {
        Self(self.0.header(name, value))
    }

    /// Sets a JSON body.
    pub fn json(self, body: &Value) -> Self {
        Self(self.0.json(body))
    }

    /// Sets the body and its content type.
    pub fn body(self, content_type: &str, body: impl Into<reqwest::Body>) -> Self {
        Self(self.0.header("content-type", content_type).body(body))
    }

    /// Sets a multipart form as the body.
    pub fn form(self, form: Form) -> Self {
        Self(self.0.multipart(form))
    }

    /// Sends the request and reads the complete response.
    pub async fn send(self) -> TestResponse {
        let mut response = self.0.send().await.expect("a response");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        if headers.get("content-type").is_some_and(|content_type| content_type == "text/event-stream") {
            let mut bytes = Vec::new();
            while let Ok(Ok(Some(chunk))) = tokio::time::timeout(QUIET, response.chunk()).await {
                bytes.extend(chunk);
            }
            return TestResponse { status, headers, bytes };
        }
        TestResponse { status, headers, bytes: response.bytes().await.expect("a complete body").to_vec() }
    }

    /// Sends the request and returns the response while its body arrives.
    pub async fn open(self) -> reqwest::Response {
        self.0.send().await.unwrap()
    }
}

/// Reads a response that was [opened](TestRequest::open) until it has a text.
///
/// # Panics
/// If the response ends before, or sends nothing for five seconds.
pub async fn read_until(response: &mut reqwest::Response, text: &str) -> String {
    let mut read = String::new();
    while !read.contains(text) {
        let chunk = timeout(Duration::from_secs(5), response.chunk()).await;
        let chunk = chunk.unwrap_or_else(|_| panic!("{text} does not arrive: {read}")).unwrap();
        let chunk = chunk.unwrap_or_else(|| panic!("the response ended: {read}"));
        read.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    read
}

/// A stream without a part for so long has sent what it had.
const QUIET: Duration = Duration::from_millis(500);

/// A response with its complete body; of a stream, with the part that it sends at once.
#[derive(Debug)]
pub struct TestResponse {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// Body.
    pub bytes: Vec<u8>,
}

impl TestResponse {
    /// Parses the body as JSON.
    ///
    /// # Panics
    /// If the body is not JSON, with the body in the message.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    /// Returns the body as text, with replacement characters for invalid UTF-8.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Returns a header's value, or an empty string without the header.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
    }

    /// Returns path and query of the link with this relation, such as `next`.
    pub fn link(&self, relation: &str) -> Option<String> {
        self.header("link").split(", ").find_map(|link| {
            let (url, rest) = link.strip_prefix('<')?.split_once(">; rel=\"")?;
            (rest.strip_suffix('"')? == relation).then(|| url[url.find("/v1/").expect("a path")..].to_owned())
        })
    }

    /// Returns the entries of a list in a 200 response.
    ///
    /// # Panics
    /// If the status is another, with the body in the message, or the body no list.
    pub fn entries(self) -> Vec<Value> {
        self.ok().as_array().expect("a list").clone()
    }

    /// Returns the JSON body of a 200 response.
    ///
    /// # Panics
    /// If the status is another, with the body in the message.
    pub fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()
    }

    /// Returns the `code` of an error response with this status.
    ///
    /// # Panics
    /// If the status is another, with the body in the message.
    pub fn error(self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        self.json()["code"].as_str().expect("a code").to_owned()
    }

    /// Returns `path code` of every entry of `validation` in a 400 response, sorted.
    ///
    /// # Panics
    /// If the status is another, with the body in the message.
    pub fn errors(self) -> Vec<String> {
        assert_eq!(self.status, 400, "{}", self.text());
        let body = self.json();
        let entries = body["validation"].as_array().expect("an array").iter();
        let text = |v: &Value| v.as_str().expect("a string").to_owned();
        let mut errors: Vec<_> =
            entries.map(|e| format!("{} {}", text(&e["path"]), text(&e["code"]))).collect();
        errors.sort();
        errors
    }
}

/// A plan and what its execution read.
#[derive(Debug)]
pub struct ExecutedPlan {
    /// Its steps.
    pub text: String,
    /// The pages that it read, from the cache or the disk.
    pub pages: u64,
}

#[derive(diesel::QueryableByName)]
struct PlanLine {
    #[diesel(sql_type = diesel::sql_types::Text, column_name = "QUERY PLAN")]
    line: String,
}

impl App {
    /// Executes a recorded statement on PostgreSQL again: with the plan that the service keeps for all values, and with
    /// one for the recorded values.
    pub async fn executed_plans<S: Service>(&self, statement: &str) -> [ExecutedPlan; 2] {
        let options = Options { migrate: false, ..options(&self.database.url, S::NAME) };
        let db = Database::open(options, Vec::new).await.unwrap();
        let (sql, values) = statement.split_once(" -- binds: ").expect("a recorded statement");
        let (sql, values) = (sql.to_owned(), literals(values));
        let explain = move |c: &mut AnyConnection| Ok::<_, Error>(explain(c, &sql, &values));
        [db.read_with_reusable_plan(explain.clone()).await.unwrap(), db.read(explain).await.unwrap()]
    }
}

fn explain(c: &mut AnyConnection, sql: &str, values: &str) -> ExecutedPlan {
    let AnyConnection::Postgres(c) = c else { panic!("a PostgreSQL database") };
    c.batch_execute(&format!("PREPARE explained AS {sql}")).unwrap();
    let explain = "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE explained";
    let lines: Vec<PlanLine> = diesel::sql_query(format!("{explain} ({values})")).load(c).unwrap();
    c.batch_execute("DEALLOCATE explained").unwrap();
    let first = lines.iter().find_map(|line| line.line.trim_start().strip_prefix("Buffers: shared "));
    let counts = first.unwrap_or_default().split(' ').filter_map(|count| count.split_once('='));
    let pages =
        counts.filter(|(kind, _)| ["hit", "read"].contains(kind)).map(|(_, count)| count.parse::<u64>());
    let pages = pages.map(Result::unwrap).sum();
    ExecutedPlan { text: lines.into_iter().map(|line| line.line + "\n").collect(), pages }
}

/// Returns values as Diesel writes them for debugging as SQL literals.
fn literals(values: &str) -> String {
    let json = values.replace("Timestamp(", "\"").replace("Id(", "\"").replace(')', "\"");
    let values: Vec<Value> = serde_json::from_str(&json).unwrap_or_else(|e| panic!("{e}: {values}"));
    values.iter().map(literal).collect::<Vec<_>>().join(", ")
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Array(values) => {
            format!("ARRAY[{}]", values.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
