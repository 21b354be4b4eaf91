//! The Redis backend, shared by the replicas and possibly by other applications: it touches only keys with its prefix.
//! Redis is one server, a master that sentinels name, or a cluster.
//!
//! Two kinds of counters lie outside of the entries, so that no clear can remove them: epochs count clears, and the
//! generation of secrets.

mod connection;
mod connector;
mod keys;
mod servers;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use ::redis::cmd;
use anyhow::Result;
use futures_util::future::{BoxFuture, try_join_all};

use super::backend::{Backend, Lookup};
use super::metrics::{cache_bytes, cache_entries};
use connection::RedisConnection;
use connector::Connector;
use keys::{Keys, Shard, common_prefix};
use servers::Master;

/// Keys that one command scans or removes. Redis serves other clients between commands.
const KEYS_PER_COMMAND: usize = 1000;
/// Timeout of a command on behalf of a request. After it the request continues without the cache.
/// The tests of this crate have a longer one, since a busy machine may delay one command of many.
const CALL_TIMEOUT: Duration = Duration::from_millis(if cfg!(test) { 2000 } else { 250 });
/// Timeout of each command of a clear, for which an administrator waits.
const CLEAR_TIMEOUT: Duration = Duration::from_secs(5);

/// Stores the value `ARGV[1]` under `KEYS[1]` for `ARGV[3]` seconds if the epoch at `KEYS[2]` is still `ARGV[2]`. A
/// script runs atomically.
const PUT_SCRIPT: &str = "if (redis.call('GET', KEYS[2]) or '0') == ARGV[2] then \
                          redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[3]) end";
/// Increments the counter at `KEYS[1]`, at least to `ARGV[1]`, the current time in ms. So a counter never repeats a
/// value, even if Redis has lost it, or a replica without the last values has become the master.
const INCREMENT_SCRIPT: &str = "local value = redis.call('INCR', KEYS[1]) \
                                if value >= tonumber(ARGV[1]) then return value end \
                                redis.call('SET', KEYS[1], ARGV[1]) return tonumber(ARGV[1])";

/// Entries in a Redis database.
pub(super) struct RedisBackend {
    connection: RedisConnection,
    keys: Keys,
    ttl_seconds: u64,
}

impl RedisBackend {
    /// Connects to Redis. Keys start with `prefix`; entries expire after `ttl`.
    ///
    /// # Errors
    /// Fails if the URL is invalid, or the prefix in a cluster. An unreachable Redis is not an error.
    pub(super) async fn open(url: &str, prefix: &str, ttl: Duration) -> Result<Self> {
        let connector = Connector::new(url)?;
        let keys = Keys::new(prefix, connector.is_cluster())?;
        Ok(Self { connection: RedisConnection::open(connector).await, keys, ttl_seconds: ttl.as_secs() })
    }

    /// Returns a check that Redis can be used. Its result describes Redis, for people.
    ///
    /// # Errors
    /// Fails if the URL is invalid, or the prefix in a cluster.
    pub(super) fn check(url: &str, prefix: &str) -> Result<impl Future<Output = Result<String>> + use<>> {
        let connector = Connector::new(url)?;
        Keys::new(prefix, connector.is_cluster())?;
        Ok(async move { Ok(connector.connect().await?.description) })
    }

    async fn increment(&self, counter: &str) -> Result<u64> {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis().to_string();
        let mut increment = cmd("EVAL");
        increment.arg(INCREMENT_SCRIPT).arg(1).arg(counter).arg(now);
        self.connection.query(&increment, CLEAR_TIMEOUT).await
    }

    /// Starts a new epoch of these shards.
    async fn start_epochs(&self, shards: &[Shard]) -> Result<()> {
        let epochs: Vec<_> = shards.iter().map(|shard| self.keys.epoch(*shard)).collect();
        try_join_all(epochs.iter().map(|epoch| self.increment(epoch))).await?;
        Ok(())
    }

    /// Starts the epochs at the end of a clear if that failed at its start, which happens while Redis is out of memory:
    /// only the removal of entries makes room.
    async fn retry_epochs(&self, first_attempt: Result<()>, shards: &[Shard]) -> Result<()> {
        match first_attempt {
            Ok(()) => Ok(()),
            Err(_) => self.start_epochs(shards).await,
        }
    }

    /// Removes the entries with these Redis keys and returns their number. One command removes keys of one shard.
    async fn unlink(&self, redis_keys: impl IntoIterator<Item = (Shard, Vec<u8>)>) -> Result<u64> {
        let mut by_shard = BTreeMap::<_, Vec<_>>::new();
        for (shard, redis_key) in redis_keys {
            by_shard.entry(shard).or_default().push(redis_key);
        }
        let commands: Vec<_> = by_shard
            .values()
            .flat_map(|keys| keys.chunks(KEYS_PER_COMMAND))
            .map(|keys| cmd("UNLINK").arg(keys).take())
            .collect();
        let removed = commands.iter().map(|unlink| self.connection.query::<u64>(unlink, CLEAR_TIMEOUT));
        Ok(try_join_all(removed).await?.iter().sum())
    }

