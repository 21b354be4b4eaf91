//! The queries on the records that have the id or the name of a user.

use std::collections::BTreeSet;

use common::Error;
use common::personal_data::{
    self, DOCUMENT_BATCH_SIZE, ERASED_NAME, Erasure, IdentityColumns, Record, RecordQuery, erase_in,
    erase_uploader_names,
};
use database::{AnyConnection, Id, Json, Timestamp};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use serde_json::{Value, json};

use crate::loads::{Load, names_driver};
use crate::notifications::{Event, Notification};
use crate::schema::load_batches::dsl as b;
use crate::schema::load_creators::dsl as k;
use crate::schema::load_drivers::dsl as d;
use crate::schema::load_events::{self, dsl as e};
use crate::schema::loads::dsl as l;
use crate::schema::notifications::dsl as n;
use crate::schema::user_notes::dsl as t;

/// Lists batches that the user stored.
pub(in crate::personal_data) fn list_batches(
    c: &mut AnyConnection,
    query: &RecordQuery,
) -> Result<Vec<Record>, Error> {
    let rows: Vec<(Id, Json, Timestamp, String)> = b::load_batches
        .filter(b::user_id.eq(&query.user_id))
        .filter(b::id.gt(query.after_id()))
        .order(b::id)
        .limit(query.limit)
        .select((b::id, b::files, b::created_at, b::user_name))
        .load(c)?;
    let record = |(id, files, at, name): (Id, Json, Timestamp, String)| {
        let files: Vec<String> = files.parse()?;
        let batch = json!({
            "id": id, "files": files, "createdAtUTC": at, "userId": query.user_id, "userName": name,
        });
        Record::new(id, &batch)
    };
    rows.into_iter().map(record).collect()
}

/// Lists loads that the user accepted.
pub(in crate::personal_data) fn list_accepted(
    c: &mut AnyConnection,
    query: &RecordQuery,
) -> Result<Vec<Record>, Error> {
    let rows: Vec<(Id, Option<Timestamp>)> = l::loads
        .filter(l::accepted_by.eq(&query.user_id))
        .filter(l::id.gt(query.after_id()))
        .order(l::id)
        .limit(query.limit)
        .select((l::id, l::accepted_at))
        .load(c)?;
    let record = |(id, at): (Id, Option<Timestamp>)| {
        Record::new(id, &json!({ "loadId": id, "userId": query.user_id, "acceptedAtUTC": at }))
    };
    rows.into_iter().map(record).collect()
}

/// Lists files of loads that the user uploaded.
pub(in crate::personal_data) fn list_files(
    c: &mut AnyConnection,
    query: &RecordQuery,
) -> Result<Vec<Record>, Error> {
    personal_data::list_file_references(c, query, "loadId", |c, ids| {
        Ok(l::loads.filter(l::id.eq_any(ids.to_vec())).select((l::id, l::document)).load(c)?)
    })
}

/// Erases the name of the user as the uploader of files of loads, also in notifications about them and, later, in
/// deliveries.
pub(in crate::personal_data) fn erase_files(
    c: &mut AnyConnection,
    erasure: &Erasure,
) -> Result<usize, Error> {
    personal_data::erase_file_references(c, erasure, |c, load_id, files| {
        erase_in_load(c, load_id, files)?;
        erase_in_notifications(c, load_id, erasure, files)?;
        webhooks::queue_erasure(c, load_id, erasure, files)
    })
}

fn erase_in_load(c: &mut AnyConnection, id: Id, files: &BTreeSet<String>) -> Result<(), Error> {
    let columns = (l::document, l::revision, l::batch_id);
    let found = l::loads.find(id).select(columns).first::<(Json, i64, Option<Id>)>(c).optional()?;
    let Some((document, revision, batch_id)) = found else { return Ok(()) };
    let mut load = Load { revision, batch_id, ..document.parse()? };
    if erase_uploader_names(load.all_files_mut(), files) {
        load.revise();
        let changes = (l::document.eq(Json::of(&load)?), l::revision.eq(load.revision));
        diesel::update(l::loads.find(id)).set(changes).execute(c)?;
    }
    Ok(())
}

