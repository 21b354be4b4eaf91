//! The queries that find the loads of a batch that exist already.

use std::collections::{BTreeSet, HashSet};

use common::{Caller, Error};
use database::{AnyConnection, Id, IdSql, Timestamp, TimestampSql};
use diesel::prelude::*;
use diesel::sql_types::{Array, Text};
use serde_json::json;

use super::readable;
use super::staged::NOT_STAGED;
use crate::schema::loads::dsl as l;

/// The number of ids in a statement.
const IDS_PER_STATEMENT: usize = 1_000;

/// The conditions for loads that the organisation `$1` created. An index has the matches of each by delivery date. The
/// last one matches loads that it created for others, or whose carrier it was and is no longer. Loads of older versions
/// whose creator is not filled in yet were created by their organiser, or else their carrier.
const CREATED_BY: [&str; 3] = [
    "organiser_id = $1 AND (created_by = $1 OR created_by IS NULL)",
    "carrier_id = $1 AND (created_by = $1 OR created_by IS NULL AND organiser_id IS NULL)",
    "created_by = $1 AND organiser_id IS DISTINCT FROM created_by AND carrier_id IS DISTINCT FROM created_by",
];

/// A load with the reference and the delivery date of a row.
#[derive(Debug, QueryableByName)]
pub(crate) struct CreatedLoad {
    #[diesel(sql_type = IdSql)]
    pub(crate) id: Id,
    #[diesel(sql_type = Text)]
    pub(crate) reference: String,
    #[diesel(sql_type = TimestampSql)]
    pub(crate) delivery_at: Timestamp,
}

/// Returns those ids that name loads that the caller may read.
pub(crate) fn find_readable_ids(
    c: &mut AnyConnection,
    caller: &Caller,
    ids: &[Id],
) -> Result<HashSet<Id>, Error> {
    let mut found = HashSet::new();
    for ids in ids.chunks(IDS_PER_STATEMENT) {
        let known = readable(caller).filter(l::id.eq_any(ids.to_vec())).select(l::id);
        found.extend(known.load::<Id>(c)?);
    }
    Ok(found)
}

/// Returns the loads that the organisation created, that are not cancelled, and that have one of the references and one
/// of the delivery dates, not necessarily of the same pair. References are compared without case.
pub(crate) fn find_created<'a>(
    c: &mut AnyConnection,
    organisation_id: &str,
    pairs: impl Iterator<Item = (&'a str, Timestamp)>,
) -> Result<Vec<CreatedLoad>, Error> {
    let (references, dates): (BTreeSet<String>, BTreeSet<Timestamp>) =
        pairs.map(|(reference, date)| (reference.to_lowercase(), date)).unzip();
    if dates.is_empty() {
        return Ok(Vec::new());
    }
    let mut found: Vec<CreatedLoad> = Vec::new();
    for created_by in CREATED_BY {
        // `IS TRUE` makes PostgreSQL hash the references once, instead of looking for each of them.
        let statement = |dates: &str, references: &str| {
            format!(
                "SELECT id, document ->> 'reference' AS reference, delivery_at FROM loads WHERE {created_by} \
                 AND delivery_at {dates} AND (reference_key IN (SELECT {references})) IS TRUE \
                 AND status <> 'cancelled'"
            )
        };
        match c {
            AnyConnection::Sqlite(c) => {
                let sql = statement("IN (SELECT value FROM json_each($2))", "value FROM json_each($3)");
                let sql = format!("{sql} AND {NOT_STAGED}");
                let dates: Vec<i64> = dates.iter().map(|date| date.millis()).collect();
                let query = diesel::sql_query(sql).bind::<Text, _>(organisation_id);
                let query = query.bind::<Text, _>(json!(dates).to_string());
                found.extend(query.bind::<Text, _>(json!(references).to_string()).load::<CreatedLoad>(c)?);
            }
            AnyConnection::Postgres(c) => {
                let sql = statement("= ANY ($2::text[]::timestamptz[])", "unnest($3)");
                let dates: Vec<String> = dates.iter().map(Timestamp::to_string).collect();
                let references: Vec<&str> = references.iter().map(String::as_str).collect();
                let query = diesel::sql_query(sql).bind::<Text, _>(organisation_id);
                let query = query.bind::<Array<Text>, _>(dates).bind::<Array<Text>, _>(references);
                found.extend(query.load::<CreatedLoad>(c)?);
            }
        }
    }
    Ok(found)
}
