//! The loads of large imports on SQLite, which has one writer. Such an import stores its loads in several transactions,
//! between which other writes run:
//!
//! 1. [`begin_import`] and [`stage`] store loads that nobody sees ([`NotStaged`]).
//! 2. [`finish_import`] makes all of them visible, in the transaction of the import.
//! 3. [`announce`] stores the events that report them. A load that changes before is announced first.
//!
//! [`announce_later`] leaves the third step for the loads of a smaller import whose events have many deliveries.
//! [`discard`] deletes the loads of an import that was refused or whose process ended.

use std::time::{Duration, Instant};

use common::Error;
use database::{AnyConnection, Id, IdSql, Json, JsonSql, MultiBackend};
use diesel::expression::{AppearsOnTable, SelectableExpression, ValidGrouping, is_aggregate};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use diesel::sqlite::SqliteConnection;

use super::row::Creation;
use super::{CREATED, InsertLoad, LoadRow};
use crate::loads::history::record_created;

/// The most loads that [`announce`] and [`discard`] process in one transaction, which takes about 50 ms.
const LOADS_AT_ONCE: usize = 1_000;
/// The number of loads that [`stage`] stores before it looks for other writes, which takes at most about 50 ms.
const ROWS_BETWEEN_CHECKS: usize = 250;
/// Time after which [`stage`] ends a transaction, so that its commit does not take long: the pages of a large database
/// take up more memory than the cache of SQLite has.
const MAX_STAGING_TIME: Duration = Duration::from_millis(500);
/// Message for an import whose loads were deleted before they were visible.
const IMPORT_ENDED: &str =
    "Another process of the service ended this import and nothing was changed: send it again.";
/// The condition that a row of `staged_loads` belongs to a running import.
const IS_RUNNING: &str = "import_id IN (SELECT id FROM running_imports)";

/// The condition that a load does not belong to a running import.
#[derive(Clone, Copy, Debug, QueryId)]
pub(in crate::loads) struct NotStaged;

/// [`NotStaged`] as SQL of SQLite. The first half, which does not depend on the row, is evaluated once.
pub(super) const NOT_STAGED: &str = "(NOT EXISTS (SELECT 1 FROM running_imports) OR NOT EXISTS (SELECT 1 \
     FROM staged_loads WHERE staged_loads.n = loads.n AND import_id IN (SELECT id FROM running_imports)))";

impl QueryFragment<MultiBackend> for NotStaged {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        out.push_sql(match out.backend() {
            MultiBackend::Sqlite(_) => NOT_STAGED,
            MultiBackend::Postgres(_) => "TRUE",
        });
        Ok(())
    }
}

impl Expression for NotStaged {
    type SqlType = Bool;
}
impl<T> AppearsOnTable<T> for NotStaged {}
impl<T> SelectableExpression<T> for NotStaged {}
impl ValidGrouping<()> for NotStaged {
    type IsAggregate = is_aggregate::Never;
}

/// A load that was not announced yet.
#[derive(QueryableByName)]
struct Unannounced {
    #[diesel(sql_type = BigInt)]
    n: i64,
    #[diesel(sql_type = IdSql)]
    id: Id,
    #[diesel(sql_type = Nullable<Text>)]
    organiser_id: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    carrier_id: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    created_by: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    creator_id: Option<String>,
    #[diesel(sql_type = JsonSql)]
    document: Json,
}

#[derive(QueryableByName)]
struct ImportId {
    #[diesel(sql_type = IdSql)]
    id: Id,
}

#[derive(QueryableByName)]
struct StagedCount {
    #[diesel(sql_type = BigInt)]
    count: i64,
}

/// Begins an import in several transactions.
pub(crate) fn begin_import(c: &mut AnyConnection, import: Id) -> Result<(), Error> {
    let AnyConnection::Sqlite(c) = c else { return Ok(()) };
    diesel::sql_query("INSERT INTO running_imports VALUES ($1)").bind::<IdSql, _>(import).execute(c)?;
    Ok(())
}

