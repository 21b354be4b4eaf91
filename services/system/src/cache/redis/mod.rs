//! The Redis backend, shared by the replicas and possibly by other applications: it touches only keys with its prefix.
//!
//! An entry is `<prefix>entry:<key>`. Two counters lie outside of the entries, so that no clear can remove them:
//! `<prefix>epoch` counts clears, and `<prefix>secrets:generation` is the generation of secrets.

mod connection;
#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

use ::redis::{Client, ToRedisArgs, cmd};
use anyhow::Result;
use futures_util::future::BoxFuture;

use super::{Backend, Lookup, cache_bytes, cache_entries};
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
/// Increments the counter at `KEYS[1]`, at least to `ARGV[1]`, the current time in ms. So a counter never repeats a
/// value, even if Redis has lost it, or was replaced by a replica without the last values.
const INCREMENT_SCRIPT: &str = "local value = redis.call('INCR', KEYS[1]) \
                                if value >= tonumber(ARGV[1]) then return value end \
                                redis.call('SET', KEYS[1], ARGV[1]) return tonumber(ARGV[1])";

/// Entries in a Redis database.
pub(super) struct RedisBackend {
    connection: RedisConnection,
    /// The start of all keys of this deployment.
    prefix: String,
    ttl_seconds: u64,
}

impl RedisBackend {
    /// Connects to Redis. Keys start with `prefix`; entries expire after `ttl`. An unreachable Redis is not an error.
    pub(super) async fn open(client: Client, prefix: &str, ttl: Duration) -> Self {
        let connection = RedisConnection::open(client).await;
        Self { connection, prefix: prefix.to_owned(), ttl_seconds: ttl.as_secs() }
    }

    /// Checks that Redis can be used. Returns its description.
    ///
    /// # Errors
    /// Fails if Redis cannot be reached or refuses the password.
    pub(super) async fn check(client: Client) -> Result<String> {
        connection::connect(&client).await?;
        Ok(connection::describe(&client))
    }

    /// Returns the Redis key of the entry with this key.
    fn entry(&self, key: &str) -> String {
        format!("{}entry:{key}", self.prefix)
    }

    /// Returns the Redis key of the epoch.
    fn epoch(&self) -> String {
        format!("{}epoch", self.prefix)
    }

    /// Returns the Redis key of the generation of secrets.
    fn generation(&self) -> String {
        format!("{}secrets:generation", self.prefix)
    }

    async fn increment(&self, counter: &str) -> Result<u64> {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis().to_string();
        let mut increment = cmd("EVAL");
        increment.arg(INCREMENT_SCRIPT).arg(1).arg(counter).arg(now);
        self.connection.query(&increment, CLEAR_TIMEOUT).await
    }

    async fn start_epoch(&self) -> Result<u64> {
        self.increment(&self.epoch()).await
    }

    /// Starts an epoch, removes entries, and returns their number. Starts the epoch after the removal if that failed
    /// before it, which happens while Redis is out of memory: only the removal makes room.
    async fn clear(&self, removal: impl Future<Output = Result<u64>>) -> Result<u64> {
        let new_epoch = self.start_epoch().await;
        let removed = removal.await?;
        if new_epoch.is_err() {
            self.start_epoch().await?;
        }
        Ok(removed)
    }

    /// Removes the entries with these Redis keys and returns their number.
    async fn unlink<K: ToRedisArgs>(&self, redis_keys: &[K]) -> Result<u64> {
        let mut removed = 0;
        for keys in redis_keys.chunks(KEYS_PER_COMMAND) {
            removed += self.connection.query::<u64>(cmd("UNLINK").arg(keys), CLEAR_TIMEOUT).await?;
        }
        Ok(removed)
    }

    /// Removes the entries whose keys start with one of these prefixes and returns their number.
    async fn unlink_prefixes(&self, prefixes: &[String]) -> Result<u64> {
        let pattern = [escape_glob(&self.entry(common_prefix(prefixes))), b"*".to_vec()].concat();
        let entries = self.entry("");
        // The pattern matches the common prefix only.
        let is_match = |redis_key: &Vec<u8>| {
            let key = redis_key.strip_prefix(entries.as_bytes());
            key.is_some_and(|key| prefixes.iter().any(|prefix| key.starts_with(prefix.as_bytes())))
        };
        let (mut cursor, mut removed) = (0_u64, 0);
        loop {
            let mut scan = cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(KEYS_PER_COMMAND);
            let (next_cursor, mut redis_keys): (u64, Vec<Vec<u8>>) =
                self.connection.query(&scan, CLEAR_TIMEOUT).await?;
            redis_keys.retain(is_match);
            removed += self.unlink(&redis_keys).await?;
            if next_cursor == 0 {
                return Ok(removed);
            }
            cursor = next_cursor;
        }
    }

    /// Returns the number of all keys of the database, if it is known.
    async fn count_keys(&self) -> Option<u64> {
        self.connection.query_optional(&cmd("DBSIZE"), CALL_TIMEOUT).await
    }

    /// Returns the bytes that the server uses, if they are known.
    async fn used_memory(&self) -> Option<u64> {
        let memory: String = self.connection.query_optional(cmd("INFO").arg("memory"), CALL_TIMEOUT).await?;
        memory.lines().find_map(|line| line.strip_prefix("used_memory:")?.trim().parse().ok())
    }
}

impl Backend for RedisBackend {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Lookup>> {
        Box::pin(async move {
            let mut value_and_epoch = cmd("MGET");
            value_and_epoch.arg(self.entry(key)).arg(self.epoch());
            let (value, epoch): (_, Option<u64>) =
                self.connection.query(&value_and_epoch, CALL_TIMEOUT).await?;
            Ok(Lookup { value, epoch: epoch.unwrap_or_default() })
        })
    }

    fn put<'a>(&'a self, key: &'a str, value: Vec<u8>, epoch: u64) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let mut put = cmd("EVAL");
            put.arg(PUT_SCRIPT).arg(2).arg(self.entry(key)).arg(self.epoch());
            put.arg(value).arg(epoch).arg(self.ttl_seconds);
            self.connection.query(&put, CALL_TIMEOUT).await
        })
    }

    fn remove<'a>(&'a self, keys: &'a [String]) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            let redis_keys: Vec<_> = keys.iter().map(|key| self.entry(key)).collect();
            self.clear(self.unlink(&redis_keys)).await
        })
    }

    fn remove_prefixes<'a>(&'a self, prefixes: &'a [String]) -> BoxFuture<'a, Result<u64>> {
        Box::pin(self.clear(self.unlink_prefixes(prefixes)))
    }

    fn secrets_generation(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async {
            let generation: Option<u64> =
                self.connection.query(cmd("GET").arg(self.generation()), CALL_TIMEOUT).await?;
            Ok(generation.unwrap_or_default())
        })
    }

    fn next_secrets_generation(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async { self.increment(&self.generation()).await })
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

/// Returns the longest prefix that all of these share. One scan with it finds the keys of all prefixes, and few others.
pub(super) fn common_prefix(prefixes: &[String]) -> &str {
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
