//! Loads that were sent to the user as a driver.

use std::collections::BTreeSet;

use common::Error;
use common::personal_data::{DOCUMENT_BATCH_SIZE, Erasure, Record, RecordQuery, erase_in};
use database::{AnyConnection, Id, Json, Timestamp};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use serde_json::{Value, json};

use crate::notifications::{Event, Notification};
use crate::schema::load_drivers::dsl as d;
use crate::schema::load_events::dsl as e;
use crate::schema::notifications::dsl as n;

/// Maximum number of loads whose reports one transaction rewrites.
const BATCH_SIZE: i64 = 500;
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

/// Erases the user in what reports the loads that were sent to the user: cancellations, and deliveries to webhooks.
pub(in crate::personal_data) fn erase_reports(c: &mut AnyConnection, erasure: &Erasure) -> Result<(), Error> {
    let sent = d::load_drivers.filter(d::driver_id.eq(&erasure.user_id)).order(d::load_id);
    let loads: BTreeSet<Id> = sent.limit(BATCH_SIZE).select(d::load_id).load(c)?.into_iter().collect();
    erase_in_reports(c, erasure, &loads)
}

fn erase_in_reports(c: &mut AnyConnection, erasure: &Erasure, loads: &BTreeSet<Id>) -> Result<(), Error> {
    let no_files = BTreeSet::new();
    let cancellations: Vec<(Id, Json)> = n::notifications
        .filter(n::load_id.eq_any(loads))
        .filter(n::event.eq(Event::Cancelled.into_str()))
        .select((n::id, n::body))
        .load(c)?;
    for (id, body) in cancellations {
        let mut body: Value = body.parse()?;
        if erase_in(&mut body, erasure, &no_files) {
            diesel::update(n::notifications.find(id)).set(n::body.eq(Json::of(&body)?)).execute(c)?;
        }
    }
    loads.iter().try_for_each(|load| webhooks::queue_erasure(c, *load, erasure, &no_files))
}

/// Returns the condition for events that name a driver, up to the bound driver id: that of their index.
fn names_driver(c: &AnyConnection) -> &'static str {
    match c {
        AnyConnection::Sqlite(_) => {
            "type IN ('sent_to_driver', 'driver_revoked') AND \
             COALESCE(json_extract(changes, '$.driverId.to'), json_extract(changes, '$.driverId.from')) = "
        }
        AnyConnection::Postgres(_) => {
            "type IN ('sent_to_driver', 'driver_revoked') AND \
             COALESCE(changes #>> '{driverId,to}', changes #>> '{driverId,from}') = "
        }
    }
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
