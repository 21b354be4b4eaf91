//! Records the SQL statements that a service sends to its database.

use std::collections::HashMap;
use std::sync::{LazyLock, Once};

use diesel::connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation};
use parking_lot::Mutex;

use crate::TestDatabase;

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
pub(crate) fn record(database: &TestDatabase) {
    RECORDED.lock().insert(key(database), Vec::new());
}

/// Returns the statements recorded since the last call, oldest first, each with its values after ` -- binds: `. Entries
/// that start with `cached: ` are statements that a connection keeps prepared from then on.
pub(crate) fn take(database: &TestDatabase) -> Vec<String> {
    RECORDED.lock().get_mut(&key(database)).map(std::mem::take).expect("a recorded database")
}

/// Returns the end of the database's connection URL that identifies it: the file's path on SQLite, the database's name
/// on PostgreSQL.
fn key(database: &TestDatabase) -> String {
    let url = &database.url;
    url.strip_prefix("sqlite://").or_else(|| url.rsplit('/').next()).unwrap_or(url).to_owned()
}
