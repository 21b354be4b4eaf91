//! Tests of the cache that run on both backends: which reads fetch from the source.

use std::time::Duration;

use serde_json::json;

use super::read_through::ClearScope;
use super::*;
use crate::Settings;

/// Returns settings with a prefix that no other test uses.
pub(super) fn empty_cache(url: &str) -> Settings {
    let cache_prefix = format!("test:{}:", database::Id::new());
    Settings { cache_url: url.into(), cache_prefix, ..Settings::default() }
}

/// Runs a test on each backend, with settings that `configure` changes.
fn on_both_backends(configure: impl Fn(Settings) -> Settings, test: impl AsyncFn(Cache)) {
    for url in ["memory:", &testkit::redis_url()] {
        testkit::block_on(async { test(Cache::open(&configure(empty_cache(url))).await.unwrap()).await });
    }
}

/// Reads a key and returns whether its value, the key itself, was fetched from the source.
pub(super) async fn fetches(cache: &Cache, key: &str) -> bool {
    let mut fetched = false;
    let source = async || {
        fetched = true;
        Ok::<_, ()>(key.to_owned())
    };
    assert_eq!(cache.get_or(key, source).await.unwrap(), key);
    fetched
}

async fn fill(cache: &Cache, keys: &[&str]) {
    for key in keys {
        assert!(fetches(cache, key).await, "{key} is new");
    }
    for key in keys {
        assert!(!fetches(cache, key).await, "{key} is cached");
    }
}

/// Returns for each key whether it was fetched.
async fn fetched(cache: &Cache, keys: &[&str]) -> Vec<bool> {
    let mut fetched = Vec::new();
    for key in keys {
        fetched.push(fetches(cache, key).await);
    }
    fetched
}

pub(super) fn prefixes(prefixes: &[&str]) -> ClearScope {
    ClearScope { prefixes: prefixes.iter().map(ToString::to_string).collect(), ..ClearScope::default() }
}

fn keys(keys: &[&str]) -> ClearScope {
    ClearScope { keys: keys.iter().map(ToString::to_string).collect(), ..ClearScope::default() }
}

const EVERYTHING: ClearScope = ClearScope { keys: Vec::new(), prefixes: Vec::new(), all: true };

#[test]
fn values_in_memory_and_redis_are_not_fetched_again() {
    on_both_backends(std::convert::identity, async |cache| {
        fill(&cache, &["a:b:1", "a:b:2", "ä:b:", "plain"]).await;
        // Errors are not cached, and values of another type are fetched again.
        assert_eq!(cache.get_or("a:b:3", async || Err::<u32, _>("no")).await, Err("no"));
        assert_eq!(cache.get_or("a:b:3", async || Ok::<_, ()>(json!({"x": 1}))).await, Ok(json!({"x": 1})));
        assert_eq!(cache.get_or("a:b:3", async || Ok::<u32, ()>(7)).await, Ok(7));
        assert_eq!(cache.get_or("a:b:3", async || Err::<u32, _>("no")).await, Ok(7));
        assert_eq!(cache.get_or("a:b:4", async || Ok::<Option<u32>, ()>(None)).await, Ok(None));
        assert_eq!(cache.get_or("a:b:4", async || Err::<Option<u32>, _>("no")).await, Ok(None));
    });
}

#[test]
fn entries_in_memory_and_redis_expire() {
    on_both_backends(
        |settings| Settings { cache_seconds: 4, ..settings },
        async |cache| {
            fill(&cache, &["a:b:1", "a:b:2"]).await;
            tokio::time::sleep(Duration::from_millis(4200)).await;
            assert_eq!(cache.clear(&keys(&["a:b:2"])).await.unwrap(), 0, "expired entries are not counted");
            assert_eq!(fetched(&cache, &["a:b:1", "a:b:2"]).await, [true, true]);
        },
    );
}

#[test]
fn memory_backend_stays_within_its_size() {
    testkit::block_on(async {
        let settings = Settings { cache_bytes: 10_000, ..empty_cache("memory:") };
        let cache = Cache::open(&settings).await.unwrap();
        let keys: Vec<_> = (0..1000).map(|n| format!("a:b:{n:06}")).collect();
        for key in &keys {
            cache.get_or(key, async || Ok::<_, ()>("x".repeat(78))).await.unwrap();
        }
        cache.get_or("a:b:large", async || Ok::<_, ()>("x".repeat(20_000))).await.unwrap();
        cache.backend().update_metrics().await;
        let mut cached = 0;
        for key in &keys {
            cached += usize::from(cache.get_or(key, async || Err::<String, _>(())).await.is_ok());
        }
        assert!((50..=111).contains(&cached), "{cached} entries of 90 bytes");
        assert!(cache.get_or("a:b:large", async || Err::<String, _>(())).await.is_err());
    });
}