/// Stores the first of these loads of a running import, which nobody sees yet, and returns their number: as many as it
/// can until another write waits. The more loads a transaction stores, the fewer pages of the indexes it writes for
/// each.
///
/// # Errors
/// 503 if the import is not running any more, so that its loads would be visible.
pub(crate) fn stage(
    c: &mut AnyConnection,
    import: Id,
    rows: &[LoadRow],
    another_waits: impl Fn() -> bool,
) -> Result<usize, Error> {
    let (AnyConnection::Sqlite(c), Some(first)) = (c, rows.first()) else { return Ok(rows.len()) };
    let (started, mut stored) = (Instant::now(), 0);
    for rows in rows.chunks(ROWS_BETWEEN_CHECKS) {
        rows.iter().try_for_each(|row| InsertLoad(row).execute(c).map(drop))?;
        stored += rows.len();
        if another_waits() || started.elapsed() > MAX_STAGING_TIME {
            break;
        }
    }
    announce_later(c, import, first.id())?;
    let running: Option<ImportId> = diesel::sql_query("SELECT id FROM running_imports WHERE id = $1")
        .bind::<IdSql, _>(import)
        .get_result(c)
        .optional()?;
    running.map(|_| stored).ok_or(Error::Busy(IMPORT_ENDED))
}

/// Leaves the loads that this transaction stored to [`announce`], from this one on. They have the highest numbers.
pub(super) fn announce_later(c: &mut SqliteConnection, import: Id, first: Id) -> QueryResult<usize> {
    let staged =
        "INSERT INTO staged_loads SELECT n, $1 FROM loads WHERE n >= (SELECT n FROM loads WHERE id = $2)";
    diesel::sql_query(staged).bind::<IdSql, _>(import).bind::<IdSql, _>(first).execute(c)
}

/// Makes the loads of an import visible, of which there are `count`.
///
/// # Errors
/// 503 if some of them are gone: another process with the same database began to discard them, because it does not run
/// the import.
pub(crate) fn finish_import(c: &mut AnyConnection, import: Id, count: usize) -> Result<(), Error> {
    let AnyConnection::Sqlite(c) = c else { return Ok(()) };
    let staged = diesel::sql_query("SELECT count(*) AS count FROM staged_loads WHERE import_id = $1");
    let staged: StagedCount = staged.bind::<IdSql, _>(import).get_result(c)?;
    if end_import(c, import)? == 0 || usize::try_from(staged.count) != Ok(count) {
        return Err(Error::Busy(IMPORT_ENDED));
    }
    Ok(())
}

fn end_import(c: &mut SqliteConnection, import: Id) -> QueryResult<usize> {
    diesel::sql_query("DELETE FROM running_imports WHERE id = $1").bind::<IdSql, _>(import).execute(c)
}

/// Returns true if visible loads were not announced yet.
pub(crate) fn has_unannounced(c: &mut AnyConnection) -> Result<bool, Error> {
    let AnyConnection::Sqlite(c) = c else { return Ok(false) };
    let found = format!("EXISTS (SELECT 1 FROM staged_loads WHERE NOT {IS_RUNNING})");
    Ok(diesel::select(diesel::dsl::sql::<Bool>(&found)).get_result(c)?)
}

/// The columns and tables of [`Unannounced`].
const UNANNOUNCED: &str = "SELECT n, id, organiser_id, carrier_id, created_by, creator_id, document \
     FROM staged_loads JOIN loads USING (n) WHERE";

/// Stores the deliveries of the events of some visible loads that were not announced yet, oldest first. Returns the
/// number of deliveries.
pub(crate) fn announce(c: &mut AnyConnection) -> Result<usize, Error> {
    let AnyConnection::Sqlite(sqlite) = c else { return Ok(0) };
    let query = format!("{UNANNOUNCED} NOT {IS_RUNNING} ORDER BY n LIMIT {LOADS_AT_ONCE}");
    let loads: Vec<Unannounced> = diesel::sql_query(query).load(sqlite)?;
    emit_created(c, &loads)
}

