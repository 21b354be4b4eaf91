//! Who has called this service: organisations, and users, any of whom can be a driver.
//!
//! Each replica remembers until the end of the day whom it has seen, so that a request costs a look into memory. What
//! it sees for the first time on a day, it compares with the table, and writes what is new there: at most once a day
//! for an organisation or a user, and once more for the first name.

use std::collections::HashMap;

use common::{Caller, FailureStreak};
use database::{Database, Timestamp};
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;

use super::model::{ContactKind, SeenCaller};
use super::store;

/// The most organisations, and the most users, that a replica remembers.
const MAX_REMEMBERED: usize = 50_000;
/// The most of them that wait to be written. Others are written when they call again.
const MAX_PENDING: usize = 10_000;
/// The number of callers that one transaction writes.
const CALLERS_AT_ONCE: usize = 200;
const MILLIS_PER_DAY: i64 = 86_400_000;

/// The callers that this replica has seen today.
#[derive(Default)]
struct Seen {
    day: i32,
    /// Their names by their ids: organisations and users.
    names: [HashMap<String, Option<String>>; 2],
}

/// Who has called this service, as far as this replica knows.
#[derive(Default)]
pub(crate) struct KnownCallers {
    seen: RwLock<Seen>,
    pending: Mutex<Vec<SeenCaller>>,
    wake: Notify,
}

impl KnownCallers {
    /// Notes that somebody calls.
    pub(crate) fn see(&self, caller: &Caller) {
        let day = i32::try_from(Timestamp::now().millis() / MILLIS_PER_DAY).unwrap_or_default();
        if let Some(own) = &caller.organisation {
            self.note(ContactKind::Organisation, &own.id, own.name.as_deref(), day);
        }
        if !caller.is_service_account {
            let name = Some(caller.user_name.as_str()).filter(|name| *name != caller.user_id);
            self.note(ContactKind::Driver, &caller.user_id, name, day);
        }
    }

    fn note(&self, kind: ContactKind, id: &str, name: Option<&str>, day: i32) {
        let is_noted = |seen: &Seen| {
            let known = seen.names[kind as usize].get(id).filter(|_| seen.day == day);
            known.is_some_and(|known| known.is_some() || name.is_none())
        };
        if is_noted(&self.seen.read()) {
            return;
        }
        let mut seen = self.seen.write();
        if is_noted(&seen) {
            return;
        }
        if seen.day != day {
            *seen = Seen { day, ..Seen::default() };
        }
        let names = &mut seen.names[kind as usize];
        if names.len() >= MAX_REMEMBERED {
            names.clear();
        }
        names.insert(id.to_owned(), name.map(str::to_owned));
        let mut pending = self.pending.lock();
        if pending.len() < MAX_PENDING {
            pending.push(SeenCaller { kind, id: id.to_owned(), name: name.map(str::to_owned), day });
        } else {
            names.remove(id);
        }
        self.wake.notify_one();
    }

    /// Returns true if this replica has seen an organisation or a user.
    pub(super) fn has_seen(&self, kind: ContactKind, id: &str) -> bool {
        self.seen.read().names[kind as usize].contains_key(id)
    }

    /// Returns the name of an organisation or a user whom this replica has seen.
    pub(super) fn name_of(&self, kind: ContactKind, id: &str) -> Option<String> {
        self.seen.read().names[kind as usize].get(id)?.clone()
    }

    /// Writes whom this replica has seen, as long as the service runs.
    pub(crate) async fn run(&self, db: &Database) {
        let mut failures = FailureStreak::default();
        loop {
            let callers: Vec<SeenCaller> = {
                let mut pending = self.pending.lock();
                let count = pending.len().min(CALLERS_AT_ONCE);
                pending.drain(..count).collect()
            };
            if callers.is_empty() {
                self.wake.notified().await;
                continue;
            }
            let written = write(db, callers.clone()).await;
            if let Some(error) = failures.first(&written) {
                tracing::warn!(error = format!("{error:?}"), "failed to write who has called");
            }
            if written.is_err() {
                self.pending.lock().extend(callers);
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            }
        }
    }
}

async fn write(db: &Database, callers: Vec<SeenCaller>) -> Result<(), common::Error> {
    let new = db.read(move |c| store::only_new(c, callers.clone())).await?;
    if new.is_empty() {
        return Ok(());
    }
    db.write(move |c| store::write_callers(c, &new)).await
}
