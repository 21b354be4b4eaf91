//! Tables of PostgreSQL that Citus distributes over several servers.

use std::sync::atomic::{AtomicBool, Ordering};

use diesel::RunQueryDsl;
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::pg::PgConnection;
use diesel::sql_types::Bool;

use crate::{AnyConnection, Error};

/// Whether the database of this process is distributed. A process opens one database, or in tests several of a kind. A
/// static, because Diesel builds some of the queries that depend on it without a connection.
static IS_DISTRIBUTED: AtomicBool = AtomicBool::new(false);

/// Returns true if Citus distributes the rows of the PostgreSQL databases of this process.
pub(crate) fn is_distributed() -> bool {
    IS_DISTRIBUTED.load(Ordering::Relaxed)
}

impl AnyConnection {
    /// Returns true if Citus distributes the rows. Its planner knows fewer statements than PostgreSQL's.
    pub fn is_distributed(&self) -> bool {
        matches!(self, Self::Postgres(_)) && is_distributed()
    }

    /// Returns the SQL that locks the rows of a query and skips those that others have locked. It is empty on SQLite,
    /// which has one writer, and with Citus, which locks no rows of several servers: there, of two transactions that
    /// change the same row, the second fails and runs again.
    pub fn skip_locked(&self) -> &'static str {
        match self {
            Self::Postgres(_) if !self.is_distributed() => " FOR UPDATE SKIP LOCKED",
            _ => "",
        }
    }
}

/// A table whose rows Citus distributes by the hash of a column.
#[derive(Clone, Copy, Debug)]
pub struct DistributedTable {
    /// The name.
    pub name: &'static str,
    /// The column whose hash says where a row is.
    pub column: &'static str,
    /// The columns of the primary key on Citus, which contains the column above. `None`: those that it has anyway.
    pub primary_key: Option<&'static str>,
    /// False for a table that is never joined. The rows of all others with the same value are on the same server.
    pub is_joined: bool,
}

/// How Citus places the tables of a set of migrations.
#[derive(Clone, Copy, Debug, Default)]
pub struct Distribution {
    /// Distributed tables.
    pub distributed: &'static [DistributedTable],
    /// Reference tables, of which each server has a copy.
    pub reference: &'static [&'static str],
}

/// Prepares the session (`scope` is `SESSION`) or the transaction (`LOCAL`) for migrations of distributed tables.
pub(crate) fn prepare_distribution(c: &mut PgConnection, scope: &str) -> Result<(), Error> {
    if detect_citus(c)? {
        // Triggers run on the servers that have the rows, and look only at rows of the same load or listing.
        c.batch_execute(&format!(
            "SET {scope} citus.enable_unsafe_triggers = on; SET {scope} citus.multi_shard_modify_mode = 'sequential'"
        ))?;
    }
    Ok(())
}

/// Places the tables and functions that Citus does not know yet. All rows stay: Citus moves them. Does nothing without
/// Citus.
pub(crate) fn distribute(c: &mut PgConnection, distributions: &[Distribution]) -> Result<(), Error> {
    if !is_distributed() {
        return Ok(());
    }
    distribute_functions(c)?;
    for name in distributions.iter().flat_map(|distribution| distribution.reference) {
        if !is_placed(c, name)? {
            c.batch_execute(&format!("SELECT create_reference_table('{name}')"))?;
        }
    }
    let tables = || distributions.iter().flat_map(|distribution| distribution.distributed);
    let first_joined = tables().find(|table| table.is_joined).map(|table| table.name);
    for DistributedTable { name, column, primary_key, is_joined } in tables() {
        if is_placed(c, name)? {
            continue;
        }
        let beside = first_joined.filter(|first| *is_joined && first != name).unwrap_or("none");
        let key = primary_key.map_or_else(String::new, |key| {
            format!("ALTER TABLE {name} DROP CONSTRAINT {name}_pkey, ADD PRIMARY KEY ({key});")
        });
        // One transaction, because both statements are sent at once.
        c.batch_execute(&format!(
            "{key} SELECT create_distributed_table('{name}', '{column}', colocate_with => '{beside}')"
        ))?;
    }
    Ok(())
}

/// Copies functions that were created before the extension to all servers. Citus copies functions of triggers itself,
/// but not the functions that these call.
fn distribute_functions(c: &mut PgConnection) -> Result<(), Error> {
    Ok(c.batch_execute(
        "SELECT create_distributed_function(f.oid::regprocedure) FROM pg_proc f
         WHERE f.pronamespace = current_schema()::regnamespace AND f.prokind = 'f'
         AND pg_has_role(f.proowner, 'USAGE')
         AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = f.oid AND deptype = 'e')
         AND NOT EXISTS (SELECT FROM pg_dist_object WHERE classid = 'pg_proc'::regclass AND objid = f.oid)",
    )?)
}

fn is_placed(c: &mut PgConnection, table: &str) -> Result<bool, Error> {
    let known = format!("EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass('{table}'))");
    Ok(diesel::select(sql::<Bool>(&known)).get_result(c)?)
}

/// Finds out whether the database has Citus, for [`AnyConnection::is_distributed`].
pub(crate) fn detect_citus(c: &mut PgConnection) -> Result<bool, Error> {
    let has_citus = sql::<Bool>("EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')");
    let has_citus = diesel::select(has_citus).get_result(c)?;
    IS_DISTRIBUTED.store(has_citus, Ordering::Relaxed);
    Ok(has_citus)
}
