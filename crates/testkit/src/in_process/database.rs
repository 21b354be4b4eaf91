//! Fresh databases within milliseconds: a new file on SQLite, a clone of a migrated template on PostgreSQL. They record
//! the statements of a service, and are searched for a text.

use std::collections::{HashMap, HashSet};
use std::sync::{LazyLock, Once};
use std::time::Duration;

use common::Service;
use database::{Database, Options, Pooler};
use diesel::connection::{
    Instrumentation, InstrumentationEvent, SimpleConnection, set_default_instrumentation,
};
use diesel::prelude::*;
use diesel::sql_types::Text;
use parking_lot::Mutex;
use uuid::Uuid;

use super::url_from_env;

/// The database system that a test uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// A file in a temporary directory.
    Sqlite,
    /// A new database on the server at `DROVER_TEST_POSTGRES`.
    Postgres,
}

impl Backend {
    /// SQL of the time this many hours ago.
    pub fn hours_ago(self, hours: u32) -> String {
        match self {
            Self::Sqlite => format!("CAST((unixepoch('subsec') - {hours} * 3600) * 1000 AS INTEGER)"),
            Self::Postgres => format!("now() - interval '{hours} hours'"),
        }
    }

    /// SQL of an id.
    pub fn id(self, id: &str) -> String {
        match self {
            Self::Sqlite => format!("X'{}'", id.replace('-', "")),
            Self::Postgres => format!("'{id}'"),
        }
    }

    /// SQL of an id that has the number `n`.
    pub fn numbered_id(self) -> &'static str {
        match self {
            Self::Sqlite => "unhex(printf('019ad00000007000%016x', n))",
            Self::Postgres => {
                "('019ad000-0000-7000-' || regexp_replace(lpad(to_hex(n), 16, '0'), '^(.{4})', '\\1-'))::uuid"
            }
        }
    }

    /// SQL of a table `numbers (n)` with the numbers from 1 to `last`, for `FROM`.
    pub fn numbers(self, last: usize) -> String {
        match self {
            Self::Sqlite => format!(
                "(WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < {last}) \
                 SELECT n FROM r) AS numbers"
            ),
            Self::Postgres => format!("generate_series(1, {last}) AS numbers (n)"),
        }
    }
}

/// Returns options of a database with two connections whose migrations are applied.
pub fn options(url: &str, schema: &'static str) -> Options {
    Options {
        url: url.into(),
        schema,
        pool_size: 2,
        pooler: Pooler::None,
        migrate: true,
        wait_timeout: Duration::from_secs(5),
    }
}

/// A database for one test, removed when this is dropped.
pub struct TestDatabase {
    /// Connection URL, as in the setting `database.url`.
    pub url: String,
    /// The directory of the SQLite file.
    _directory: Option<tempfile::TempDir>,
    /// The name of the PostgreSQL database.
    name: Option<String>,
    /// The schema of the service on PostgreSQL.
    schema: Option<&'static str>,
}

/// Executes SQL statements on a new connection to the database at this URL.
pub fn execute(url: &str, sql: &str) {
    execute_in(None, url, sql);
}

/// Executes SQL statements that name tables of this schema without it.
fn execute_in(schema: Option<&str>, url: &str, sql: &str) {
    if let Some(file) = url.strip_prefix("sqlite://") {
        let mut c = SqliteConnection::establish(file).unwrap();
        c.batch_execute(&format!("PRAGMA busy_timeout=5000; {sql}")).unwrap();
        return;
    }
    let mut c = connect(schema, url);
    if citus_worker().is_none() {
        return c.batch_execute(sql).unwrap();
    }
    // Citus refuses some statements if they are sent together.
    for statement in database::split_statements(sql) {
        c.batch_execute(statement).unwrap();
    }
}

fn connect(schema: Option<&str>, url: &str) -> PgConnection {
    let mut c = PgConnection::establish(url).unwrap();
    if let Some(schema) = schema {
        c.batch_execute(&format!("SET search_path TO {schema}, public")).unwrap();
    }
    c
}

