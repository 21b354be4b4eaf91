//! The cache in a Redis that replicas share, perhaps with others: nothing is touched but what begins with the prefix.
//!
//! Entries are `<prefix>entry:<key>`. Beside them stand two counters that no clear can name: `<prefix>epoch` counts
//! clears, `<prefix>secrets:generation` is what its name says.

mod link;
#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

use ::redis::{Cmd, cmd};
use anyhow::Result;
use futures_util::future::BoxFuture;

use super::backend::{Backend, Found};
use crate::metrics::{cache_bytes, cache_entries};
use link::RedisConnection;

/// So many keys are looked at or removed in one step, between which Redis serves others.
const STEP: usize = 1000;
/// A read that takes longer is answered without the cache.
const CALL_TIMEOUT: Duration = Duration::from_millis(250);
/// An administrator waits longer for one step of a clear.
const CLEARING: Duration = Duration::from_secs(5);

/// Looks at the epoch and puts the entry, with nothing between.
const PUT: &str = "if (redis.call('GET', KEYS[2]) or '0') == ARGV[2] then \
                   redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[3]) end";
/// Counts on. A counter that Redis has lost begins with the time, so that it never shows an old number again.
const COUNT: &str = "redis.call('SET', KEYS[1], ARGV[1], 'NX') return redis.call('INCR', KEYS[1])";

pub(super) struct Redis {
    link: RedisConnection,
    entries: String,
    epoch: String,
    secrets: String,
    seconds: u64,
}

impl Redis {
    pub(super) async fn open(url: &str, prefix: &str, life: Duration) -> Result<Self> {
        Ok(Self {
            link: RedisConnection::open(url).await?,
            entries: format!("{prefix}entry:"),
            epoch: format!("{prefix}epoch"),
            secrets: format!("{prefix}secrets:generation"),
            seconds: life.as_secs(),
        })
    }

    fn entry(&self, key: &str) -> String {
        format!("{}{key}", self.entries)
    }

    async fn count(&self, counter: &str) -> Result<u64> {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis().to_string();
        self.link.ask(cmd("EVAL").arg(COUNT).arg(1).arg(counter).arg(now), CLEARING).await
    }

    /// A clear is counted before anything goes; a Redis that is full can count only after.
    async fn count_again(&self, counted: Result<u64>) -> Result<()> {
        if counted.is_err() {
            self.count(&self.epoch).await?;
        }
        Ok(())
    }

    async fn unlink(&self, keys: &[Vec<u8>]) -> Result<u64> {
        if keys.is_empty() { Ok(0) } else { self.link.ask(cmd("UNLINK").arg(keys), CLEARING).await }
    }

    fn scan(&self, cursor: u64, prefixes: &[String]) -> Cmd {
        let pattern = [escaped(&self.entries), escaped(common_prefix(prefixes)), b"*".to_vec()].concat();
        let mut scan = cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(STEP);
        scan
    }
}

impl Backend for Redis {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Found>> {
        Box::pin(async move {
            let mut both = cmd("MGET");
            both.arg(self.entry(key)).arg(&self.epoch);
            let (value, epoch): (_, Option<u64>) = self.link.ask(&both, CALL_TIMEOUT).await?;
            Ok(Found { value, epoch: epoch.unwrap_or_default() })
        })
    }

    fn put<'a>(&'a self, key: &'a str, value: Vec<u8>, epoch: u64) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let mut put = cmd("EVAL");
            put.arg(PUT).arg(2).arg(self.entry(key)).arg(&self.epoch).arg(value).arg(epoch).arg(self.seconds);
            self.link.ask(&put, CALL_TIMEOUT).await
        })
    }

    fn remove<'a>(&'a self, keys: &'a [String]) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            let counted = self.count(&self.epoch).await;
            let keys: Vec<_> = keys.iter().map(|key| self.entry(key).into_bytes()).collect();
            let mut count = 0;
            for keys in keys.chunks(STEP) {
                count += self.unlink(keys).await?;
            }
            self.count_again(counted).await?;
            Ok(count)
        })
    }

    fn remove_prefixes<'a>(&'a self, prefixes: &'a [String]) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            let counted = self.count(&self.epoch).await;
            let named = |key: &Vec<u8>| {
                let key = key.strip_prefix(self.entries.as_bytes());
                key.is_some_and(|key| prefixes.iter().any(|prefix| key.starts_with(prefix.as_bytes())))
            };
            let (mut cursor, mut count) = (0, 0);
            loop {
                let (next, mut keys): (u64, Vec<Vec<u8>>) =
                    self.link.ask(&self.scan(cursor, prefixes), CLEARING).await?;
                keys.retain(named);
                count += self.unlink(&keys).await?;
                if next == 0 {
                    self.count_again(counted).await?;
                    return Ok(count);
                }
                cursor = next;
            }
        })
    }

    fn generation(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async {
            let number: Option<u64> = self.link.ask(cmd("GET").arg(&self.secrets), CALL_TIMEOUT).await?;
            Ok(number.unwrap_or_default())
        })
    }

    fn next_generation(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.count(&self.secrets))
    }

    fn is_reachable(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { self.link.ask::<String>(&cmd("PING"), CALL_TIMEOUT).await.is_ok() })
    }

    /// Of all that Redis holds: ours would have to be counted entry by entry. What it does not say is no number.
    #[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
    fn measure(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let entries = self.link.look::<u64>(&cmd("DBSIZE"), CALL_TIMEOUT).await;
            cache_entries().set(entries.map_or(f64::NAN, |entries| entries as f64));
            let memory = self.link.look::<String>(cmd("INFO").arg("memory"), CALL_TIMEOUT).await;
            let used = |info: String| {
                info.lines().find_map(|line| line.strip_prefix("used_memory:")?.trim().parse().ok())
            };
            cache_bytes().set(memory.and_then(used).unwrap_or(f64::NAN));
        })
    }
}

/// What all of these begin with. Redis then sends little that is not meant, whatever their number, in one scan.
fn common_prefix(prefixes: &[String]) -> &str {
    let Some((first, rest)) = prefixes.split_first() else { return "" };
    let shared = |other: &String| {
        let same = first.char_indices().zip(other.chars()).take_while(|((_, a), b)| a == b);
        same.last().map_or(0, |((at, last), _)| at + last.len_utf8())
    };
    &first[..rest.iter().map(shared).min().unwrap_or(first.len())]
}

/// A text as a glob that matches it and nothing else.
fn escaped(text: &str) -> Vec<u8> {
    let escape = |byte: u8| if b"*?[]\\".contains(&byte) { vec![b'\\', byte] } else { vec![byte] };
    text.bytes().flat_map(escape).collect()
}
