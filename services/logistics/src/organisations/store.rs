//! The block lists of organisations.

use std::collections::{BTreeSet, HashSet};

use common::{Error, PageRequest, Reason, ResultPage};
use database::{AnyConnection, Id, Timestamp};
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel::sql_types::{Array, Text};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::schema::organisation_blocks::{self, dsl as b};

/// The most organisations that one can block.
const MAX_BLOCKS: i32 = 1_000;

/// An organisation that the caller's has blocked.
#[derive(Debug, Queryable, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BlockedOrganisation {
    /// Where the organisation is in the order of lists.
    #[serde(skip)]
    position: Id,
    /// The id of the blocked organisation.
    id: String,
    /// When it was blocked.
    #[serde(rename = "blockedAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    blocked_at: Timestamp,
}

/// An organisation that another one names as organiser or carrier of a load.
#[derive(Clone, Debug, PartialEq, Eq, Hash, QueryableByName)]
pub(crate) struct NamedBy {
    /// The organisation that is named.
    #[diesel(sql_type = Text, column_name = organisation_id)]
    pub(crate) named: String,
    /// The organisation in whose name it is named.
    #[diesel(sql_type = Text, column_name = blocked_id)]
    pub(crate) by: String,
}

impl NamedBy {
    /// Returns the party of a load that an organisation names besides itself.
    pub(crate) fn another_party(parties: &[&str], by: &str) -> Option<Self> {
        let named = parties.iter().find(|party| **party != by)?;
        Some(Self { named: (*named).to_owned(), by: by.to_owned() })
    }
}

/// Blocks an organisation, unless it is blocked already.
///
/// # Errors
/// 409 if there are 1,000 on the list.
pub(super) fn block(c: &mut AnyConnection, organisation_id: &str, blocked_id: &str) -> Result<(), Error> {
    let is_blocked = exists(organisation_blocks::table.find((organisation_id, blocked_id)));
    if diesel::select(is_blocked).get_result(c)? {
        return Ok(());
    }
    let used: Vec<i32> =
        b::organisation_blocks.filter(b::organisation_id.eq(organisation_id)).select(b::slot).load(c)?;
    let used: BTreeSet<i32> = used.into_iter().collect();
    let Some(slot) = (1..=MAX_BLOCKS).find(|slot| !used.contains(slot)) else {
        let message = format!(
            "The organisation has blocked {MAX_BLOCKS} others, which is the most: end a block first."
        );
        return Err(Error::conflict(Reason::LimitReached, message));
    };
    let row = (
        b::organisation_id.eq(organisation_id),
        b::blocked_id.eq(blocked_id),
        b::id.eq(Id::new()),
        b::slot.eq(slot),
        b::blocked_at.eq(Timestamp::now()),
    );
    // Of two concurrent inserts into a slot or of the same block, PostgreSQL makes the second wait for the first and
    // run again: it then finds that row.
    let stored = database::dispatch!(c, c => diesel::insert_into(organisation_blocks::table)
        .values(row)
        .on_conflict_do_nothing()
        .execute(c))?;
    if stored == 0 {
        return Err(Error::Internal(anyhow::anyhow!("a free slot of a block list was used")));
    }
    Ok(())
}

/// Ends a block, if there is one.
pub(super) fn unblock(c: &mut AnyConnection, organisation_id: &str, blocked_id: &str) -> Result<(), Error> {
    diesel::delete(organisation_blocks::table.find((organisation_id, blocked_id))).execute(c)?;
    Ok(())
}

/// Returns a page of the organisations that an organisation has blocked, the last one first, and the number of all if
/// `count` is true.
pub(crate) fn list(
    c: &mut AnyConnection,
    organisation_id: &str,
    page: &PageRequest,
    count: bool,
) -> Result<ResultPage, Error> {
    let own = || b::organisation_blocks.filter(b::organisation_id.eq(organisation_id));
    let mut query = own().select((b::id, b::blocked_id, b::blocked_at)).into_boxed();
    if let Some((_, last)) = page.position() {
        query = query.filter(b::id.lt(last));
    }
    let rows: Vec<BlockedOrganisation> =
        query.order(b::id.desc()).offset(page.offset).limit(page.fetch()).load(c)?;
    let total = count.then(|| own().count().get_result(c)).transpose()?;
    ResultPage::newest_first(rows.iter().map(|row| Ok((row.position, row))), page, total)
}

/// Checks that an organisation has not blocked the one that names it as organiser or carrier of a load.
///
/// # Errors
/// 403 with `body.reason` `blocked`.
pub(crate) fn check_not_blocked(c: &mut AnyConnection, naming: &NamedBy) -> Result<(), Error> {
    let is_blocked = exists(organisation_blocks::table.find((&naming.named, &naming.by)));
    if diesel::select(is_blocked).get_result(c)? {
        let message = "This organisation has blocked the one that names it as organiser or carrier.";
        return Err(Error::Restricted(Reason::Blocked, message));
    }
    Ok(())
}

/// Returns those pairs in which the named organisation has blocked the other one.
pub(crate) fn find_blocked(c: &mut AnyConnection, pairs: &[&NamedBy]) -> Result<HashSet<NamedBy>, Error> {
    if pairs.is_empty() {
        return Ok(HashSet::new());
    }
    let statement = |pairs: &str| {
        format!(
            "SELECT organisation_id, blocked_id FROM organisation_blocks \
             WHERE (organisation_id, blocked_id) IN (SELECT {pairs})"
        )
    };
    let found: Vec<NamedBy> = match c {
        AnyConnection::Sqlite(c) => {
            let sql = statement("value ->> 0, value ->> 1 FROM json_each($1)");
            let pairs: Vec<_> = pairs.iter().map(|pair| [&pair.named, &pair.by]).collect();
            diesel::sql_query(sql).bind::<Text, _>(json!(pairs).to_string()).load(c)?
        }
        AnyConnection::Postgres(c) => {
            let (named, by): (Vec<_>, Vec<_>) =
                pairs.iter().map(|pair| (pair.named.as_str(), pair.by.as_str())).unzip();
            let sql = statement("* FROM unnest($1, $2)");
            diesel::sql_query(sql).bind::<Array<Text>, _>(named).bind::<Array<Text>, _>(by).load(c)?
        }
    };
    Ok(found.into_iter().collect())
}
