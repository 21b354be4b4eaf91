//! The Redis backend, shared by the replicas and possibly by other applications: it touches only keys with its prefix.
//!
//! Entries are stored under `<prefix>entry:<key>`. Two counters lie outside of the entries, so that no clear can remove
//! them: `<prefix>epoch` counts clears, `<prefix>secrets:generation` is the generation of secrets.

mod connection;
#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

use ::redis::{Cmd, cmd};
use anyhow::Result;
use futures_util::future::BoxFuture;

use super::backend::{Backend, Lookup};
use super::metrics::{cache_bytes, cache_entries};
use connection::RedisConnection;

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
/// Increments the counter at `KEYS[1]`. A counter that Redis has lost restarts at `ARGV[1]`, the current time in ms, so
/// that it never repeats a value.
const INCREMENT_SCRIPT: &str = "redis.call('SET', KEYS[1], ARGV[1], 'NX') return redis.call('INCR', KEYS[1])";

/// Entries in a Redis database.
pub(super) struct RedisBackend {
    connection: RedisConnection,
    /// Prefix of the Redis keys of entries.
    entry_prefix: String,
    epoch_key: String,
    generation_key: String,
    ttl_seconds: u64,
}

impl RedisBackend {
    /// Connects to Redis. Keys start with `prefix`; entries expire after `ttl`.
    ///
    /// # Errors
    /// Fails if the URL is invalid. An unreachable Redis is not an error.
    pub(super) async fn open(url: &str, prefix: &str, ttl: Duration) -> Result<Self> {
        Ok(Self {
            connection: RedisConnection::open(url).await?,
            entry_prefix: format!("{prefix}entry:"),
            epoch_key: format!("{prefix}epoch"),
            generation_key: format!("{prefix}secrets:generation"),
            ttl_seconds: ttl.as_secs(),
        })
    }

    /// Returns a check that Redis answers, whose result is for people.
    ///
    /// # Errors
    /// Fails if the URL is invalid.
    pub(super) fn check(url: &str) -> Result<impl Future<Output = Result<String>> + use<>> {
        connection::check(url)
    }

    fn redis_key(&self, key: &str) -> String {
        format!("{}{key}", self.entry_prefix)
    }

    async fn increment(&self, counter: &str) -> Result<u64> {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis().to_string();
        let mut increment = cmd("EVAL");
        increment.arg(INCREMENT_SCRIPT).arg(1).arg(counter).arg(now);
        self.connection.query(&increment, CLEAR_TIMEOUT).await
    }

    /// Increments the epoch at the end of a clear if that failed at its start, which happens while Redis is out of
    /// memory: only the removal of entries makes room.
    async fn retry_epoch(&self, first_attempt: Result<u64>) -> Result<()> {
        if first_attempt.is_err() {
            self.increment(&self.epoch_key).await?;
        }
        Ok(())
    }

    async fn unlink(&self, redis_keys: &[Vec<u8>]) -> Result<u64> {
        if redis_keys.is_empty() {
            return Ok(0);
        }
        self.connection.query(cmd("UNLINK").arg(redis_keys), CLEAR_TIMEOUT).await
    }

    fn scan(&self, cursor: u64, prefixes: &[String]) -> Cmd {
        let pattern =
            [escape_glob(&self.entry_prefix), escape_glob(common_prefix(prefixes)), b"*".to_vec()].concat();
        let mut scan = cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(KEYS_PER_COMMAND);
        scan
    }
}

impl Backend for RedisBackend {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Lookup>> {
        Box::pin(async move {
            let mut value_and_epoch = cmd("MGET");
            value_and_epoch.arg(self.redis_key(key)).arg(&self.epoch_key);
            let (value, epoch): (_, Option<u64>) =
                self.connection.query(&value_and_epoch, CALL_TIMEOUT).await?;
            Ok(Lookup { value, epoch: epoch.unwrap_or_default() })
        })
    }

