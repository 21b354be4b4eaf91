//! What the table of counts is read from.

use std::collections::{BTreeSet, HashSet};

use common::{Caller, Error};
use database::{AnyConnection, Id, Json, MultiBackend};
use diesel::dsl::max;
use diesel::expression::ValidGrouping;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::BigInt;

use super::super::model::{Listing, Status, TYPE};
use super::super::store::ROW_VERSION;
use crate::schema::listing_events::dsl as e;
use crate::schema::listings::dsl as l;
use crate::schema::spellings::dsl as s;
use crate::schema::wishlists::dsl as w;

/// What is read of a listing; see the migrations.
#[derive(Clone, Debug, Queryable, Selectable)]
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
    pub derived: i32,
    pub x: Option<f64>,
    pub y: Option<f64>,
    pub z: Option<f64>,
    pub cancelled_as_draft: bool,
}

/// What happened since.
#[derive(Debug)]
pub struct Changes {
    pub position: i64,
    /// The events that were read, which the next reading may meet again.
    pub known: HashSet<i64>,
    pub rows: Vec<Row>,
    /// Of the terms in the rows, and how they are written.
    pub spellings: Vec<(String, String)>,
    pub private_spellings: Vec<PrivateSpelling>,
}

/// How an organisation writes a breed or society in a listing that was never published: shown to that organisation only.
#[derive(Clone, Debug)]
pub struct PrivateSpelling {
    pub organisation_id: String,
    pub term: String,
    pub spelling: String,
}

/// Up to where the events were read.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Which reading it was.
    pub reading: u64,
    pub position: i64,
    /// Events after it that were read already.
    pub known: HashSet<i64>,
    /// Listings that an older version of the code wrote, and nobody has mended yet.
    pub stale: HashSet<Id>,
}

impl Place {
    /// Takes which of these rows wait to be mended.
    pub fn note(&mut self, rows: &[Row]) {
        for row in rows {
            if row.derived < ROW_VERSION {
                self.stale.insert(row.id);
            } else if !self.stale.is_empty() {
                self.stale.remove(&row.id);
            }
        }
    }
}

/// Rows read at once. Each may have 40 kB of types.
const MAX_ROWS: i64 = 2_000;
/// Documents read at once.
const MAX_DOCUMENTS: usize = 200;
/// So many are asked for by name, which either database takes in a statement.
const AT_ONCE: usize = 1_000;

/// SQL that never changes: unlike `diesel::dsl::sql`, it is prepared once on each connection, not each time.
#[derive(Clone, Copy, ValidGrouping)]
struct Fixed(&'static str);

impl Expression for Fixed {
    type SqlType = BigInt;
}

impl<Q> AppearsOnTable<Q> for Fixed {}

impl<Q> SelectableExpression<Q> for Fixed {}

impl QueryId for Fixed {
    type QueryId = ();
    /// Statements are told apart by their text.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl QueryFragment<MultiBackend> for Fixed {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        out.push_sql(self.0);
        Ok(())
    }
}

/// Where the events are: none before this position is still to come. On SQLite they are numbered as they are committed; on
/// PostgreSQL a transaction may be seen later than one that began after it, but those below xmin have all ended.
pub fn position(c: &mut AnyConnection) -> Result<i64, Error> {
    Ok(match c {
        AnyConnection::Sqlite(_) => {
            let last: Option<i64> = e::listing_events.select(max(e::n)).get_result(c)?;
            last.unwrap_or_default() + 1
        }
        AnyConnection::Postgres(_) => {
            diesel::select(Fixed("pg_snapshot_xmin(pg_current_snapshot())::text::bigint")).get_result(c)?
        }
    })
}

