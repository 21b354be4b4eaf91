//! Events that the user caused.

use common::Error;
use common::personal_data::{Record, RecordQuery};
use database::{AnyConnection, Id, Json, Timestamp};
use diesel::prelude::*;
use serde_json::{Value, json};

use crate::schema::load_events::{self, dsl as e};

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
        "reason": row.reason, "changes": changes,
    });
    Record::new(row.n, &event)
}
