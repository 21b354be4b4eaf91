//! The searches that are matched, and their changes.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use common::Error;
use database::{AnyConnection, Id, Timestamp, shared_now};
use diesel::dsl::max;
use diesel::prelude::*;

use crate::listings::current_position;
use crate::saved_searches::matching::model::{SearchChanges, SearchToMatch};
use crate::schema::saved_search_changes::dsl as h;
use crate::schema::saved_searches::dsl as s;

/// Searches that one query returns.
const MAX_ROWS: i64 = 1_000;
/// Time after which changes are deleted. A replica that has the lease reads them within seconds.
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
        AnyConnection::Postgres(_) => current_position(c),
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

/// Returns the searches that changed after a position. While an older transaction is open, the changes after it are
/// found again.
pub(in crate::saved_searches::matching) fn changes_since(
    c: &mut AnyConnection,
    since: i64,
) -> Result<SearchChanges, Error> {
    // Read before the changes: the next read finds those that are written meanwhile.
    let position = changes_position(c)?;
    let query = h::saved_search_changes.select(h::search_id).into_boxed();
    let ids: Vec<Id> = match c {
        AnyConnection::Sqlite(_) => query.filter(h::n.ge(since)).load(c)?,
        AnyConnection::Postgres(_) => query.filter(h::position.ge(since)).load(c)?,
    };
    let ids: Vec<Id> = ids.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    let mut searches = Vec::new();
    for part in ids.chunks(usize::try_from(MAX_ROWS).unwrap_or(usize::MAX)) {
        let query = s::saved_searches.filter(s::id.eq_any(part)).filter(s::notify);
        searches.extend(query.select(SearchToMatch::as_select()).load(c)?);
    }
    let present: HashSet<Id> = searches.iter().map(|search| search.id).collect();
    let gone = ids.into_iter().filter(|id| !present.contains(id)).collect();
    Ok(SearchChanges { position, searches, gone })
}

/// Deletes up to 1,000 changes that are older than an hour. Returns true if there may be more.
pub(in crate::saved_searches::matching) fn prune_changes(c: &mut AnyConnection) -> Result<bool, Error> {
    let now = shared_now(c)?;
    let oldest = h::saved_search_changes.order(h::n).limit(PRUNE_BATCH_SIZE);
    let oldest = oldest.select((h::n, h::changed_at)).load::<(i64, Timestamp)>(c)?;
    let is_old = |(_, at): &(i64, Timestamp)| at.until(now) > RETENTION;
    let old: Vec<i64> = oldest.into_iter().filter(is_old).map(|(n, _)| n).collect();
    diesel::delete(h::saved_search_changes.filter(h::n.eq_any(&old))).execute(c)?;
    Ok(i64::try_from(old.len()).is_ok_and(|count| count == PRUNE_BATCH_SIZE))
}
