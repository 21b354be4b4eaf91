//! Both backends, seen through the cache: what goes to the source, and when.

use std::time::Duration;

use serde_json::json;

use super::*;

/// Where nothing was ever kept.
pub(super) fn fresh(url: &str) -> Settings {
    let cache_prefix = format!("test:{}:", database::Id::new());
    Settings { cache_url: url.into(), cache_prefix, ..Settings::default() }
}

fn on_both(change: impl Fn(Settings) -> Settings, test: impl AsyncFn(Cache)) {
    for url in ["memory:", &testkit::redis_url()] {
        testkit::block_on(async { test(Cache::open(&change(fresh(url))).await.unwrap()).await });
    }
}

/// Reads this key of a source that says its name, and tells whether it was asked.
pub(super) async fn asks(cache: &Cache, key: &str) -> bool {
    let mut asked = false;
    let source = async || {
        asked = true;
        Ok::<_, ()>(key.to_owned())
    };
    assert_eq!(cache.get_or(key, source).await.unwrap(), key);
    asked
}

async fn fill(cache: &Cache, keys: &[&str]) {
    for key in keys {
        assert!(asks(cache, key).await, "{key} is new");
    }
    for key in keys {
        assert!(!asks(cache, key).await, "{key} is kept");
    }
}

async fn asked(cache: &Cache, keys: &[&str]) -> Vec<bool> {
    let mut all = Vec::new();
    for key in keys {
        all.push(asks(cache, key).await);
    }
    all
}

pub(super) fn prefixes(prefixes: &[&str]) -> Clear {
    Clear { prefixes: prefixes.iter().map(ToString::to_string).collect(), ..Clear::default() }
}

pub(super) fn keys(keys: &[&str]) -> Clear {
    Clear { keys: keys.iter().map(ToString::to_string).collect(), ..Clear::default() }
}

const EVERYTHING: Clear = Clear { keys: Vec::new(), prefixes: Vec::new(), all: true };

#[test]
fn what_is_kept_is_not_asked_for_again() {
    on_both(std::convert::identity, async |cache| {
        fill(&cache, &["a:b:1", "a:b:2", "ä:b:", "plain"]).await;
        // Errors are not kept, and what the reader cannot read is asked for anew.
        assert_eq!(cache.get_or("a:b:3", async || Err::<u32, _>("no")).await, Err("no"));
        assert_eq!(cache.get_or("a:b:3", async || Ok::<_, ()>(json!({"x": 1}))).await, Ok(json!({"x": 1})));
        assert_eq!(cache.get_or("a:b:3", async || Ok::<u32, ()>(7)).await, Ok(7));
        assert_eq!(cache.get_or("a:b:3", async || Err::<u32, _>("no")).await, Ok(7));
        assert_eq!(cache.get_or("a:b:4", async || Ok::<Option<u32>, ()>(None)).await, Ok(None));
        assert_eq!(cache.get_or("a:b:4", async || Err::<Option<u32>, _>("no")).await, Ok(None));
    });
}

#[test]
fn nothing_is_kept_for_ever() {
    on_both(
        |settings| Settings { cache_seconds: 1, ..settings },
        async |cache| {
            fill(&cache, &["a:b:1", "a:b:2"]).await;
            tokio::time::sleep(Duration::from_millis(1200)).await;
            assert_eq!(cache.clear(&keys(&["a:b:2"])).await.unwrap(), 0, "an expired entry is none");
            assert_eq!(asked(&cache, &["a:b:1", "a:b:2"]).await, [true, true]);
        },
    );
}

#[test]
fn the_process_keeps_no_more_than_it_may() {
    testkit::block_on(async {
        let settings = Settings { cache_bytes: 10_000, ..fresh("memory:") };
        let cache = Cache::open(&settings).await.unwrap();
        let keys: Vec<_> = (0..1000).map(|n| format!("a:b:{n:06}")).collect();
        for key in &keys {
            cache.get_or(key, async || Ok::<_, ()>("x".repeat(78))).await.unwrap();
        }
        cache.get_or("a:b:large", async || Ok::<_, ()>("x".repeat(20_000))).await.unwrap();
        cache.0.measure().await;
        let mut kept = 0;
        for key in &keys {
            kept += usize::from(cache.get_or(key, async || Err::<String, _>(())).await.is_ok());
        }
        assert!((50..=111).contains(&kept), "{kept} entries of 90 bytes");
        assert!(cache.get_or("a:b:large", async || Err::<String, _>(())).await.is_err());
    });
}

