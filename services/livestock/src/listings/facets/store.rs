//! Queries that fill and update the index.

use std::collections::{BTreeSet, HashSet};

use common::{Caller, Error};
use database::search::words;
use database::{AnyConnection, Id, Json, MultiBackend};
use diesel::dsl::max;
use diesel::expression::ValidGrouping;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::BigInt;

use super::model::{EventCursor, FacetColumns, ListingChanges, Spelling};
use crate::listings::model::{Listing, Status, TYPE_TERM_PREFIX};
use crate::listings::search::Audience;
use crate::listings::search::store::with_words;
use crate::schema::listing_events::dsl as e;
use crate::schema::listings::dsl as l;
use crate::schema::spellings::{self, dsl as s};
use crate::schema::wishlists::dsl as w;

/// Rows that one query returns. Each may have 40 kB of types and 60 kB of text.
const MAX_ROWS: i64 = 1_000;
/// Documents that one query returns.
const MAX_DOCUMENTS: usize = 200;
/// Values in one `IN` list. Both databases accept as many in a statement.
pub(crate) const MAX_LIST_VALUES: usize = 1_000;

/// A constant SQL expression. Unlike with `diesel::dsl::sql`, its statement is prepared once on each connection.
#[derive(Clone, Copy, ValidGrouping)]
struct ConstantSql(&'static str);

impl Expression for ConstantSql {
    type SqlType = BigInt;
}

impl<Q> AppearsOnTable<Q> for ConstantSql {}

impl<Q> SelectableExpression<Q> for ConstantSql {}

impl QueryId for ConstantSql {
    type QueryId = ();
    /// The cache of statements uses the text as the key.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl QueryFragment<MultiBackend> for ConstantSql {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        out.push_sql(self.0);
        Ok(())
    }
}

/// The first id above those of the transactions that have ended.
const NEXT_TRANSACTION: &str = "pg_snapshot_xmax(pg_current_snapshot())::text::bigint";

/// The position before which no event can appear any more.
const POSITION: &str = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint";

/// SQL of the whole id of a transaction, from its low 32 bits `id` and an id `next` that is within 2^31 of it.
macro_rules! whole_id {
    () => {
        "next - (((next - id + 2147483648) & 4294967295) - 2147483648)"
    };
}

/// The position before which no event can appear any more, if Citus distributes the rows. All transactions begin on the
/// coordinator, whose ids of transactions are the positions.
///
/// A transaction on several servers commits there after it has committed on the coordinator. It keeps the lock on its
/// id meanwhile. If a server fails just then, the row in `pg_dist_transaction` stays until Citus has repeated the
/// commit. Locks and rows have the low 32 bits of ids, of which the whole one is within 2^31 of the next: below it or,
/// if its transaction runs, above.
const POSITION_IF_SPREAD: &str = concat!(
    "(SELECT min(",
    whole_id!(),
    ") FROM (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint) AS snapshot (next), \
     LATERAL (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint & 4294967295 \
     UNION ALL SELECT transactionid::text::bigint FROM pg_locks \
     WHERE locktype = 'transactionid' AND mode = 'ExclusiveLock' AND granted \
     UNION ALL SELECT xmin::text::bigint FROM pg_dist_transaction) AS running (id))"
);

/// Returns the position before which no event can appear any more.
///
/// SQLite numbers events in the order of their commits. On PostgreSQL a transaction may commit after one that began
/// later, but all transactions below xmin have ended.
pub(crate) fn current_position(c: &mut AnyConnection) -> Result<i64, Error> {
    Ok(match c {
        AnyConnection::Sqlite(_) => {
            let last: Option<i64> = e::listing_events.select(max(e::n)).get_result(c)?;
            last.unwrap_or_default() + 1
        }
        AnyConnection::Postgres(_) => {
            let position = if c.is_distributed() { POSITION_IF_SPREAD } else { POSITION };
            diesel::select(ConstantSql(position)).get_result(c)?
        }
    })
}

