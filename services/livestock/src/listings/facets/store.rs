//! What the table of counts is read from.

use common::{Caller, Error};
use database::{AnyConnection, Id};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::BigInt;

use crate::schema::listing_events::dsl as e;
use crate::schema::listings::dsl as l;
use crate::schema::spellings::dsl as s;
use crate::schema::wishlists::dsl as w;

/// What is read of a listing; see the migrations.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = crate::schema::listings)]
pub struct Row {
    pub id: Id,
    pub organisation_id: String,
    pub kind: String,
    pub status: String,
    pub category: i32,
    pub min_age: Option<i64>,
    pub max_age: Option<i64>,
    pub born: Option<i64>,
    pub breed: Option<String>,
    pub breed_type: Option<String>,
    pub breed_society: Option<String>,
    pub types: String,
    pub sexes: String,
    pub additional_info: String,
    pub x: Option<f64>,
    pub y: Option<f64>,
    pub z: Option<f64>,
}

/// What happened since.
#[derive(Debug)]
pub struct Changes {
    pub position: i64,
    pub rows: Vec<Row>,
    /// Of the terms in the rows, and how they are written.
    pub spellings: Vec<(String, String)>,
}

/// So many rows are read at once.
const SOME: i64 = 10_000;

/// Where the events are: none before this position is still to come. On SQLite they are written one after the other; on
/// PostgreSQL a transaction may be seen later than one that began after it, but no earlier than all those below xmin.
pub fn position(c: &mut AnyConnection) -> Result<i64, Error> {
    let position = match c {
        AnyConnection::Sqlite(_) => "(SELECT coalesce(max(position), 0) + 1 FROM listing_events)",
        AnyConnection::Postgres(_) => "pg_snapshot_xmin(pg_current_snapshot())::text::bigint",
    };
    Ok(diesel::select(sql::<BigInt>(position)).get_result(c)?)
}

/// What happened since a position. Some of it may have been told before.
pub fn changes(c: &mut AnyConnection, since: i64) -> Result<Changes, Error> {
    // First: what is written after this is told again the next time.
    let position = position(c)?;
    let changed = e::listing_events.filter(e::position.ge(since)).select(e::listing_id);
    let rows: Vec<Row> = l::listings.filter(l::id.eq_any(changed)).select(Row::as_select()).load(c)?;
    let named = |row: &Row| [row.breed.clone(), row.breed_type.clone(), row.breed_society.clone()];
    let mut terms: Vec<_> = rows.iter().flat_map(named).flatten().collect();
    terms.sort_unstable();
    terms.dedup();
    let mut spellings = Vec::new();
    // Either database takes so many values in a statement.
    for terms in terms.chunks(1_000) {
        spellings.extend(s::spellings.filter(s::term.eq_any(terms)).load::<(String, String)>(c)?);
    }
    Ok(Changes { position, rows, spellings })
}

/// Some thousand listings, those with the next ids.
pub fn some(c: &mut AnyConnection, after: Option<Id>) -> Result<Vec<Row>, Error> {
    let query = l::listings.order(l::id).limit(SOME).select(Row::as_select()).into_boxed();
    Ok(match after {
        Some(id) => query.filter(l::id.gt(id)).load(c)?,
        None => query.load(c)?,
    })
}

/// How all breeds and societies are written.
pub fn spellings(c: &mut AnyConnection) -> Result<Vec<(String, String)>, Error> {
    Ok(s::spellings.load(c)?)
}

/// What the caller has on the wishlist.
pub fn wishlist(c: &mut AnyConnection, caller: &Caller) -> Result<Vec<Id>, Error> {
    Ok(w::wishlists.filter(w::user_id.eq(&caller.user_id)).select(w::listing_id).load(c)?)
}
