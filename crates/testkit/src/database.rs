//! Fresh databases in milliseconds: a new file on SQLite, a clone of a migrated template on PostgreSQL.

use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use common::Service;
use database::{Database, Options};
use diesel::connection::SimpleConnection;
use diesel::{Connection, PgConnection, RunQueryDsl, SqliteConnection};
use uuid::Uuid;

use crate::server::named;

/// Which database a test runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// A file in a temporary folder.
    Sqlite,
    /// A database of its own on the server that `DROVER_TEST_POSTGRES` names.
    Postgres,
}

/// A database that is removed when this is dropped.
pub struct TestDatabase {
    /// As a service takes it.
    pub url: String,
    /// The folder of the SQLite file.
    _folder: Option<tempfile::TempDir>,
    /// The name of the PostgreSQL database.
    name: Option<String>,
}

/// Runs statements in the database at this URL, on a connection of their own.
pub fn execute(url: &str, sql: &str) {
    match url.strip_prefix("sqlite://") {
        Some(file) => {
            let mut c = SqliteConnection::establish(file).unwrap();
            c.batch_execute(&format!("PRAGMA busy_timeout=5000; {sql}")).unwrap();
        }
        None => PgConnection::establish(url).unwrap().batch_execute(sql).unwrap(),
    }
}

impl TestDatabase {
    /// An empty database with the tables of this service; on SQLite the service makes them when it starts.
    pub async fn new<S: Service>(backend: Backend) -> Self {
        match backend {
            Backend::Sqlite => Self::file(),
            Backend::Postgres => tokio::task::spawn_blocking(clone_template::<S>).await.unwrap(),
        }
    }

    /// A database without tables.
    pub async fn empty(backend: Backend) -> Self {
        match backend {
            Backend::Sqlite => Self::file(),
            Backend::Postgres => tokio::task::spawn_blocking(|| clone_of("template0")).await.unwrap(),
        }
    }

    fn file() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("test.sqlite").display());
        Self { url, _folder: Some(folder), name: None }
    }

    /// The same database, which stays when this is dropped.
    pub(crate) fn shared(&self) -> Self {
        Self { url: self.url.clone(), _folder: None, name: None }
    }

    /// Runs statements behind the service's back.
    pub fn execute(&self, sql: &str) {
        execute(&self.url, sql);
    }

    /// How many rows a table has; on PostgreSQL its name begins with its schema.
    pub fn count(&self, table: &str) -> i64 {
        let query = diesel::sql_query(format!("SELECT count(*) AS n FROM {table}"));
        let counted: Counted = match self.url.strip_prefix("sqlite://") {
            Some(file) => query.get_result(&mut SqliteConnection::establish(file).unwrap()).unwrap(),
            None => query.get_result(&mut PgConnection::establish(&self.url).unwrap()).unwrap(),
        };
        counted.n
    }

    pub(crate) fn plan(&self, sql: &str) -> String {
        let file = self.url.strip_prefix("sqlite://").expect("a SQLite database");
        let mut c = SqliteConnection::establish(file).unwrap();
        let steps = diesel::sql_query(format!("EXPLAIN QUERY PLAN {sql}")).load::<Step>(&mut c).unwrap();
        steps.into_iter().map(|step| step.detail + "\n").collect()
    }

    /// The name of the database on the PostgreSQL server.
    pub fn name(&self) -> &str {
        self.name.as_deref().expect("a PostgreSQL database")
    }
}

#[derive(diesel::QueryableByName)]
struct Step {
    #[diesel(sql_type = diesel::sql_types::Text)]
    detail: String,
}

#[derive(diesel::QueryableByName)]
struct Counted {
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    n: i64,
}

static TEMPLATES: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);

fn clone_template<S: Service>() -> TestDatabase {
    static RUN: LazyLock<Uuid> = LazyLock::new(Uuid::new_v4);
    let template = format!("template_{}_{}", S::NAME, RUN.simple());
    let mut templates = TEMPLATES.lock().unwrap_or_else(PoisonError::into_inner);
    if !templates.contains(&template) {
        execute_on_server(&format!("CREATE DATABASE {template} TEMPLATE template0"));
        let options = Options {
            url: url_of(&template).into(),
            schema: S::NAME,
            pool_size: 1,
            migrate: true,
            wait: std::time::Duration::from_secs(5),
        };
        Database::migrate(&options, common::migrations::<S>()).expect("the migrations run");
        templates.insert(template.clone());
    }
    drop(templates);
    clone_of(&template)
}

fn clone_of(template: &str) -> TestDatabase {
    let name = format!("test_{}", Uuid::new_v4().simple());
    execute_on_server(&format!("CREATE DATABASE {name} TEMPLATE {template}"));
    TestDatabase { url: url_of(&name), _folder: None, name: Some(name) }
}

/// Runs statements on the test server as its superuser, outside of any test's database.
pub fn execute_on_server(sql: &str) {
    let mut admin = PgConnection::establish(&server_url()).expect("the test server answers");
    admin.batch_execute(sql).unwrap();
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let Some(name) = &self.name else { return };
        if let Ok(mut admin) = PgConnection::establish(&server_url()) {
            let _ = admin.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        }
    }
}

/// `postgres://USER:PASSWORD@HOST:PORT/postgres`
fn server_url() -> String {
    named("DROVER_TEST_POSTGRES")
}

fn url_of(name: &str) -> String {
    let server = server_url();
    let (base, _) = server.rsplit_once('/').expect("a database URL");
    format!("{base}/{name}")
}