fn erase_in_notifications(
    c: &mut AnyConnection,
    load_id: Id,
    erasure: &Erasure,
    files: &BTreeSet<String>,
) -> Result<(), Error> {
    let mut after = Id::NIL;
    loop {
        let rows: Vec<(Id, Json)> = n::notifications
            .filter(n::load_id.eq(load_id))
            .filter(n::id.gt(after))
            .order(n::id)
            .limit(DOCUMENT_BATCH_SIZE)
            .select((n::id, n::body))
            .load(c)?;
        let Some((last, _)) = rows.last() else { return Ok(()) };
        after = *last;
        for (id, body) in rows {
            let mut body: Value = body.parse()?;
            if erase_in(&mut body, erasure, files) {
                diesel::update(n::notifications.find(id)).set(n::body.eq(Json::of(&body)?)).execute(c)?;
            }
        }
    }
}

const CREATORS: IdentityColumns = IdentityColumns {
    table: "loads",
    key: "id",
    user_id: "creator_id",
    user_name: Some("creator_name"),
    text: None,
};

/// The most loads that one transaction erases on SQLite, or whose reports it rewrites.
const BATCH_SIZE: i64 = 500;

/// Returns the ids of the next loads that the user created, in ascending order. SQLite has no index of them, but
/// `load_creators`, and the loads that wait for it.
fn list_ids(c: &mut AnyConnection, query: &RecordQuery) -> Result<Vec<Id>, Error> {
    let created =
        l::loads.filter(l::creator_id.eq(&query.user_id)).filter(l::id.gt(query.after_id())).select(l::id);
    if matches!(c, AnyConnection::Postgres(_)) {
        return Ok(created.order(l::id).limit(query.limit).load(c)?);
    }
    // First those that wait: loads that are moved meanwhile are found twice, not missed.
    let waiting = created.filter(sql::<Bool>("n IN (SELECT n FROM loads_unindexed)"));
    let mut ids: BTreeSet<Id> = waiting.load(c)?.into_iter().collect();
    let known = k::load_creators
        .filter(k::creator_id.eq(&query.user_id))
        .filter(k::load_id.gt(query.after_id()))
        .order(k::load_id)
        .limit(query.limit)
        .select(k::load_id);
    ids.extend(known.load::<Id>(c)?);
    Ok(ids.into_iter().take(usize::try_from(query.limit).unwrap_or_default()).collect())
}

/// Lists loads that the user created.
pub(in crate::personal_data) fn list_created(
    c: &mut AnyConnection,
    query: &RecordQuery,
) -> Result<Vec<Record>, Error> {
    let ids = list_ids(c, query)?;
    let rows: Vec<(Id, Option<String>, Json)> = l::loads
        .filter(l::id.eq_any(ids))
        .order(l::id)
        .select((l::id, l::creator_name, l::document))
        .load(c)?;
    let record = |(id, name, document): (Id, Option<String>, Json)| {
        let load: Value = document.parse()?;
        Record::new(id, &json!({ "userId": query.user_id, "userName": name, "load": load }))
    };
    rows.into_iter().map(record).collect()
}

/// Erases the user as the creator of loads.
pub(in crate::personal_data) fn erase_created(
    c: &mut AnyConnection,
    erasure: &Erasure,
) -> Result<usize, Error> {
    if matches!(c, AnyConnection::Postgres(_)) {
        return CREATORS.erase(c, erasure);
    }
    let query = RecordQuery { user_id: erasure.user_id.clone(), after: None, limit: BATCH_SIZE };
    let ids = list_ids(c, &query)?;
    let rows = || l::loads.filter(l::id.eq_any(&ids));
    diesel::update(rows()).set(l::creator_id.eq(&erasure.erased_id)).execute(c)?;
    // A user without a name stays so.
    let named = rows().filter(l::creator_name.is_not_null());
    diesel::update(named).set(l::creator_name.eq(ERASED_NAME)).execute(c)?;
    let of_user = k::load_creators.filter(k::creator_id.eq(&erasure.user_id));
    diesel::delete(of_user.filter(k::load_id.eq_any(&ids))).execute(c)?;
    Ok(ids.len())
}

