//! The settings of sessions, and of transactions behind a pooler: how PostgreSQL plans their statements, and how the
//! backend of a call is found.

use diesel::connection::{
    AnsiTransactionManager, CacheSize, Connection as _, SimpleConnection, TransactionManager,
};
use diesel::result::Error as DieselError;
use diesel::{PgConnection, QueryResult};

use super::connect;
use crate::citus::is_distributed;
use crate::{Error, Options, Pooler};

/// True if PostgreSQL may report errors in another language than English. An empty value stands for the language of the
/// server's environment.
const IS_FOREIGN: &str = "current_setting('lc_messages') !~* '^($|c$|c[.]|posix|en)'";

/// What [`check_language`] reports through the server. PostgreSQL does not translate it.
const FOREIGN_LANGUAGE: &str = "drover: errors are not in English";

/// How the watchdog finds the backend of a call in `pg_stat_activity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackendId {
    /// The process id. A session has one backend from its start to its end. SQLite has none, which is 0.
    Process(i32),
    /// The number of a call whose transactions go through a pooler. Each transaction may run in another backend, and
    /// the backend of an ended one executes the statements of other clients. So a transaction has its number in its
    /// `application_name`, which ends with it.
    Transaction(u64),
}

impl BackendId {
    /// Returns an unused number for the transactions of a call.
    pub(crate) fn for_transactions() -> Self {
        Self::Transaction(rand::random())
    }

    /// Returns the `application_name` of transactions with a number; `None` for a session.
    pub(crate) fn application_name(self, schema: &str) -> Option<String> {
        match self {
            Self::Process(_) => None,
            Self::Transaction(number) => Some(format!("{schema} {number:016x}")),
        }
    }

    /// Returns the condition on rows of `pg_stat_activity` that selects the backend.
    pub(crate) fn condition(self, schema: &str) -> String {
        match self {
            Self::Process(id) => format!("pid = {id}"),
            Self::Transaction(_) => {
                format!("application_name = '{}'", self.application_name(schema).unwrap_or_default())
            }
        }
    }
}

/// Returns statements that select the schema of the service and set timeouts and planner options: for the session, or
/// with the scope `LOCAL` for the transaction.
fn settings(schema: &str, scope: &str) -> String {
    // - lc_messages: Diesel hides the SQLSTATE of most failures, so [`Error`] recognises them by PostgreSQL's English
    //   texts. Other languages are replaced. This comes first, because what follows may fail.
    // - idle_in_transaction_session_timeout: releases the locks of a client that vanished within a transaction.
    // - plan_cache_mode: see [`PlanMode::Custom`].
    // - jit: most queries finish before they would be compiled.
    // - citus.max_adaptive_executor_pool_size: a server reads the parts of a table one after the other. For more
    //   connections, each search would have to open them, which costs more than the search.
    let search_path = format!("search_path TO \"{schema}\"");
    let one_connection = is_distributed().then_some("citus.max_adaptive_executor_pool_size = 1");
    let settings = [
        &*search_path,
        "TIME ZONE 'UTC'",
        "statement_timeout = '60s'",
        "lock_timeout = '5s'",
        "idle_in_transaction_session_timeout = '60s'",
        "client_min_messages = warning",
        "plan_cache_mode = force_custom_plan",
        "jit = off",
    ];
    let settings = settings.into_iter().chain(one_connection);
    let is_local = scope == "LOCAL";
    let language = format!("SELECT set_config('lc_messages', 'C', {is_local}) WHERE {IS_FOREIGN}");
    std::iter::once(language)
        .chain(settings.map(|setting| format!("SET {scope} {setting}")))
        .collect::<Vec<_>>()
        .join("; ")
}

/// Configures the session of a connection without a pooler.
pub(crate) fn configure(connection: &mut PgConnection, schema: &str) -> QueryResult<()> {
    connection.batch_execute(&settings(schema, "SESSION"))
}

/// Returns the statements that configure a transaction of a call behind a pooler.
pub(crate) fn local_settings(schema: &str, plan_mode: PlanMode, id: BackendId) -> String {
    let mut all = settings(schema, "LOCAL");
    for setting in plan_mode.local_settings() {
        all.extend(["; SET LOCAL ", *setting]);
    }
    if let Some(name) = id.application_name(schema) {
        all.extend(["; SET LOCAL application_name = '", &name, "'"]);
    }
    all
}

/// Connects with a timeout of 5 s, or of 2 s for each of several hosts, and runs a closure with the settings of the
/// service: in a session, or behind a pooler in a transaction at READ COMMITTED.
pub(crate) fn with_connection<T>(
    url: &str,
    options: &Options,
    f: impl FnOnce(&mut PgConnection) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut connection = connect(url)?;
    check_language(&mut connection)?;
    match options.pooler {
        Pooler::None => {
            configure(&mut connection, options.schema)?;
            f(&mut connection)
        }
        Pooler::Transaction => {
            disable_prepared_statements(&mut connection);
            in_transaction(&mut connection, &settings(options.schema, "LOCAL"), f)
        }
    }
}

