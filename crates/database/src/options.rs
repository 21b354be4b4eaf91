//! Options of a database.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::citus::is_distributed;
use crate::url::add_parameter;
use crate::{DatabaseUrl, Error};

/// Options of a database connection pool.
#[derive(Clone, Debug)]
pub struct Options {
    /// `sqlite://PATH` or `postgres://USER:PASSWORD@HOST[:PORT][,HOST[:PORT]]…/NAME`.
    pub url: SecretString,
    /// The service's schema on PostgreSQL. On SQLite each service has a file of its own.
    pub schema: &'static str,
    /// Maximum number of calls that run at once. PostgreSQL may have up to twice as many connections, because abandoned
    /// calls keep theirs. On SQLite the readers are fewer if the machine has fewer cores.
    pub pool_size: u32,
    /// The pooler between the service and PostgreSQL. On SQLite there is none.
    pub pooler: Pooler,
    /// Whether [`Database::open`](crate::Database::open) applies pending migrations. If false, it fails if there are
    /// any.
    pub migrate: bool,
    /// Timeout of each wait of a call: for a free connection, for a place in the queue of SQLite's writer, and for
    /// concurrent transactions that change the same rows. A call on PostgreSQL that is older is checked for a stalled
    /// server. While calls succeed within this time, a pool without free connections counts as reachable.
    pub wait_timeout: Duration,
}

/// A pooler of connections between a service and PostgreSQL, by what it keeps for a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooler {
    /// There is none, or one that keeps a session for each client.
    #[default]
    None,
    /// Each transaction may run in another session, as with `pool_mode = transaction` of PgBouncer. So each call runs
    /// in a transaction that begins with its settings, and no statement is prepared.
    Transaction,
}

/// The standby for reads that may lag.
#[derive(Clone, Debug)]
pub struct StandbyOptions {
    /// The PostgreSQL URL of the standby.
    pub url: SecretString,
    /// The longest lag with which it is read. Otherwise the primary is.
    pub max_lag: Duration,
}

/// Returns the options of a standby.
pub(crate) fn standby_options(options: &Options, standby: &StandbyOptions) -> Result<Options, Error> {
    let urls = [&options.url, &standby.url].map(|url| DatabaseUrl::parse(url.expose_secret()));
    let [Ok(DatabaseUrl::Postgres(_)), Ok(url @ DatabaseUrl::Postgres(_))] = &urls else {
        return Err(Error::Setup(
            "database.read_url (DROVER_DATABASE__READ_URL) is for PostgreSQL: database.url and database.read_url must \
             start with postgres://"
                .into(),
        ));
    };
    if is_distributed() {
        return Err(Error::Setup(
            "database.read_url (DROVER_DATABASE__READ_URL) must be empty with Citus: no standby has the rows of all \
             servers"
                .into(),
        ));
    }
    let several_hosts = url.hosts().len() > 1;
    let mut url = standby.url.expose_secret().to_owned();
    if several_hosts {
        // They may include the primary, and a promotion exchanges them.
        add_parameter(&mut url, "target_session_attrs", "standby");
    }
    Ok(Options { url: url.into(), ..options.clone() })
}

/// Parses the URL of a database and checks the options that depend on it.
pub(crate) fn parse_url(options: &Options) -> Result<DatabaseUrl, Error> {
    let url = DatabaseUrl::parse(options.url.expose_secret())?;
    if matches!(url, DatabaseUrl::Sqlite(_)) && options.pooler != Pooler::None {
        return Err(Error::Setup(
            "database.pooler (DROVER_DATABASE__POOLER) must be none, because database.url names a SQLite file".into(),
        ));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the URL that the pool of a standby opens.
    fn url_of_standby(url: &str) -> Result<String, Error> {
        let options = Options {
            url: "postgres://db/drover".into(),
            schema: "things",
            pool_size: 2,
            pooler: Pooler::None,
            migrate: false,
            wait_timeout: Duration::from_secs(1),
        };
        let standby = StandbyOptions { url: url.into(), max_lag: Duration::from_secs(1) };
        Ok(standby_options(&options, &standby)?.url.expose_secret().to_owned())
    }

    #[test]
    fn several_hosts_are_asked_for_a_standby() {
        for (url, opened) in [
            ("postgres://a/d", "postgres://a/d"),
            ("postgres://a,b/d", "postgres://a,b/d?target_session_attrs=standby"),
            (
                "postgres://a,b/d?sslmode=require",
                "postgres://a,b/d?sslmode=require&target_session_attrs=standby",
            ),
            ("postgres://a,b/d?target_session_attrs=any", "postgres://a,b/d?target_session_attrs=any"),
        ] {
            assert_eq!(url_of_standby(url).unwrap(), opened);
        }
        assert!(url_of_standby("sqlite://a").unwrap_err().to_string().contains("is for PostgreSQL"));
    }
}