#[test]
fn what_is_cleared_is_asked_for_again() {
    const ALL: [&str; 6] = ["a:b:1", "a:b:2", "a:c:1", "a*b:1", "[ab]:?\\1", "ü:1"];
    on_both(std::convert::identity, async |cache| {
        let cleared = async |clear: &Clear, expected: [bool; 6]| {
            asked(&cache, &ALL).await;
            let count = expected.iter().filter(|gone| **gone).count() as u64;
            assert_eq!(cache.clear(clear).await.unwrap(), count, "{clear:?}");
            assert_eq!(asked(&cache, &ALL).await, expected, "{clear:?}");
        };
        let (o, i) = (false, true);
        cleared(&Clear::default(), [o; 6]).await;
        cleared(&keys(&["a:b:1", "a:b:1", "a:c", "ü:1"]), [i, o, o, o, o, i]).await;
        cleared(&prefixes(&["a:b:"]), [i, i, o, o, o, o]).await;
        cleared(&prefixes(&["a:b:1", "a:c"]), [i, o, i, o, o, o]).await;
        cleared(&Clear { keys: vec!["a:b:1".into()], ..prefixes(&["a:b", "x"]) }, [i, i, o, o, o, o]).await;
        // Every character stands for itself.
        for prefix in ["a*b", "a*"] {
            cleared(&prefixes(&[prefix]), [o, o, o, i, o, o]).await;
        }
        cleared(&prefixes(&["[ab]:?\\"]), [o, o, o, o, i, o]).await;
        cleared(&prefixes(&["*", "?", "[a-z]", "\\a", "a?"]), [o; 6]).await;
        cleared(&prefixes(&["ü", "ý"]), [o, o, o, o, o, i]).await;
        cleared(&EVERYTHING, [i; 6]).await;
    });
}

#[test]
fn a_clear_holds_for_those_who_are_asking() {
    on_both(std::convert::identity, async |cache| {
        for clear in [keys(&["a:b:1"]), prefixes(&["a"]), EVERYTHING] {
            let source = async || {
                cache.clear(&clear).await.unwrap();
                Ok::<_, ()>("old".to_owned())
            };
            assert_eq!(cache.get_or("a:b:1", source).await.unwrap(), "old");
            assert!(asks(&cache, "a:b:1").await, "{clear:?}");
            assert!(!asks(&cache, "a:b:1").await, "{clear:?}");
            cache.clear(&EVERYTHING).await.unwrap();
        }
    });
}

#[test]
fn no_clear_touches_the_generation_of_secrets() {
    on_both(std::convert::identity, async |cache| {
        assert_eq!(cache.0.generation().await.unwrap(), 0);
        let first = cache.0.next_generation().await.unwrap();
        let named = ["secrets:generation", "generation", "epoch", "", "../secrets:generation"];
        for clear in [EVERYTHING, keys(&named), prefixes(&named)] {
            assert_eq!(cache.clear(&clear).await.unwrap(), 0);
            assert_eq!(cache.0.generation().await.unwrap(), first);
        }
        assert_eq!(cache.0.next_generation().await.unwrap(), first + 1);
    });
}

#[test]
fn many_entries_go_in_steps() {
    on_both(std::convert::identity, async |cache| {
        for n in 0..10_500 {
            asks(&cache, &format!("a:{}:{n}", n % 2)).await;
        }
        assert_eq!(cache.clear(&prefixes(&["a:0:"])).await.unwrap(), 5250);
        assert_eq!(cache.clear(&EVERYTHING).await.unwrap(), 5250);
        assert!(asks(&cache, "a:1:10499").await);
    });
}

#[test]
fn a_wrong_setting_is_said_in_one_sentence() {
    let wrong = |change: fn(&mut Settings), name: &str| {
        let mut settings = fresh("memory:");
        change(&mut settings);
        let error = testkit::block_on(Cache::open(&settings)).err().unwrap();
        let error = format!("{error:#}");
        assert!(error.contains(name) && !error.contains('\n') && !error.contains("hunter2"), "{error}");
    };
    wrong(|s| s.cache_url = "".into(), "service.cache_url");
    wrong(|s| s.cache_url = "memory".into(), "service.cache_url");
    wrong(|s| s.cache_url = "http://user:hunter2@cache/".into(), "service.cache_url");
    wrong(|s| s.cache_url = "redis://".into(), "service.cache_url");
    wrong(|s| s.cache_url = "redis://user:hunter2@cache/many".into(), "service.cache_url");
    wrong(|s| s.cache_seconds = 0, "service.cache_seconds");
    wrong(|s| s.cache_seconds = u64::MAX, "service.cache_seconds");
    wrong(|s| s.cache_prefix = " ".into(), "service.cache_prefix");
}

#[test]
fn passwords_are_not_shown() {
    let shown = |url: &str| serde_json::to_value(fresh(url)).unwrap()["cache_url"].clone();
    assert_eq!(shown("redis://user:hunter2@cache:1/2"), "redis://user@cache:1/2");
    assert_eq!(shown("memory:"), "memory:");
    assert_eq!(shown("redis://:hunter2@:"), "");
}