/// Fails if errors of the server are not in English and this role may not change that.
fn check_language(connection: &mut PgConnection) -> Result<(), Error> {
    // Raises an error of its own, because no permission is recognised by its text here.
    let check = format!(
        "DO $$ BEGIN
             IF {IS_FOREIGN} THEN PERFORM set_config('lc_messages', 'C', true); END IF;
             PERFORM 1 / 0;
         EXCEPTION
             WHEN insufficient_privilege THEN RAISE EXCEPTION '{FOREIGN_LANGUAGE}';
             WHEN division_by_zero THEN
                 IF SQLERRM <> 'division by zero' THEN RAISE EXCEPTION '{FOREIGN_LANGUAGE}'; END IF;
         END $$"
    );
    connection.batch_execute(&check).map_err(|error| match &error {
        DieselError::DatabaseError(_, info) if info.message() == FOREIGN_LANGUAGE => Error::Setup(
            "PostgreSQL reports errors in another language than English, and the role of database.url \
             (DROVER_DATABASE__URL) may not change that: as a superuser, ALTER ROLE that role SET lc_messages = 'C'"
                .into(),
        ),
        _ => error.into(),
    })
}

/// Makes Diesel send each statement with its parameters as one message, which needs no statement that the session
/// keeps.
pub(crate) fn disable_prepared_statements(connection: &mut PgConnection) {
    connection.set_prepared_statement_cache_size(CacheSize::Disabled);
}

/// Runs a closure in a transaction at READ COMMITTED that begins with `first`, in the same message as BEGIN.
fn in_transaction<T>(
    connection: &mut PgConnection,
    first: &str,
    f: impl FnOnce(&mut PgConnection) -> Result<T, Error>,
) -> Result<T, Error> {
    let begin = format!("BEGIN ISOLATION LEVEL READ COMMITTED; {first}");
    AnsiTransactionManager::begin_transaction_sql(connection, &begin)?;
    let result = f(connection);
    // A pooler would close a session that is left in a transaction.
    match &result {
        Ok(_) => AnsiTransactionManager::commit_transaction(connection)?,
        Err(_) => drop(AnsiTransactionManager::rollback_transaction(connection)),
    }
    result
}

/// How PostgreSQL plans the prepared statements of a call. A session keeps its mode until a call needs another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlanMode {
    /// For the values of each execution. One plan for all values treats one row and a million rows alike: such plans
    /// took 2 s instead of 2 ms.
    Custom,
    /// Once, for all values. Indexes have the rows of these statements in their order. So plans that sort or that read
    /// more than a page are excluded, whatever the statistics say when the statement is planned.
    Generic,
    /// As the session happens to: each statement has only one plan.
    Any,
}

impl PlanMode {
    /// Returns the mode of statements whose rows an index has in order: [`Generic`](Self::Generic). With Citus it is
    /// [`Custom`](Self::Custom), because Citus plans no page within a larger statement for all values at once.
    pub(crate) fn reusable() -> Self {
        if is_distributed() { Self::Custom } else { Self::Generic }
    }

    /// Returns the statements that change the mode of a session.
    pub(crate) fn settings(self) -> &'static str {
        match self {
            Self::Custom => {
                "SET plan_cache_mode = force_custom_plan; RESET enable_sort; RESET enable_incremental_sort;
                 RESET enable_bitmapscan; RESET enable_seqscan"
            }
            Self::Generic => {
                "SET plan_cache_mode = force_generic_plan; SET enable_sort = off; SET enable_incremental_sort = off;
                 SET enable_bitmapscan = off; SET enable_seqscan = off"
            }
            Self::Any => "",
        }
    }

    /// Returns the settings of a transaction behind a pooler, besides those of [`Custom`](Self::Custom). There are no
    /// prepared statements, so PostgreSQL plans each execution for its values.
    pub(crate) fn local_settings(self) -> &'static [&'static str] {
        match self {
            Self::Generic => &[
                "enable_sort = off",
                "enable_incremental_sort = off",
                "enable_bitmapscan = off",
                "enable_seqscan = off",
            ],
            Self::Custom | Self::Any => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_found_by_their_name() {
        let id = BackendId::Transaction(10);
        assert_eq!(id.application_name("things").as_deref(), Some("things 000000000000000a"));
        assert_eq!(id.condition("things"), "application_name = 'things 000000000000000a'");
        assert_eq!(BackendId::Process(7).condition("things"), "pid = 7");
        assert_ne!(BackendId::for_transactions(), BackendId::for_transactions());
    }
}