/// Announces a load before the caller's transaction changes it.
pub(in crate::loads) fn announce_one(c: &mut AnyConnection, load: Id) -> Result<(), Error> {
    let AnyConnection::Sqlite(sqlite) = c else { return Ok(()) };
    let query = diesel::sql_query(format!("{UNANNOUNCED} id = $1")).bind::<IdSql, _>(load);
    let loads: Vec<Unannounced> = query.load(sqlite)?;
    emit_created(c, &loads).map(drop)
}

/// Announces loads before the caller's transaction changes them.
pub(super) fn announce_many(c: &mut AnyConnection, loads: &[Id]) -> Result<(), Error> {
    if has_unannounced(c)? { loads.iter().try_for_each(|load| announce_one(c, *load)) } else { Ok(()) }
}

/// Stores the deliveries of the events that the first of these loads were created. Returns the number of deliveries.
fn emit_created(c: &mut AnyConnection, loads: &[Unannounced]) -> Result<usize, Error> {
    let creations = loads.iter().map(Unannounced::creation).collect::<Result<Vec<_>, Error>>()?;
    let subjects: Vec<_> = creations.iter().map(Creation::subject).collect();
    let emitted = webhooks::emit_many(c, CREATED, "load", &subjects)?;
    let announced = &loads[..emitted.subjects];
    if let (AnyConnection::Sqlite(c), Some(first), Some(last)) = (c, announced.first(), announced.last()) {
        let ids: Vec<_> = announced.iter().map(|load| load.id).collect();
        record_created(c, &ids)?;
        // All others between these two belong to running imports.
        let delete = format!("DELETE FROM staged_loads WHERE n BETWEEN $1 AND $2 AND NOT {IS_RUNNING}");
        diesel::sql_query(delete).bind::<BigInt, _>(first.n).bind::<BigInt, _>(last.n).execute(c)?;
    }
    Ok(emitted.deliveries)
}

impl Unannounced {
    fn creation(&self) -> Result<Creation<'_>, Error> {
        let organisations =
            [&self.organiser_id, &self.carrier_id].map(|id| id.as_deref().unwrap_or_default());
        let cause = self.created_by.as_deref().unwrap_or_default();
        Creation::new((self.id, &self.document, organisations), cause, self.creator_id.as_deref())
    }
}

/// Returns the ids of the imports that have not ended.
pub(crate) fn running_imports(c: &mut AnyConnection) -> Result<Vec<Id>, Error> {
    let AnyConnection::Sqlite(c) = c else { return Ok(Vec::new()) };
    let running: Vec<ImportId> = diesel::sql_query("SELECT id FROM running_imports").load(c)?;
    Ok(running.into_iter().map(|import| import.id).collect())
}

/// Deletes some of the loads of an import that failed, and at last the import. Returns true if there are more.
pub(crate) fn discard(c: &mut AnyConnection, import: Id) -> Result<bool, Error> {
    let AnyConnection::Sqlite(c) = c else { return Ok(false) };
    let batch = format!("(SELECT n FROM staged_loads WHERE import_id = $1 ORDER BY n LIMIT {LOADS_AT_ONCE})");
    let mut count = 0;
    for statement in [
        format!(
            "DELETE FROM load_creators WHERE (creator_id, load_id) IN \
             (SELECT creator_id, id FROM loads WHERE n IN {batch})"
        ),
        format!("DELETE FROM loads WHERE n IN {batch}"),
        format!("DELETE FROM staged_loads WHERE n IN {batch}"),
    ] {
        count = diesel::sql_query(statement).bind::<IdSql, _>(import).execute(c)?;
    }
    if count == 0 {
        end_import(c, import)?;
    }
    Ok(count > 0)
}
