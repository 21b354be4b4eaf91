//! Stores changes of many loads with few statements.

use common::Error;
use database::{AnyConnection, Id};
use diesel::prelude::*;
use diesel::upsert::excluded;
use webhooks::Subject;

use super::row::UpdateLoad;
use super::staged::announce_many;
use super::{LoadRow, event_details};
use crate::loads::history::{self, NewEvent};
use crate::loads::model::Load;
use crate::schema::loads::{self, dsl as l};

/// The number of loads that a statement of PostgreSQL changes: it has a parameter for each column.
const LOADS_PER_STATEMENT: usize = 500;

/// A change of a load that keeps its parties, its files and its proof. Names of parties may change.
pub(crate) struct Change<'a> {
    pub before: &'a Load,
    /// The next revision of the load.
    pub load: &'a Load,
    /// Of the same type for all loads.
    pub event: NewEvent<'a>,
}

/// Stores changes of loads and their events, as [`update`](super::update) does for one. No load occurs twice.
pub(crate) fn update_many(c: &mut AnyConnection, changes: &[Change<'_>]) -> Result<(), Error> {
    changes.chunks(LOADS_PER_STATEMENT).try_for_each(|changes| store(c, changes))
}

fn store(c: &mut AnyConnection, changes: &[Change<'_>]) -> Result<(), Error> {
    let ids: Vec<Id> = changes.iter().map(|change| change.load.id).collect();
    announce_many(c, &ids)?;
    let rows = changes.iter().map(|change| LoadRow::new(change.load)).collect::<Result<Vec<_>, Error>>()?;
    match c {
        AnyConnection::Sqlite(c) => {
            for (row, change) in rows.iter().zip(changes) {
                let before = LoadRow::without_document(change.before);
                UpdateLoad { before, row, revision: change.load.revision }.execute(c)?;
            }
        }
        AnyConnection::Postgres(c) => {
            let values: Vec<_> = rows
                .iter()
                .zip(changes)
                .map(|(row, change)| (row, l::revision.eq(change.load.revision)))
                .collect();
            // The rows exist, so that this updates them.
            diesel::insert_into(loads::table)
                .values(values)
                .on_conflict(l::id)
                .do_update()
                .set((
                    l::organiser_id.eq(excluded(l::organiser_id)),
                    l::carrier_id.eq(excluded(l::carrier_id)),
                    l::status.eq(excluded(l::status)),
                    l::delivery_at.eq(excluded(l::delivery_at)),
                    l::completed_at.eq(excluded(l::completed_at)),
                    l::reference_key.eq(excluded(l::reference_key)),
                    l::similarity_key.eq(excluded(l::similarity_key)),
                    l::organiser_key.eq(excluded(l::organiser_key)),
                    l::carrier_key.eq(excluded(l::carrier_key)),
                    l::commodity_key.eq(excluded(l::commodity_key)),
                    l::commodity_id.eq(excluded(l::commodity_id)),
                    l::weight.eq(excluded(l::weight)),
                    l::weight_net.eq(excluded(l::weight_net)),
                    l::search_text.eq(excluded(l::search_text)),
                    l::document.eq(excluded(l::document)),
                    l::revision.eq(excluded(l::revision)),
                ))
                .execute(c)?;
        }
    }
    let events: Vec<_> = changes.iter().map(|change| &change.event).collect();
    history::record_many(c, &events)?;
    report(c, changes, &rows)
}

/// Stores the deliveries of the events to the webhooks of organisers and carriers.
fn report(c: &mut AnyConnection, changes: &[Change<'_>], rows: &[LoadRow]) -> Result<(), Error> {
    let name = changes.first().and_then(|change| change.event.event_type.webhook_event());
    let Some(name) = name else { return Ok(()) };
    let details = changes.iter().map(|change| event_details(&change.event, change.load)?.members());
    let details = details.collect::<Result<Vec<_>, Error>>()?;
    let users: Vec<_> = changes.iter().map(|change| [change.event.caller.user_id.as_str()]).collect();
    let subjects = changes.iter().zip(rows).zip(details.iter().zip(&users));
    let subjects = subjects.map(|((change, row), (details, users))| Subject {
        organisations: row.organisations(),
        reaches_all: true,
        cause: change.event.caller.organisation_id_or_empty(),
        id: change.load.id,
        document: &row.document,
        details,
        users,
    });
    let subjects: Vec<_> = subjects.collect();
    let mut reported = 0;
    while reported < subjects.len() {
        reported += webhooks::emit_many(c, name, "load", &subjects[reported..])?.subjects;
    }
    Ok(())
}