    fn put<'a>(&'a self, key: &'a str, value: Vec<u8>, epoch: u64) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let mut put = cmd("EVAL");
            put.arg(PUT_SCRIPT).arg(2).arg(self.redis_key(key)).arg(&self.epoch_key);
            put.arg(value).arg(epoch).arg(self.ttl_seconds);
            self.connection.query(&put, CALL_TIMEOUT).await
        })
    }

    fn remove<'a>(&'a self, keys: &'a [String]) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            let new_epoch = self.increment(&self.epoch_key).await;
            let redis_keys: Vec<_> = keys.iter().map(|key| self.redis_key(key).into_bytes()).collect();
            let mut removed = 0;
            for chunk in redis_keys.chunks(KEYS_PER_COMMAND) {
                removed += self.unlink(chunk).await?;
            }
            self.retry_epoch(new_epoch).await?;
            Ok(removed)
        })
    }

    fn remove_prefixes<'a>(&'a self, prefixes: &'a [String]) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            let new_epoch = self.increment(&self.epoch_key).await;
            // `SCAN` matches the common prefix only.
            let matches = |redis_key: &Vec<u8>| {
                let key = redis_key.strip_prefix(self.entry_prefix.as_bytes());
                key.is_some_and(|key| prefixes.iter().any(|prefix| key.starts_with(prefix.as_bytes())))
            };
            let (mut cursor, mut removed) = (0, 0);
            loop {
                let scan = self.scan(cursor, prefixes);
                let (next_cursor, mut redis_keys): (u64, Vec<Vec<u8>>) =
                    self.connection.query(&scan, CLEAR_TIMEOUT).await?;
                redis_keys.retain(matches);
                removed += self.unlink(&redis_keys).await?;
                if next_cursor == 0 {
                    self.retry_epoch(new_epoch).await?;
                    return Ok(removed);
                }
                cursor = next_cursor;
            }
        })
    }

    fn secrets_generation(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async {
            let generation: Option<u64> =
                self.connection.query(cmd("GET").arg(&self.generation_key), CALL_TIMEOUT).await?;
            Ok(generation.unwrap_or_default())
        })
    }

    fn next_secrets_generation(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.increment(&self.generation_key))
    }

    fn is_reachable(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { self.connection.query::<String>(&cmd("PING"), CALL_TIMEOUT).await.is_ok() })
    }

    /// Measures the whole Redis, because counting our own entries would need a scan. An unknown size is NaN.
    #[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
    fn update_metrics(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let entries = self.connection.query_optional::<u64>(&cmd("DBSIZE"), CALL_TIMEOUT).await;
            cache_entries().set(entries.map_or(f64::NAN, |entries| entries as f64));
            let memory_info =
                self.connection.query_optional::<String>(cmd("INFO").arg("memory"), CALL_TIMEOUT).await;
            let used_memory = |info: String| {
                info.lines().find_map(|line| line.strip_prefix("used_memory:")?.trim().parse().ok())
            };
            cache_bytes().set(memory_info.and_then(used_memory).unwrap_or(f64::NAN));
        })
    }
}

/// Returns the longest prefix that all of these share. One scan with it finds the keys of all prefixes, and few others.
fn common_prefix(prefixes: &[String]) -> &str {
    let Some((first, rest)) = prefixes.split_first() else { return "" };
    let shared_bytes = |other: &String| {
        let shared = first.char_indices().zip(other.chars()).take_while(|((_, a), b)| a == b);
        shared.last().map_or(0, |((start, character), _)| start + character.len_utf8())
    };
    &first[..rest.iter().map(shared_bytes).min().unwrap_or(first.len())]
}

/// Returns a glob pattern that matches exactly this text.
fn escape_glob(text: &str) -> Vec<u8> {
    let escape = |byte: u8| if b"*?[]\\".contains(&byte) { vec![b'\\', byte] } else { vec![byte] };
    text.bytes().flat_map(escape).collect()
}
