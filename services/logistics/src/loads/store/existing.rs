//! The queries that find the loads of a batch that exist already.

use std::collections::{BTreeSet, HashSet};

use common::{Caller, Error};
use database::{AnyConnection, Id, IdSql, Json, Timestamp, TimestampSql};
use diesel::prelude::*;
use diesel::sql_types::{Array, Text};
use serde_json::json;

use super::staged::{NOT_STAGED, NotStaged};
use super::{LoadQuery, readable};
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

/// Returns the document of the newest load of an organiser and a carrier.
pub(crate) fn newest_of_pair(
    c: &mut AnyConnection,
    organiser: &str,
    carrier: &str,
) -> Result<Option<Json>, Error> {
    let of_pair = l::loads.filter(l::organiser_id.eq(organiser)).filter(l::carrier_id.eq(carrier));
    newest(c, of_pair.filter(l::carrier_id.is_not_null()).into_boxed())
}

/// Returns the document of the newest load of which an organisation is the organiser, or else the carrier.
pub(crate) fn newest_of_organisation(c: &mut AnyConnection, id: &str) -> Result<Option<Json>, Error> {
    let organised = newest(c, l::loads.filter(l::organiser_id.eq(id)).into_boxed())?;
    match organised {
        Some(load) => Ok(Some(load)),
        None => newest(c, l::loads.filter(l::carrier_id.eq(id)).into_boxed()),
    }
}

fn newest(c: &mut AnyConnection, loads: LoadQuery<'_>) -> Result<Option<Json>, Error> {
    let loads = loads.filter(NotStaged).order((l::created_at.desc(), l::id.desc()));
    Ok(loads.select(l::document).first(c).optional()?)
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

/// A load with a reference that is similar to that of a row.
#[derive(Debug, QueryableByName)]
pub(crate) struct SimilarLoad {
    #[diesel(sql_type = IdSql)]
    pub(crate) id: Id,
    #[diesel(sql_type = Text)]
    pub(crate) reference: String,
}

/// Returns the loads that the organisation created, that are not cancelled, and that have one of the delivery dates and
/// one of the similarity keys, not necessarily of the same pair. Loads of older versions whose
/// references cannot be compared yet are among them.
pub(crate) fn find_created<'a>(
    c: &mut AnyConnection,
    organisation_id: &str,
    keys_and_dates: impl Iterator<Item = (&'a str, Timestamp)>,
) -> Result<Vec<CreatedLoad>, Error> {
    let (keys, dates): (BTreeSet<&str>, BTreeSet<Timestamp>) = keys_and_dates.unzip();
    if dates.is_empty() {
        return Ok(Vec::new());
    }
    let mut found: Vec<CreatedLoad> = Vec::new();
    for created_by in CREATED_BY {
        // PostgreSQL hashes the keys once, instead of looking for each of them. It is NULL where there is no key.
        let statement = |dates: &str, keys: &str| {
            format!(
                "SELECT id, document ->> 'reference' AS reference, delivery_at FROM loads WHERE {created_by} \
                 AND delivery_at {dates} AND (similarity_key IN (SELECT {keys})) IS NOT FALSE \
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
                found.extend(query.bind::<Text, _>(json!(keys).to_string()).load::<CreatedLoad>(c)?);
            }
            AnyConnection::Postgres(c) => {
                let sql = statement("= ANY ($2)", "unnest($3)");
                let dates: Vec<Timestamp> = dates.iter().copied().collect();
                let keys: Vec<&str> = keys.iter().copied().collect();
                let query = diesel::sql_query(sql).bind::<Text, _>(organisation_id);
                let query = query.bind::<Array<TimestampSql>, _>(dates).bind::<Array<Text>, _>(keys);
                found.extend(query.load::<CreatedLoad>(c)?);
            }
        }
    }
    Ok(found)
}

/// Returns the references with one of these similarity keys that loads have which the organisation created and which
/// are not cancelled, each with the newest of its loads.
pub(crate) fn find_similar(
    c: &mut AnyConnection,
    organisation_id: &str,
    keys: &BTreeSet<&str>,
) -> Result<Vec<SimilarLoad>, Error> {
    let statement = |newest: &str, keys: &str| {
        format!(
            "SELECT {newest} AS id, document ->> 'reference' AS reference FROM loads \
             WHERE created_by = $1 AND similarity_key {keys} AND status <> 'cancelled'"
        )
    };
    Ok(match c {
        AnyConnection::Sqlite(c) => {
            let sql = statement("max(id)", "IN (SELECT value FROM json_each($2))");
            let query = diesel::sql_query(format!("{sql} AND {NOT_STAGED} GROUP BY 2"));
            query.bind::<Text, _>(organisation_id).bind::<Text, _>(json!(keys).to_string()).load(c)?
        }
        AnyConnection::Postgres(c) => {
            let sql = statement("max(id::text)::uuid", "= ANY ($2)");
            let query = diesel::sql_query(format!("{sql} GROUP BY 2")).bind::<Text, _>(organisation_id);
            query.bind::<Array<Text>, _>(keys.iter().copied().collect::<Vec<_>>()).load(c)?
        }
    })
}

/// The most loads with a reference that [`find_by_reference`] returns.
const MAX_OF_REFERENCE: usize = 11;

/// Returns the newest loads with one of these similarity keys that the organisation created and that are not cancelled,
/// at most [`MAX_OF_REFERENCE`] with each reference, in the order of their creation.
pub(crate) fn find_by_reference(
    c: &mut AnyConnection,
    organisation_id: &str,
    keys: &BTreeSet<&str>,
) -> Result<Vec<CreatedLoad>, Error> {
    let statement = |keys: &str, condition: &str| {
        format!(
            "SELECT id, reference, delivery_at FROM (SELECT id, document ->> 'reference' AS reference, delivery_at, \
             row_number() OVER (PARTITION BY document ->> 'reference' ORDER BY id DESC) AS place FROM loads \
             WHERE created_by = $1 AND similarity_key {keys} AND status <> 'cancelled'{condition}) AS numbered \
             WHERE place <= {MAX_OF_REFERENCE} ORDER BY id"
        )
    };
    Ok(match c {
        AnyConnection::Sqlite(c) => {
            let sql = statement("IN (SELECT value FROM json_each($2))", &format!(" AND {NOT_STAGED}"));
            let query = diesel::sql_query(sql).bind::<Text, _>(organisation_id);
            query.bind::<Text, _>(json!(keys).to_string()).load(c)?
        }
        AnyConnection::Postgres(c) => {
            let query = diesel::sql_query(statement("= ANY ($2)", "")).bind::<Text, _>(organisation_id);
            query.bind::<Array<Text>, _>(keys.iter().copied().collect::<Vec<_>>()).load(c)?
        }
    })
}