/// Returns the next cursor, and the ids of the listings of the events in between.
///
/// While an older transaction is open, the events after it are found by every read. Stale listings are read again too,
/// because rebuilding a row writes no event.
pub(crate) fn changes_since(
    c: &mut AnyConnection,
    cursor: &EventCursor,
) -> Result<(EventCursor, Vec<Id>), Error> {
    let since = cursor.position;
    // Read before the events: the next read finds the events that are written meanwhile.
    let position = current_position(c)?;
    let events = e::listing_events.select((e::n, e::listing_id)).into_boxed();
    let events: Vec<(i64, Id)> = match c {
        AnyConnection::Sqlite(_) => events.filter(e::n.ge(since)).load(c)?,
        // Greater positions come from another cluster, from which the database was moved.
        AnyConnection::Postgres(_) if c.is_distributed() => {
            // The transactions of the servers that have the events are others.
            let end: i64 = diesel::select(ConstantSql(NEXT_TRANSACTION)).get_result(c)?;
            events.filter(e::position.ge(since)).filter(e::position.lt(end)).load(c)?
        }
        AnyConnection::Postgres(_) => {
            let end = ConstantSql(NEXT_TRANSACTION);
            events.filter(e::position.ge(since)).filter(e::position.lt(end)).load(c)?
        }
    };
    let new = events.iter().filter(|(n, _)| !cursor.seen.contains(n)).map(|(_, id)| *id);
    let listings: BTreeSet<Id> = new.chain(cursor.stale.iter().copied()).collect();
    let seen = events.into_iter().map(|(n, _)| n).collect();
    let next = EventCursor { position, seen, stale: cursor.stale.clone() };
    Ok((next, listings.into_iter().collect()))
}

/// Returns up to 1,000 listings by their ids, with the spellings of their terms.
pub(crate) fn listings(c: &mut AnyConnection, ids: &[Id]) -> Result<ListingChanges, Error> {
    let rows: Vec<_> = l::listings.filter(l::id.eq_any(ids)).select(FacetColumns::as_select()).load(c)?;
    let terms = |row: &FacetColumns| [row.breed.clone(), row.breed_type.clone(), row.breed_society.clone()];
    let terms: Vec<_> = rows.iter().flat_map(terms).flatten().collect::<BTreeSet<_>>().into_iter().collect();
    let mut spellings = private_spellings(c, &rows)?;
    for terms in terms.chunks(MAX_LIST_VALUES) {
        spellings.extend(public_spellings(c, s::spellings.filter(s::term.eq_any(terms)).into_boxed())?);
    }
    Ok(ListingChanges { rows, spellings })
}

/// Returns the spellings of breeds and societies in those of these listings that were never published.
fn private_spellings(c: &mut AnyConnection, rows: &[FacetColumns]) -> Result<Vec<Spelling>, Error> {
    let is_private = |row: &&FacetColumns| row.cancelled_as_draft || row.status == Status::Draft.as_str();
    let ids: Vec<_> = rows.iter().filter(is_private).map(|row| row.id).collect();
    let mut spellings = Vec::new();
    for ids in ids.chunks(MAX_DOCUMENTS) {
        let documents = l::listings.filter(l::id.eq_any(ids)).order(l::id).select(l::document);
        for document in documents.load::<Json>(c)? {
            let Ok(listing) = document.parse::<Listing>() else { continue };
            let breeds = listing.terms().into_iter().filter(|(term, _)| !term.starts_with(TYPE_TERM_PREFIX));
            spellings.extend(breeds.map(|(term, text)| Spelling {
                organisation_id: Some(listing.organisation_id.clone()),
                term,
                text,
            }));
        }
    }
    Ok(spellings)
}

/// Returns the spellings that everyone sees, in ascending order of their terms.
fn public_spellings(
    c: &mut AnyConnection,
    query: spellings::BoxedQuery<'_, MultiBackend>,
) -> Result<Vec<Spelling>, Error> {
    let rows: Vec<(String, String)> = query.order(s::term).load(c)?;
    let public = |(term, text)| Spelling { organisation_id: None, term, text };
    Ok(rows.into_iter().map(public).collect())
}

