//! The personal data in deliveries: copies of loads and listings, and of saved searches of users.

use std::collections::BTreeSet;

use common::Error;
use common::personal_data::{DOCUMENT_BATCH_SIZE, Erasure, Record, RecordKind, RecordQuery, erase_in};
use database::{AnyConnection, Id, Json, Timestamp};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use serde_json::{Value, json};

use crate::schema::webhook_deliveries::dsl as d;

/// The deliveries about saved searches of a user.
pub const DELIVERY_RECORDS: RecordKind =
    RecordKind { name: "webhookDeliveries", list: list_deliveries, erase: erase_deliveries };

/// Rewrites the bodies of the deliveries about a load or listing. `rewrite` returns true if it changed the body.
///
/// # Errors
/// If the database fails.
pub fn rewrite_deliveries(
    c: &mut AnyConnection,
    subject: Id,
    rewrite: impl FnMut(&mut Value) -> bool,
) -> Result<(), Error> {
    let is_about = match c {
        AnyConnection::Sqlite(_) => {
            "COALESCE(json_extract(body, '$.data.load.id'), json_extract(body, '$.data.listing.id')) = "
        }
        AnyConnection::Postgres(_) => "COALESCE(body #>> '{data,load,id}', body #>> '{data,listing,id}') = ",
    };
    let about = sql::<Bool>(is_about).bind::<Text, _>(subject.to_string());
    let rows = d::webhook_deliveries.filter(about).select((d::webhook_id, d::id, d::body)).load(c)?;
    rewrite_rows(c, rows, rewrite)
}

fn rewrite_rows(
    c: &mut AnyConnection,
    rows: Vec<(String, Id, Json)>,
    mut rewrite: impl FnMut(&mut Value) -> bool,
) -> Result<(), Error> {
    for (webhook, id, body) in rows {
        let mut body: Value = body.parse()?;
        if rewrite(&mut body) {
            let row = d::webhook_deliveries.find((webhook, id));
            diesel::update(row).set(d::body.eq(Json::of(&body)?)).execute(c)?;
        }
    }
    Ok(())
}

/// Returns the condition for deliveries about saved searches of a user, up to the bound user id.
fn is_of_user(c: &AnyConnection) -> &'static str {
    match c {
        AnyConnection::Sqlite(_) => "event = 'listing.matched' AND json_extract(body, '$.data.userId') = ",
        AnyConnection::Postgres(_) => "event = 'listing.matched' AND body #>> '{data,userId}' = ",
    }
}

fn list_deliveries(c: &mut AnyConnection, query: &RecordQuery) -> Result<Vec<Record>, Error> {
    // An event has a delivery for each webhook.
    let (webhook, id) = query.after.as_deref().and_then(|key| key.split_once(' ')).unwrap_or_default();
    let after_id = Id::parse(id).unwrap_or(Id::NIL);
    let rows: Vec<(String, Id, Timestamp, Json)> = d::webhook_deliveries
        .filter(sql::<Bool>(is_of_user(c)).bind::<Text, _>(&query.user_id))
        .filter(d::webhook_id.ge(webhook))
        .filter(d::webhook_id.gt(webhook).or(d::id.gt(after_id)))
        .order((d::webhook_id, d::id))
        .limit(query.limit)
        .select((d::webhook_id, d::id, d::created_at, d::body))
        .load(c)?;
    let record = |(webhook, id, at, body): (String, Id, Timestamp, Json)| {
        let body: Value = body.parse()?;
        let delivery = json!({ "webhookId": webhook, "id": id, "createdAtUTC": at, "body": body });
        Record::new(format!("{webhook} {id}"), &delivery)
    };
    rows.into_iter().map(record).collect()
}

fn erase_deliveries(c: &mut AnyConnection, erasure: &Erasure) -> Result<usize, Error> {
    let rows: Vec<(String, Id, Json)> = d::webhook_deliveries
        .filter(sql::<Bool>(is_of_user(c)).bind::<Text, _>(&erasure.user_id))
        .limit(DOCUMENT_BATCH_SIZE)
        .select((d::webhook_id, d::id, d::body))
        .load(c)?;
    let count = rows.len();
    rewrite_rows(c, rows, |body| erase_in(body, erasure, &BTreeSet::new()))?;
    Ok(count)
}
