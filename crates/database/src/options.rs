//! Options of a database.

use std::time::Duration;

use secrecy::SecretString;

/// Options of a database connection pool.
#[derive(Clone, Debug)]
pub struct Options {
    /// `sqlite://PATH` or `postgres://USER:PASSWORD@HOST[:PORT]/NAME`.
    pub url: SecretString,
    /// The service's schema on PostgreSQL. On SQLite each service has a file of its own.
    pub schema: &'static str,
    /// Maximum number of calls that run at once. PostgreSQL may have up to twice as many connections, because abandoned
    /// calls keep theirs. On SQLite the readers are fewer if the machine has fewer cores.
    pub pool_size: u32,
    /// Whether [`Database::open`](crate::Database::open) applies pending migrations. If false, it fails if there are
    /// any.
    pub migrate: bool,
    /// Timeout of each wait of a call: for a free connection, for a place in the queue of SQLite's writer, and for
    /// concurrent transactions that change the same rows. A call on PostgreSQL that is older is checked for a stalled
    /// server. While calls succeed within this time, a pool without free connections counts as reachable.
    pub wait_timeout: Duration,
}