impl TestDatabase {
    /// Creates an empty database with the tables of a service. On SQLite the service creates the tables when it starts.
    pub async fn new<S: Service>(backend: Backend) -> Self {
        match backend {
            Backend::Sqlite => Self::file(),
            Backend::Postgres => {
                let mut database = tokio::task::spawn_blocking(clone_template::<S>).await.unwrap();
                database.schema = Some(S::NAME);
                database
            }
        }
    }

    /// Creates a database without tables.
    pub async fn empty(backend: Backend) -> Self {
        match backend {
            Backend::Sqlite => Self::file(),
            Backend::Postgres => tokio::task::spawn_blocking(|| clone_of("template0")).await.unwrap(),
        }
    }

    /// Uses the database at a URL, which is not removed.
    pub fn at(url: String) -> Self {
        Self { url, _directory: None, name: None, schema: None }
    }

    fn file() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", directory.path().join("test.sqlite").display());
        Self { url, _directory: Some(directory), name: None, schema: None }
    }

    /// Returns another handle to the database, which does not remove it when dropped.
    pub(crate) fn shared(&self) -> Self {
        let mut database = Self::at(self.url.clone());
        database.schema = self.schema;
        database
    }

    /// Executes SQL statements on a new connection, without the service. They name tables without their schema.
    pub fn execute(&self, sql: &str) {
        execute_in(self.schema, &self.url, sql);
        if self.name.is_some() && citus_worker().is_some() {
            // Facets wait until Citus forgets transactions on several servers, which most requests are not.
            execute(
                &self.url,
                "DO 'BEGIN PERFORM recover_prepared_transactions(); EXCEPTION WHEN undefined_function THEN END'",
            );
        }
    }

    /// Counts the rows of a table, whose name does not include its schema.
    pub fn count(&self, table: &str) -> i64 {
        let query = diesel::sql_query(format!("SELECT count(*) AS n FROM {table}"));
        let row: RowCount = match self.url.strip_prefix("sqlite://") {
            Some(file) => query.get_result(&mut SqliteConnection::establish(file).unwrap()).unwrap(),
            None => query.get_result(&mut connect(self.schema, &self.url)).unwrap(),
        };
        row.n
    }

    /// Terminates all connections to the database, on PostgreSQL.
    pub fn terminate_connections(&self) {
        execute_on_server(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'",
            self.name()
        ));
    }

    pub(crate) fn query_plan(&self, sql: &str) -> String {
        let file = self.url.strip_prefix("sqlite://").expect("a SQLite database");
        let mut c = SqliteConnection::establish(file).unwrap();
        let steps = diesel::sql_query(format!("EXPLAIN QUERY PLAN {sql}")).load::<PlanStep>(&mut c).unwrap();
        steps.into_iter().map(|step| step.detail + "\n").collect()
    }

    /// Returns the name of the database on the PostgreSQL server.
    ///
    /// # Panics
    /// On SQLite.
    pub fn name(&self) -> &str {
        self.name.as_deref().expect("a PostgreSQL database")
    }
}

#[derive(diesel::QueryableByName)]
struct PlanStep {
    #[diesel(sql_type = diesel::sql_types::Text)]
    detail: String,
}

#[derive(diesel::QueryableByName)]
struct RowCount {
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    n: i64,
}

static TEMPLATES: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);

/// Clones the migrated template of a service. The first call in a process creates the template.
fn clone_template<S: Service>() -> TestDatabase {
    static RUN: LazyLock<Uuid> = LazyLock::new(Uuid::new_v4);
    let template = format!("template_{}_{}", S::NAME, RUN.simple());
    let mut templates = TEMPLATES.lock();
    if !templates.contains(&template) {
        execute_on_servers(&format!("CREATE DATABASE {template} TEMPLATE template0"));
        let url = url_of(&template);
        let migrate = || {
            let options = options(&url, S::NAME);
            Database::migrate(&options, common::migrations::<S>()).expect("the migrations run");
        };
        if places_schemas() {
            // The extension cannot be in the schema.
            execute(&url, "CREATE EXTENSION pg_trgm SCHEMA public");
        }
        migrate();
        if let Some(worker) = citus_worker() {
            make_coordinator(&template, &worker);
            if places_schemas() {
                execute(&url, &format!("SELECT citus_schema_distribute('{}')", S::NAME));
            }
            migrate();
            // Citus has connections of its own, and a database with connections cannot be cloned.
            execute_on_servers(&format!("ALTER DATABASE {template} ALLOW_CONNECTIONS false"));
            execute_on_servers(&format!(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{template}'"
            ));
        }
        templates.insert(template.clone());
    }
    drop(templates);
    clone_of(&template)
}