/// What happened since a place, but for the events that are known there: while an older transaction is under way, those
/// after it are read again and again. Rows that wait to be mended are read again too: no event tells of that.
pub fn changes(c: &mut AnyConnection, place: &Place) -> Result<Changes, Error> {
    let since = place.position;
    // First: what is written after this is told again the next time.
    let position = position(c)?;
    let events = e::listing_events.select((e::n, e::listing_id)).into_boxed();
    let events: Vec<(i64, Id)> = match c {
        AnyConnection::Sqlite(_) => events.filter(e::n.ge(since)).load(c)?,
        // Greater ones are from another cluster, where this database was before.
        AnyConnection::Postgres(_) => {
            let end = Fixed("pg_snapshot_xmax(pg_current_snapshot())::text::bigint");
            events.filter(e::position.ge(since)).filter(e::position.lt(end)).load(c)?
        }
    };
    let new = events.iter().filter(|(n, _)| !place.known.contains(n)).map(|(_, id)| *id);
    let ids: Vec<_> = new.chain(place.stale.iter().copied()).collect::<BTreeSet<_>>().into_iter().collect();
    let mut rows = Vec::new();
    for ids in ids.chunks(AT_ONCE) {
        rows.extend(l::listings.filter(l::id.eq_any(ids)).select(Row::as_select()).load(c)?);
    }
    let named = |row: &Row| [row.breed.clone(), row.breed_type.clone(), row.breed_society.clone()];
    let terms: Vec<_> = rows.iter().flat_map(named).flatten().collect::<BTreeSet<_>>().into_iter().collect();
    let mut spellings = Vec::new();
    for terms in terms.chunks(AT_ONCE) {
        spellings.extend(s::spellings.filter(s::term.eq_any(terms)).load::<(String, String)>(c)?);
    }
    let private_spellings = private_spellings(c, &rows)?;
    let known = events.into_iter().map(|(n, _)| n).collect();
    Ok(Changes { position, known, rows, spellings, private_spellings })
}

/// How those of these listings that were never published write their breeds and societies.
fn private_spellings(c: &mut AnyConnection, rows: &[Row]) -> Result<Vec<PrivateSpelling>, Error> {
    let is_private = |row: &&Row| row.cancelled_as_draft || row.status == Status::Draft.as_str();
    let ids: Vec<_> = rows.iter().filter(is_private).map(|row| row.id).collect();
    let mut spellings = Vec::new();
    for ids in ids.chunks(MAX_DOCUMENTS) {
        let documents = l::listings.filter(l::id.eq_any(ids)).order(l::id).select(l::document);
        for document in documents.load::<Json>(c)? {
            let Ok(listing) = document.parse::<Listing>() else { continue };
            let terms = listing.terms().into_iter();
            let differ = terms.filter(|(term, spelling)| term != spelling && !term.starts_with(TYPE));
            let organisation_id = listing.organisation_id;
            spellings.extend(differ.map(|(term, spelling)| PrivateSpelling {
                organisation_id: organisation_id.clone(),
                term,
                spelling,
            }));
        }
    }
    Ok(spellings)
}

/// Some thousand listings, those with the next ids.
pub fn some(c: &mut AnyConnection, after: Option<Id>) -> Result<(Vec<Row>, Vec<PrivateSpelling>), Error> {
    let query = l::listings.order(l::id).limit(MAX_ROWS).select(Row::as_select()).into_boxed();
    let rows = match after {
        Some(id) => query.filter(l::id.gt(id)).load(c)?,
        None => query.load(c)?,
    };
    let spellings = private_spellings(c, &rows)?;
    Ok((rows, spellings))
}

/// How some thousand breeds and societies are written, those after a term.
pub fn spellings(c: &mut AnyConnection, after: &str) -> Result<Vec<(String, String)>, Error> {
    let next = s::spellings.filter(s::term.gt(after)).filter(s::term.not_like(format!("{TYPE}%")));
    Ok(next.order(s::term).limit(MAX_ROWS).load(c)?)
}

/// What the caller has on the wishlist.
pub fn wishlist(c: &mut AnyConnection, caller: &Caller) -> Result<Vec<Id>, Error> {
    Ok(w::wishlists.filter(w::user_id.eq(&caller.user_id)).select(w::listing_id).load(c)?)
}
