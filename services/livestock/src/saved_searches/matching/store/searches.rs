//! The searches that are matched, and their changes.

use std::collections::HashSet;
use std::time::Duration;

use common::Error;
use database::feed::first_unsettled_position;
use database::{AnyConnection, Id, Timestamp, shared_now};
use diesel::dsl::max;
use diesel::prelude::*;

use crate::saved_searches::matching::model::{SearchChanges, SearchToMatch};
use crate::schema::saved_search_changes::dsl as h;
use crate::schema::saved_search_counts::dsl as k;
use crate::schema::saved_searches::dsl as s;

/// Searches that one query returns.
const MAX_ROWS: i64 = 1_000;
/// Time after which changes are deleted, once the replica that has the lease has read them.
const RETENTION: Duration = Duration::from_secs(3_600);
/// Changes that one transaction deletes.
const PRUNE_BATCH_SIZE: i64 = 1_000;

/// Returns the position before which no change can appear any more.
pub(in crate::saved_searches::matching) fn changes_position(c: &mut AnyConnection) -> Result<i64, Error> {
    match c {
        AnyConnection::Sqlite(_) => {
            let last: Option<i64> = h::saved_search_changes.select(max(h::n)).get_result(c)?;
            Ok(last.unwrap_or_default() + 1)
        }
        AnyConnection::Postgres(_) => Ok(first_unsettled_position(c)?),
    }
}

/// Returns searches with `notify` in the order of their ids, after an id or from the start.
pub(in crate::saved_searches::matching) fn list_after(
    c: &mut AnyConnection,
    after: Option<Id>,
) -> Result<Vec<SearchToMatch>, Error> {
    let query = s::saved_searches.filter(s::notify).order(s::id).limit(MAX_ROWS);
    let query = query.select(SearchToMatch::as_select()).into_boxed();
    Ok(match after {
        Some(id) => query.filter(s::id.gt(id)).load(c)?,
        None => query.load(c)?,
    })
}

/// Returns the changes after a position. While an older transaction is open, the changes after it are found again.
pub(in crate::saved_searches::matching) fn changes_since(
    c: &mut AnyConnection,
    since: i64,
) -> Result<SearchChanges, Error> {
    // Read before the changes: the next read finds those that are written meanwhile.
    let position = changes_position(c)?;
    let query = h::saved_search_changes.select((h::n, h::search_id)).into_boxed();
    Ok(match c {
        // Numbers only grow, but none is left once all changes are deleted.
        AnyConnection::Sqlite(_) => {
            SearchChanges { position: position.max(since), changes: query.filter(h::n.ge(since)).load(c)? }
        }
        AnyConnection::Postgres(_) => {
            SearchChanges { position, changes: query.filter(h::position.ge(since)).load(c)? }
        }
    })
}

/// Returns those of the searches that have `notify`.
pub(in crate::saved_searches::matching) fn list_by_ids(
    c: &mut AnyConnection,
    ids: &[Id],
) -> Result<Vec<SearchToMatch>, Error> {
    let query = s::saved_searches.filter(s::id.eq_any(ids)).filter(s::notify);
    Ok(query.select(SearchToMatch::as_select()).load(c)?)
}

/// Deletes up to 1,000 changes before a position that are older than an hour, and the counts of the searches that they
/// deleted. Returns true if there may be more.
pub(in crate::saved_searches::matching) fn prune_changes(
    c: &mut AnyConnection,
    before: i64,
) -> Result<bool, Error> {
    let now = shared_now(c)?;
    let oldest = h::saved_search_changes.order(h::n).limit(PRUNE_BATCH_SIZE);
    let oldest = oldest.select((h::n, h::search_id, h::changed_at)).into_boxed();
    let oldest: Vec<(i64, Id, Timestamp)> = match c {
        AnyConnection::Sqlite(_) => oldest.filter(h::n.lt(before)).load(c)?,
        AnyConnection::Postgres(_) => oldest.filter(h::position.lt(before)).load(c)?,
    };
    let is_old = |(_, _, at): &(i64, Id, Timestamp)| at.until(now) > RETENTION;
    let (old, searches): (Vec<i64>, HashSet<Id>) =
        oldest.into_iter().filter(is_old).map(|(n, search, _)| (n, search)).unzip();
    let stored = s::saved_searches.filter(s::id.eq_any(&searches)).select(s::id);
    let stored: HashSet<Id> = stored.load(c)?.into_iter().collect();
    diesel::delete(k::saved_search_counts.filter(k::search_id.eq_any(searches.difference(&stored))))
        .execute(c)?;
    diesel::delete(h::saved_search_changes.filter(h::n.eq_any(&old))).execute(c)?;
    Ok(i64::try_from(old.len()).is_ok_and(|count| count == PRUNE_BATCH_SIZE))
}