    /// Removes the entries of a master whose keys start with one of these prefixes and returns their number.
    async fn remove_from(&self, master: &Master, prefixes: &[String]) -> Result<u64> {
        let pattern = self.keys.pattern(common_prefix(prefixes));
        // The pattern matches the common prefix only.
        let entry = |redis_key: Vec<u8>| {
            let (shard, key) = self.keys.parse(&redis_key)?;
            let matches = prefixes.iter().any(|prefix| key.starts_with(prefix.as_bytes()));
            matches.then_some((shard, redis_key))
        };
        let (mut cursor, mut removed) = (0_u64, 0);
        loop {
            let mut scan = cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(KEYS_PER_COMMAND);
            let (next_cursor, redis_keys): (u64, Vec<Vec<u8>>) =
                self.connection.query_on(master, &scan, CLEAR_TIMEOUT).await?;
            removed += self.unlink(redis_keys.into_iter().filter_map(entry)).await?;
            if next_cursor == 0 {
                return Ok(removed);
            }
            cursor = next_cursor;
        }
    }

    /// Returns the number of all keys on all masters, if it is known.
    async fn count_keys(&self) -> Option<u64> {
        let keys = self.connection.query_optional::<u64>(&cmd("DBSIZE"), CALL_TIMEOUT).await?;
        Some(keys.iter().sum())
    }

    /// Returns the bytes that all masters use, if they are known.
    async fn used_memory(&self) -> Option<u64> {
        let sections =
            self.connection.query_optional::<String>(cmd("INFO").arg("memory"), CALL_TIMEOUT).await?;
        let used = |section: &String| -> Option<u64> {
            section.lines().find_map(|line| line.strip_prefix("used_memory:")?.trim().parse().ok())
        };
        sections.iter().map(used).sum()
    }
}

impl Backend for RedisBackend {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Lookup>> {
        Box::pin(async move {
            let mut value_and_epoch = cmd("MGET");
            value_and_epoch.arg(self.keys.entry(key)).arg(self.keys.epoch(self.keys.shard(key)));
            let (value, epoch): (_, Option<u64>) =
                self.connection.query(&value_and_epoch, CALL_TIMEOUT).await?;
            Ok(Lookup { value, epoch: epoch.unwrap_or_default() })
        })
    }

    fn put<'a>(&'a self, key: &'a str, value: Vec<u8>, epoch: u64) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let mut put = cmd("EVAL");
            put.arg(PUT_SCRIPT).arg(2).arg(self.keys.entry(key)).arg(self.keys.epoch(self.keys.shard(key)));
            put.arg(value).arg(epoch).arg(self.ttl_seconds);
            self.connection.query(&put, CALL_TIMEOUT).await
        })
    }

    fn remove<'a>(&'a self, keys: &'a [String]) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            let shards: BTreeSet<_> = keys.iter().map(|key| self.keys.shard(key)).collect();
            let shards = Vec::from_iter(shards);
            let new_epochs = self.start_epochs(&shards).await;
            let entry = |key: &String| (self.keys.shard(key), self.keys.entry(key).into_bytes());
            let removed = self.unlink(keys.iter().map(entry)).await?;
            self.retry_epochs(new_epochs, &shards).await?;
            Ok(removed)
        })
    }

    fn remove_prefixes<'a>(&'a self, prefixes: &'a [String]) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            let shards = self.keys.shards();
            let new_epochs = self.start_epochs(&shards).await;
            let mut removed = 0;
            for master in self.connection.masters(CLEAR_TIMEOUT).await? {
                removed += self.remove_from(&master, prefixes).await?;
            }
            self.retry_epochs(new_epochs, &shards).await?;
            Ok(removed)
        })
    }

    fn secrets_generation(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async {
            let generation: Option<u64> =
                self.connection.query(cmd("GET").arg(self.keys.generation()), CALL_TIMEOUT).await?;
            Ok(generation.unwrap_or_default())
        })
    }

    fn next_secrets_generation(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async { self.increment(&self.keys.generation()).await })
    }

    fn is_reachable(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { self.connection.query::<String>(&cmd("PING"), CALL_TIMEOUT).await.is_ok() })
    }

    /// Measures the whole Redis, because counting our own entries would need a scan. An unknown size is NaN.
    #[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
    fn update_metrics(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let as_float = |size: Option<u64>| size.map_or(f64::NAN, |size| size as f64);
            cache_entries().set(as_float(self.count_keys().await));
            cache_bytes().set(as_float(self.used_memory().await));
        })
    }
}
