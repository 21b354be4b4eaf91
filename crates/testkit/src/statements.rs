//! What a service asks of its database, statement by statement.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, Once, PoisonError};

use diesel::connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation};

use crate::TestDatabase;

/// The statements of each database that is watched, by what its connections' URLs end with.
static WATCHED: LazyLock<Mutex<HashMap<String, Vec<String>>>> = LazyLock::new(Mutex::default);

fn watched() -> MutexGuard<'static, HashMap<String, Vec<String>>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has every connection that is opened from now on say what it does.
pub(crate) fn listen() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| set_default_instrumentation(listener).expect("the first to set it"));
}

#[expect(clippy::unnecessary_wraps, reason = "what Diesel asks for")]
fn listener() -> Option<Box<dyn Instrumentation>> {
    let mut opened = String::new();
    Some(Box::new(move |event: InstrumentationEvent<'_>| {
        let said = match event {
            InstrumentationEvent::StartEstablishConnection { url, .. } => {
                url.clone_into(&mut opened);
                return;
            }
            InstrumentationEvent::StartQuery { query, .. } => query.to_string(),
            InstrumentationEvent::CacheQuery { sql, .. } => format!("kept: {sql}"),
            _ => return,
        };
        if let Some((_, all)) = watched().iter_mut().find(|(name, _)| opened.contains(name.as_str())) {
            all.push(said);
        }
    }))
}

/// What is said of this database is kept from now on.
pub(crate) fn watch(database: &TestDatabase) {
    watched().insert(key(database), Vec::new());
}

/// What was said since the last time, in order: each statement with its values behind ` -- binds: `; and `kept: `
/// with one that a connection keeps prepared from now on.
pub(crate) fn take(database: &TestDatabase) -> Vec<String> {
    watched().get_mut(&key(database)).map(std::mem::take).expect("a database that is watched")
}

/// The path of a file, the name of a database on the server.
fn key(database: &TestDatabase) -> String {
    let url = &database.url;
    url.strip_prefix("sqlite://").or_else(|| url.rsplit('/').next()).unwrap_or(url).to_owned()
}