/// Returns up to 1,000 listings in the order of their ids, after an id or from the start. Public spellings are left
/// out.
pub(crate) fn list_after(c: &mut AnyConnection, after: Option<Id>) -> Result<ListingChanges, Error> {
    let query = l::listings.order(l::id).limit(MAX_ROWS).select(FacetColumns::as_select()).into_boxed();
    let rows = match after {
        Some(id) => query.filter(l::id.gt(id)).load(c)?,
        None => query.load(c)?,
    };
    let spellings = private_spellings(c, &rows)?;
    Ok(ListingChanges { rows, spellings })
}

/// Returns up to 1,000 terms of breeds and societies with their spellings, in ascending order after a term.
pub(crate) fn spellings_after(c: &mut AnyConnection, after: &str) -> Result<Vec<Spelling>, Error> {
    let next =
        s::spellings.filter(s::term.gt(after)).filter(s::term.not_like(format!("{TYPE_TERM_PREFIX}%")));
    public_spellings(c, next.limit(MAX_ROWS).into_boxed())
}

/// Returns the ids of the listings on the caller's wishlist.
pub(crate) fn wishlist(c: &mut AnyConnection, caller: &Caller) -> Result<Vec<Id>, Error> {
    Ok(w::wishlists.filter(w::user_id.eq(&caller.user_id)).select(w::listing_id).load(c)?)
}

/// Returns those of the listings, whose ids are in ascending order, whose texts have all words.
pub(crate) fn with_all_words(
    c: &mut AnyConnection,
    ids: &[Id],
    words: &[String],
    audience: Audience,
) -> Result<HashSet<Id>, Error> {
    let fulltext = words::selective_query(c, "listings_fts", words)?;
    if fulltext.is_some() && ids.len() > MAX_LIST_VALUES {
        // The full-text query runs once, and finds fewer than 5,000 listings.
        let query = with_words(l::listings.into_boxed(), fulltext.as_deref(), words, audience).select(l::id);
        let found: Vec<Id> = query.load(c)?;
        return Ok(found.into_iter().filter(|id| ids.binary_search(id).is_ok()).collect());
    }
    let mut found = HashSet::new();
    for ids in ids.chunks(MAX_LIST_VALUES) {
        let query = l::listings.into_boxed().filter(l::id.eq_any(ids));
        let query = with_words(query, fulltext.as_deref(), words, audience).select(l::id);
        found.extend(query.load::<Id>(c)?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use database::Database;
    use diesel::dsl::sql;
    use testkit::{Backend, TestDatabase, block_on};

    use super::*;

    #[test]
    fn low_bits_become_ids_below_and_above_the_next() {
        block_on(async {
            let test = TestDatabase::empty(Backend::Postgres).await;
            let options = testkit::options(&test.url, "livestock");
            let db = Database::open(options, Vec::new).await.unwrap();
            let era = 1_i64 << 32;
            for (next, id, whole) in [
                (100, 99, 99),
                (100, 100, 100),
                (100, 101, 101),
                (3 * era + 5, 7, 3 * era + 7),
                (3 * era + 5, era - 2, 3 * era - 2),
                (3 * era - 2, 3, 3 * era + 3),
            ] {
                let query = format!(
                    "(SELECT {} FROM (VALUES ({next}::bigint, {id}::bigint)) AS v (next, id))",
                    whole_id!()
                );
                let read = move |c: &mut AnyConnection| {
                    let AnyConnection::Postgres(c) = c else { unreachable!("this is PostgreSQL") };
                    Ok::<i64, Error>(diesel::select(sql::<BigInt>(&query)).get_result(c)?)
                };
                assert_eq!(db.read(read).await.unwrap(), whole, "{next} {id}");
            }
        });
    }
}