/// The condition of the index on the notifications of drivers. A literal, because SQLite does not use a partial index
/// with a bound value.
const TO_DRIVER: &str = "event = 'load.sent_to_driver'";

/// Lists loads that were sent to the user and not revoked.
pub(in crate::personal_data) fn list_drivers(
    c: &mut AnyConnection,
    query: &RecordQuery,
) -> Result<Vec<Record>, Error> {
    let rows: Vec<(Id, Option<Timestamp>)> = d::load_drivers
        .filter(d::driver_id.eq(&query.user_id))
        .filter(d::load_id.gt(query.after_id()))
        .order(d::load_id)
        .limit(query.limit)
        .select((d::load_id, d::sent_at))
        .load(c)?;
    let record = |(id, at): (Id, Option<Timestamp>)| {
        Record::new(id, &json!({ "loadId": id, "driverId": query.user_id, "sentAtUTC": at }))
    };
    rows.into_iter().map(record).collect()
}

/// Erases the user in what reports the loads that were sent to the user: messages to all drivers, and deliveries to
/// webhooks.
pub(in crate::personal_data) fn erase_reports(c: &mut AnyConnection, erasure: &Erasure) -> Result<(), Error> {
    let sent = d::load_drivers.filter(d::driver_id.eq(&erasure.user_id)).order(d::load_id);
    let loads: BTreeSet<Id> = sent.limit(BATCH_SIZE).select(d::load_id).load(c)?.into_iter().collect();
    erase_in_reports(c, erasure, &loads)
}

fn erase_in_reports(c: &mut AnyConnection, erasure: &Erasure, loads: &BTreeSet<Id>) -> Result<(), Error> {
    let no_files = BTreeSet::new();
    let to_all_drivers: Vec<(Id, Json)> = n::notifications
        .filter(n::load_id.eq_any(loads))
        .filter(n::event.eq_any([Event::Cancelled.into_str(), Event::Rejected.into_str()]))
        .select((n::id, n::body))
        .load(c)?;
    for (id, body) in to_all_drivers {
        let mut body: Value = body.parse()?;
        if erase_in(&mut body, erasure, &no_files) {
            diesel::update(n::notifications.find(id)).set(n::body.eq(Json::of(&body)?)).execute(c)?;
        }
    }
    loads.iter().try_for_each(|load| webhooks::queue_erasure(c, *load, erasure, &no_files))
}

/// Deletes the times of the last notes of the user, which are events too.
pub(in crate::personal_data) fn delete_note_times(
    c: &mut AnyConnection,
    erasure: &Erasure,
) -> Result<usize, Error> {
    Ok(diesel::delete(t::user_notes.filter(t::user_id.eq(&erasure.user_id))).execute(c)?)
}

/// Lists events that name the user as a driver.
pub(in crate::personal_data) fn list_driver_events(
    c: &mut AnyConnection,
    query: &RecordQuery,
) -> Result<Vec<Record>, Error> {
    let rows: Vec<(i64, Id, Id, String, Timestamp)> = e::load_events
        .filter(sql::<Bool>(names_driver(c)).bind::<Text, _>(&query.user_id))
        .filter(e::n.gt(query.after_number()))
        .order(e::n)
        .limit(query.limit)
        .select((e::n, e::id, e::load_id, e::event_type, e::at))
        .load(c)?;
    let record = |(n, id, load_id, event_type, at): (i64, Id, Id, String, Timestamp)| {
        let event = json!({
            "id": id, "loadId": load_id, "type": event_type, "driverId": query.user_id, "atUTC": at,
        });
        Record::new(n, &event)
    };
    rows.into_iter().map(record).collect()
}