/// Creates a database as a clone of a template.
fn clone_of(template: &str) -> TestDatabase {
    let name = format!("test_{}", Uuid::new_v4().simple());
    execute_on_servers(&format!("CREATE DATABASE {name} TEMPLATE {template}"));
    TestDatabase { url: url_of(&name), _directory: None, name: Some(name), schema: None }
}

/// Executes SQL statements in the maintenance database of the test server, as its superuser.
pub fn execute_on_server(sql: &str) {
    let mut admin = PgConnection::establish(&server_url()).expect("the test server answers");
    admin.batch_execute(sql).unwrap();
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let Some(name) = &self.name else { return };
        for server in [server_url()].into_iter().chain(citus_worker()) {
            if let Ok(mut admin) = PgConnection::establish(&server) {
                let _ = admin.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
            }
        }
    }
}

/// Makes a database the coordinator of Citus, with a worker.
fn make_coordinator(name: &str, worker: &str) {
    for server in [url_of(name), database_at(worker, name)] {
        execute(&server, "CREATE EXTENSION citus");
    }
    let port = worker.rsplit_once('/').and_then(|(server, _)| server.rsplit(':').next()).unwrap();
    execute(
        &url_of(name),
        &format!(
            "SELECT citus_set_coordinator_host('127.0.0.1', current_setting('port')::int);
             SELECT citus_add_node('127.0.0.1', {port})"
        ),
    );
}

/// Executes SQL statements as [`execute_on_server`], and on the worker of Citus if there is one.
fn execute_on_servers(sql: &str) {
    execute_on_server(sql);
    if let Some(worker) = citus_worker() {
        execute(&worker, sql);
    }
}

/// Returns the URL of the worker, if the test server is a coordinator of Citus. Then it spreads the rows of all tests.
fn citus_worker() -> Option<String> {
    std::env::var("DROVER_TEST_CITUS_WORKER").ok()
}

/// Returns true if Citus places whole schemas instead of rows.
fn places_schemas() -> bool {
    std::env::var("DROVER_TEST_CITUS_BY").is_ok_and(|by| by == "schema")
}

/// Returns `postgres://USER:PASSWORD@HOST:PORT/postgres` of the test server.
fn server_url() -> String {
    url_from_env("DROVER_TEST_POSTGRES")
}

/// Returns the URL of a database on the test server.
fn url_of(name: &str) -> String {
    database_at(&server_url(), name)
}

fn database_at(server: &str, name: &str) -> String {
    let (base, _) = server.rsplit_once('/').expect("a database URL");
    format!("{base}/{name}")
}

/// A column of a table.
#[derive(QueryableByName)]
struct ColumnRow {
    #[diesel(sql_type = Text)]
    table_name: String,
    #[diesel(sql_type = Text)]
    column_name: String,
    #[diesel(sql_type = Text)]
    column_type: String,
}

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = diesel::sql_types::Bool)]
    found: bool,
}

impl TestDatabase {
    /// Returns the columns of all tables that contain the text in any case, as `table.column`, sorted. On SQLite also
    /// the files of the database with it, as `file` and `log`: deleted rows may still be there.
    pub fn mentions(&self, text: &str) -> Vec<String> {
        let mut found = match self.url.strip_prefix("sqlite://") {
            Some(file) => {
                let mut columns = sqlite_mentions(&mut SqliteConnection::establish(file).unwrap(), text);
                for (name, path) in [("file", file.to_owned()), ("log", format!("{file}-wal"))] {
                    let bytes = std::fs::read(path).unwrap_or_default();
                    if String::from_utf8_lossy(&bytes).to_lowercase().contains(&text.to_lowercase()) {
                        columns.push(name.to_owned());
                    }
                }
                columns
            }
            None => postgres_mentions(&mut PgConnection::establish(&self.url).unwrap(), text),
        };
        found.sort();
        found
    }
}