#[test]
fn entries_cleared_from_memory_and_redis_are_fetched_again() {
    const ALL: [&str; 6] = ["a:b:1", "a:b:2", "a:c:1", "a*b:1", "[ab]:?\\1", "ü:1"];
    on_both_backends(std::convert::identity, async |cache| {
        let clears = async |scope: &ClearScope, expected: [bool; 6]| {
            fetched(&cache, &ALL).await;
            let count = expected.iter().filter(|cleared| **cleared).count() as u64;
            assert_eq!(cache.clear(scope).await.unwrap(), count, "{scope:?}");
            assert_eq!(fetched(&cache, &ALL).await, expected, "{scope:?}");
        };
        let (o, i) = (false, true);
        clears(&ClearScope::default(), [o; 6]).await;
        clears(&keys(&["a:b:1", "a:b:1", "a:c", "ü:1"]), [i, o, o, o, o, i]).await;
        clears(&prefixes(&["a:b:"]), [i, i, o, o, o, o]).await;
        clears(&prefixes(&["a:b:1", "a:c"]), [i, o, i, o, o, o]).await;
        clears(&ClearScope { keys: vec!["a:b:1".into()], ..prefixes(&["a:b", "x"]) }, [i, i, o, o, o, o])
            .await;
        // No character is a wildcard.
        for prefix in ["a*b", "a*"] {
            clears(&prefixes(&[prefix]), [o, o, o, i, o, o]).await;
        }
        clears(&prefixes(&["[ab]:?\\"]), [o, o, o, o, i, o]).await;
        clears(&prefixes(&["*", "?", "[a-z]", "\\a", "a?"]), [o; 6]).await;
        clears(&prefixes(&["ü", "ý"]), [o, o, o, o, o, i]).await;
        clears(&EVERYTHING, [i; 6]).await;
    });
}

#[test]
fn values_fetched_before_a_clear_of_memory_or_redis_are_not_cached() {
    on_both_backends(std::convert::identity, async |cache| {
        for scope in [keys(&["a:b:1"]), prefixes(&["a"]), EVERYTHING] {
            let source = async || {
                cache.clear(&scope).await.unwrap();
                Ok::<_, ()>("old".to_owned())
            };
            assert_eq!(cache.get_or("a:b:1", source).await.unwrap(), "old");
            assert!(fetches(&cache, "a:b:1").await, "{scope:?}");
            assert!(!fetches(&cache, "a:b:1").await, "{scope:?}");
            cache.clear(&EVERYTHING).await.unwrap();
        }
    });
}

#[test]
fn clears_of_memory_and_redis_keep_the_generation_of_secrets() {
    on_both_backends(std::convert::identity, async |cache| {
        assert_eq!(cache.backend().secrets_generation().await.unwrap(), 0);
        let first = cache.backend().next_secrets_generation().await.unwrap();
        let names = ["secrets:generation", "generation", "epoch", "", "../secrets:generation"];
        for scope in [EVERYTHING, keys(&names), prefixes(&names)] {
            assert_eq!(cache.clear(&scope).await.unwrap(), 0);
            assert_eq!(cache.backend().secrets_generation().await.unwrap(), first);
        }
        assert!(cache.backend().next_secrets_generation().await.unwrap() > first);
    });
}

#[test]
fn clears_more_entries_than_one_command_of_redis_takes() {
    on_both_backends(std::convert::identity, async |cache| {
        for n in 0..10_500 {
            fetches(&cache, &format!("a:{}:{n}", n % 2)).await;
        }
        assert_eq!(cache.clear(&prefixes(&["a:0:"])).await.unwrap(), 5250);
        assert_eq!(cache.clear(&EVERYTHING).await.unwrap(), 5250);
        assert!(fetches(&cache, "a:1:10499").await);
    });
}

#[test]
fn invalid_settings_are_reported_in_one_line() {
    let is_refused = |change: fn(&mut Settings), name: &str| {
        let mut settings = empty_cache("memory:");
        change(&mut settings);
        let error = testkit::block_on(Cache::open(&settings)).err().unwrap();
        let error = format!("{error:#}");
        assert!(error.contains(name) && !error.contains('\n') && !error.contains("hunter2"), "{error}");
    };
    is_refused(|s| s.cache_url = "redis://user:hunter2@cache/many".into(), "service.cache_url");
    is_refused(|s| s.cache_url = "redis+cluster://user:hunter2@c1,c2".into(), "service.cache_url");
    is_refused(|s| s.cache_seconds = 0, "service.cache_seconds");
    is_refused(|s| s.cache_seconds = u64::MAX, "service.cache_seconds");
    is_refused(|s| s.cache_prefix = " ".into(), "service.cache_prefix");
}
