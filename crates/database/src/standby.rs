//! A server that replicates the database, for reads that may lag.
//!
//! The lag is measured and not asked for: the write-ahead log of the primary has a position, and the standby has
//! replayed a position. So a standby whose replication has stopped lags, however quiet the primary is.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use diesel::RunQueryDsl;
use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Nullable};
use parking_lot::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::metrics::DatabaseMetrics;
use crate::pool::Pool;
use crate::postgres::PlanMode;
use crate::{AnyConnection, DatabaseUrl, Error, Options};

/// Time between two measurements of the lag.
const MEASURE_INTERVAL: Duration = Duration::from_millis(500);
/// Time between two attempts to connect.
const CONNECT_INTERVAL: Duration = Duration::from_secs(5);
/// Bytes of the write-ahead log that are on the primary's disk.
const WRITTEN: &str = "(pg_current_wal_flush_lsn() - '0/0')::bigint";
/// Bytes of the write-ahead log that a standby has replayed. NULL for a server that is not a standby.
const REPLAYED: &str = "(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() END - '0/0')::bigint";

/// A standby that is followed.
pub(crate) struct Standby {
    pool: OnceLock<Pool>,
    max_lag: Duration,
    /// The lag, and when it was measured.
    measured: Mutex<Option<(Duration, Instant)>>,
    /// Positions of the primary and when it had them, as far as they may still be needed, oldest first.
    written: Mutex<VecDeque<(Instant, i64)>>,
}

impl Standby {
    pub(crate) fn new(max_lag: Duration) -> Self {
        Self { pool: OnceLock::new(), max_lag, measured: Mutex::default(), written: Mutex::default() }
    }

    /// Returns the standby and its pool, if it lags by at most its limit.
    pub(crate) fn current(self: &Arc<Self>) -> Option<(Arc<Self>, Pool)> {
        self.lag().filter(|lag| *lag <= self.max_lag)?;
        Some((self.clone(), self.pool.get()?.clone()))
    }

    /// Fails if the server of a connection lags by more than the limit, or is no standby. A URL with several hosts may
    /// name several standbys, and the lag was measured on another connection.
    pub(crate) fn check_lag(&self, c: &mut AnyConnection) -> Result<(), Error> {
        let lag = position(c, REPLAYED)?.and_then(|replayed| self.lag_at(replayed));
        match lag {
            Some(lag) if lag <= self.max_lag => Ok(()),
            _ => Err(Error::unavailable("the standby lags")),
        }
    }

    /// Returns the lag of a server that has replayed a position: the age of the last known position of the primary that
    /// it has.
    fn lag_at(&self, replayed: i64) -> Option<Duration> {
        let written = self.written.lock();
        let (at, _) = written.iter().rev().find(|(_, position)| *position <= replayed)?;
        Some(at.elapsed())
    }

    /// Records a position that the primary has had since an instant, and forgets old ones.
    fn record(&self, begun: Instant, position: i64) {
        let mut written = self.written.lock();
        written.push_back((begun, position));
        while written.front().is_some_and(|(at, _)| at.elapsed() > self.max_lag * 2) {
            written.pop_front();
        }
    }

    /// Returns the highest possible lag now; `None` if it is unknown.
    pub(crate) fn lag(&self) -> Option<Duration> {
        let (lag, at) = (*self.measured.lock())?;
        Some(lag + at.elapsed())
    }
}

/// Returns the text of an error with the setting of the standby.
pub(crate) fn of_standby(error: &Error) -> String {
    let [primary, standby] =
        ["database.url (DROVER_DATABASE__URL)", "database.read_url (DROVER_DATABASE__READ_URL)"];
    error.to_string().replace(primary, standby)
}

/// Connects to the standby and measures its lag, until the database is dropped.
pub(crate) async fn follow(standby: Weak<Standby>, primary: Pool, options: Options) {
    let pool = loop {
        if standby.strong_count() == 0 {
            return;
        }
        match connect(&options).await {
            Ok(pool) => break pool,
            Err(error) => tracing::warn!(error = %of_standby(&error), "the standby is not used yet"),
        }
        sleep(CONNECT_INTERVAL).await;
    };
    while let Some(standby) = standby.upgrade() {
        let _ = standby.pool.set(pool.clone());
        if let Some(lag) = measure(&standby, &primary, &pool).await {
            *standby.measured.lock() = Some((lag, Instant::now()));
        }
        drop(standby);
        sleep(MEASURE_INTERVAL).await;
    }
}

async fn connect(options: &Options) -> Result<Pool, Error> {
    let options = options.clone();
    // Calls that fail here succeed on the primary: they must not count as answered with 503.
    let metrics = DatabaseMetrics::unregistered();
    let opened = spawn_blocking(move || {
        Pool::open(DatabaseUrl::Postgres(options.url.clone()), None, &options, metrics)
    });
    opened.await.map_err(|_| Error::Panicked)?
}

/// Measures the lag on any connection to the standby.
async fn measure(standby: &Standby, primary: &Pool, pool: &Pool) -> Option<Duration> {
    let begun = Instant::now();
    // If the primary does not respond, the last known position ages.
    if let Ok(Some(written)) = primary.read(PlanMode::Any, |c| position(c, WRITTEN)).await {
        standby.record(begun, written);
    }
    let replayed = pool.read(PlanMode::Any, |c| position(c, REPLAYED)).await.ok()??;
    standby.lag_at(replayed)
}

fn position(c: &mut AnyConnection, expression: &str) -> Result<Option<i64>, Error> {
    let AnyConnection::Postgres(c) = c else { return Err(Error::Setup("not PostgreSQL".into())) };
    Ok(diesel::select(sql::<Nullable<BigInt>>(expression)).get_result(c)?)
}