fn sqlite_mentions(c: &mut SqliteConnection, text: &str) -> Vec<String> {
    // The shadow tables of a full-text index are listed as well.
    let columns = "SELECT t.name AS table_name, c.name AS column_name, c.type AS column_type
        FROM pragma_table_list AS t JOIN pragma_table_xinfo(t.name) AS c
        WHERE t.schema = 'main' AND t.type IN ('table', 'shadow') AND t.name <> 'sqlite_schema'";
    let columns: Vec<ColumnRow> = diesel::sql_query(columns).load(c).unwrap();
    let mut found = Vec::new();
    for ColumnRow { table_name, column_name, .. } in columns {
        let any = format!(
            "SELECT EXISTS (SELECT 1 FROM \"{table_name}\"
             WHERE instr(lower(CAST(\"{column_name}\" AS TEXT)), lower($1)) > 0) AS found"
        );
        if diesel::sql_query(any).bind::<Text, _>(text).get_result::<Found>(c).unwrap().found {
            found.push(format!("{table_name}.{column_name}"));
        }
    }
    found
}

fn postgres_mentions(c: &mut PgConnection, text: &str) -> Vec<String> {
    let columns =
        "SELECT format('%I.%I', table_schema, table_name) AS table_name, column_name::text AS column_name,
        data_type::text AS column_type
        FROM information_schema.columns WHERE table_schema NOT IN ('pg_catalog', 'information_schema')";
    let columns: Vec<ColumnRow> = diesel::sql_query(columns).load(c).unwrap();
    let mut found = Vec::new();
    for ColumnRow { table_name, column_name, column_type } in columns {
        let value = match &*column_type {
            "bytea" => format!("encode(\"{column_name}\", 'escape')"),
            _ => format!("\"{column_name}\"::text"),
        };
        let any = format!(
            "SELECT EXISTS (SELECT 1 FROM {table_name} WHERE strpos(lower({value}), lower($1)) > 0) AS found"
        );
        if diesel::sql_query(any).bind::<Text, _>(text).get_result::<Found>(c).unwrap().found {
            let table = table_name.rsplit('.').next().unwrap();
            found.push(format!("{table}.{column_name}"));
        }
    }
    found
}

/// Statements of each recorded database, keyed by [`key`].
static RECORDED: LazyLock<Mutex<HashMap<String, Vec<String>>>> = LazyLock::new(Mutex::default);

/// Instruments all connections that are opened from now on.
pub(crate) fn install_listener() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| set_default_instrumentation(listener).expect("no other instrumentation"));
}

#[expect(clippy::unnecessary_wraps, reason = "Diesel expects a function that returns an Option")]
fn listener() -> Option<Box<dyn Instrumentation>> {
    let mut connection_url = String::new();
    Some(Box::new(move |event: InstrumentationEvent<'_>| {
        let statement = match event {
            InstrumentationEvent::StartEstablishConnection { url, .. } => {
                url.clone_into(&mut connection_url);
                return;
            }
            InstrumentationEvent::StartQuery { query, .. } => query.to_string(),
            InstrumentationEvent::CacheQuery { sql, .. } => format!("cached: {sql}"),
            _ => return,
        };
        let mut recorded = RECORDED.lock();
        if let Some((_, statements)) =
            recorded.iter_mut().find(|(key, _)| connection_url.contains(key.as_str()))
        {
            statements.push(statement);
        }
    }))
}

/// Starts to record the statements of a database.
pub(crate) fn record_statements(database: &TestDatabase) {
    RECORDED.lock().insert(key(database), Vec::new());
}

/// Returns the statements recorded since the last call, oldest first, each with its values after ` -- binds: `. Entries
/// that start with `cached: ` are statements that a connection keeps prepared from then on.
pub(crate) fn take_statements(database: &TestDatabase) -> Vec<String> {
    RECORDED.lock().get_mut(&key(database)).map(std::mem::take).expect("a recorded database")
}

/// Returns the end of the database's connection URL that identifies it: the file's path on SQLite, the database's name
/// on PostgreSQL.
fn key(database: &TestDatabase) -> String {
    let url = &database.url;
    url.strip_prefix("sqlite://").or_else(|| url.rsplit('/').next()).unwrap_or(url).to_owned()
}
