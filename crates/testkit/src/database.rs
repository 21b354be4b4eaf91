//! Fresh databases in milliseconds: a new file on SQLite, a clone of a migrated template on PostgreSQL.

use std::collections::HashSet;
use std::sync::{LazyLock, Mutex};

use common::Service;
use database::{Database, Options};
use diesel::connection::SimpleConnection;
use diesel::{Connection, PgConnection};
use uuid::Uuid;

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

impl TestDatabase {
    /// An empty database with the tables of this service.
    pub async fn new<S: Service>(backend: Backend) -> Self {
        match backend {
            Backend::Sqlite => {
                let folder = tempfile::tempdir().unwrap();
                let url = format!("sqlite://{}", folder.path().join("test.sqlite").display());
                Self { url, _folder: Some(folder), name: None }
            }
            Backend::Postgres => tokio::task::spawn_blocking(clone_template::<S>).await.unwrap(),
        }
    }
}

static TEMPLATES: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);

fn clone_template<S: Service>() -> TestDatabase {
    let template = format!("template_{}_{}", S::NAME, std::process::id());
    let mut templates = TEMPLATES.lock().unwrap();
    let mut admin = PgConnection::establish(&server_url()).expect("the test server answers");
    if !templates.contains(&template) {
        admin.batch_execute(&format!("CREATE DATABASE {template}")).unwrap();
        let options = Options {
            url: url_of(&template),
            schema: S::NAME,
            pool_size: 1,
            wait: std::time::Duration::from_secs(5),
        };
        Database::migrate(&options, common::migrations::<S>()).expect("the migrations run");
        templates.insert(template.clone());
    }
    let name = format!("test_{}", Uuid::new_v4().simple());
    admin.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE {template}")).unwrap();
    TestDatabase { url: url_of(&name), _folder: None, name: Some(name) }
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
    std::env::var("DROVER_TEST_POSTGRES").expect(
        "DROVER_TEST_POSTGRES names no server: run the tests with `cargo xtask test`, or start one with \
         `cargo xtask postgres` and set what it prints",
    )
}

fn url_of(name: &str) -> String {
    let server = server_url();
    let (base, _) = server.rsplit_once('/').expect("a database URL");
    format!("{base}/{name}")
}