/// Erases the user as the driver that events name.
pub(in crate::personal_data) fn erase_driver_events(
    c: &mut AnyConnection,
    erasure: &Erasure,
) -> Result<usize, Error> {
    let rows: Vec<(i64, Id, Option<Json>)> = e::load_events
        .filter(sql::<Bool>(names_driver(c)).bind::<Text, _>(&erasure.user_id))
        .limit(DOCUMENT_BATCH_SIZE)
        .select((e::n, e::load_id, e::changes))
        .load(c)?;
    erase_in_reports(c, erasure, &rows.iter().map(|(_, load, _)| *load).collect())?;
    for (number, _, changes) in &rows {
        let changes: Option<Value> = changes.as_ref().map(Json::parse).transpose()?;
        let mut changes = changes.unwrap_or_default();
        for value in ["from", "to"] {
            if changes["driverId"][value] == *erasure.user_id {
                changes["driverId"][value] = json!(erasure.erased_id);
            }
        }
        diesel::update(e::load_events.find(number)).set(e::changes.eq(Json::of(&changes)?)).execute(c)?;
    }
    Ok(rows.len())
}

/// Lists notifications to the user.
pub(in crate::personal_data) fn list_notifications(
    c: &mut AnyConnection,
    query: &RecordQuery,
) -> Result<Vec<Record>, Error> {
    let rows: Vec<(Notification, Json)> = n::notifications
        .filter(sql::<Bool>(TO_DRIVER))
        .filter(n::recipient_id.eq(&query.user_id))
        .filter(n::id.gt(query.after_id()))
        .order(n::id)
        .limit(query.limit)
        .select((Notification::as_select(), n::body))
        .load(c)?;
    let record = |(notification, body): (Notification, Json)| {
        let body: Value = body.parse()?;
        Record::new(notification.id, &json!({ "notification": notification, "body": body }))
    };
    rows.into_iter().map(record).collect()
}

/// Erases the user as the recipient of notifications. Several of a load may become notifications of the same erased
/// driver while they are pending, so they no longer replace each other.
pub(in crate::personal_data) fn erase_notifications(
    c: &mut AnyConnection,
    erasure: &Erasure,
) -> Result<usize, Error> {
    let rows: Vec<(Id, Json)> = n::notifications
        .filter(sql::<Bool>(TO_DRIVER))
        .filter(n::recipient_id.eq(&erasure.user_id))
        .limit(DOCUMENT_BATCH_SIZE)
        .select((n::id, n::body))
        .load(c)?;
    for (id, body) in &rows {
        let mut body: Value = body.parse()?;
        erase_in(&mut body, erasure, &BTreeSet::new());
        let changes = (
            n::recipient_id.eq(&erasure.erased_id),
            n::body.eq(Json::of(&body)?),
            n::collapses.eq(None::<bool>),
        );
        diesel::update(n::notifications.find(id)).set(changes).execute(c)?;
    }
    Ok(rows.len())
}

/// An event, without the number that is the key of the export.
#[derive(Queryable, Selectable)]
#[diesel(table_name = load_events)]
struct EventRow {
    n: i64,
    id: Id,
    load_id: Id,
    event_type: String,
    user_id: Option<String>,
    user_name: Option<String>,
    organisation_id: Option<String>,
    at: Timestamp,
    reason: Option<String>,
    text: Option<String>,
    changes: Option<Json>,
}

/// Lists events that the user caused.
pub(in crate::personal_data) fn list_events(
    c: &mut AnyConnection,
    query: &RecordQuery,
) -> Result<Vec<Record>, Error> {
    let rows: Vec<EventRow> = e::load_events
        .filter(e::user_id.eq(&query.user_id))
        .filter(e::n.gt(query.after_number()))
        .order(e::n)
        .limit(query.limit)
        .select(EventRow::as_select())
        .load(c)?;
    rows.into_iter().map(record).collect()
}

fn record(row: EventRow) -> Result<Record, Error> {
    let changes: Option<Value> = row.changes.as_ref().map(Json::parse).transpose()?;
    let event = json!({
        "id": row.id, "loadId": row.load_id, "type": row.event_type, "userId": row.user_id,
        "userName": row.user_name, "organisationId": row.organisation_id, "atUTC": row.at,
        "reason": row.reason, "text": row.text, "changes": changes,
    });
    Record::new(row.n, &event)
}
