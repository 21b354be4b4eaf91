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
    /// Timeout of waiting for a free connection, and age at which a call on PostgreSQL is checked for a stalled server.
    pub wait: Duration,
}
