//! Tests of the Redis backend that need a Redis of their own: foreign keys, outages and recovery.

use std::io::Write;
use std::net::TcpListener;
use std::time::Instant;

use ::redis::aio::MultiplexedConnection;
use ::redis::{Cmd, FromRedisValue, pipe};
use common::Error;

use super::*;
use crate::Settings;
use crate::cache::read_through::{Cache, ClearScope};
use crate::cache::tests::{empty_cache, fetches, prefixes};

async fn connect(url: &str) -> MultiplexedConnection {
    Client::open(url).unwrap().get_multiplexed_async_connection().await.unwrap()
}

async fn query<T: FromRedisValue>(url: &str, command: &mut Cmd) -> T {
    command.query_async(&mut connect(url).await).await.unwrap()
}

/// Waits until the cache stores values again.
async fn wait_for_recovery(cache: &Cache) {
    let begun = Instant::now();
    while fetches(cache, "a:b:recovered").await || fetches(cache, "a:b:recovered").await {
        assert!(begun.elapsed() < Duration::from_secs(30), "the cache does not recover");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(cache.is_reachable().await);
}

/// Asserts that reads fetch from the source without a delay and clears fail.
async fn works_uncached(cache: &Cache) {
    let begun = Instant::now();
    for n in 0..100 {
        let key = format!("a:b:{}", n % 2);
        assert!(fetches(cache, &key).await);
    }
    assert!(begun.elapsed() < CALL_TIMEOUT * 2, "{:?}", begun.elapsed());
    assert!(!cache.is_reachable().await);
    let error = cache.clear(&prefixes(&["a"])).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_, "The cache")), "{error:?}");
    assert_eq!(cache.clear(&ClearScope::default()).await.unwrap(), 0);
    assert!(begun.elapsed() < CALL_TIMEOUT * 3, "{:?}", begun.elapsed());
}

#[test]
fn foreign_keys_are_not_cleared() {
    testkit::block_on(async {
        let server = testkit::Redis::start();
        let url = server.url();
        let open = async |prefix: &str| {
            Cache::open(&Settings { cache_prefix: prefix.into(), ..empty_cache(&url) }).await.unwrap()
        };
        let (cache, other, glob) = (open("ours:").await, open("theirs:").await, open("*:[o]?\\").await);
        let mut foreign = pipe();
        for n in 0..5000 {
            foreign.set(format!("session:{n}"), n).set(format!("entry:a:{n}"), n);
        }
        foreign.set("ours:entry", 1).set("ours:entries:a", 1).lpush("ours:entry:a:list", 1);
        foreign.exec_async(&mut connect(&url).await).await.unwrap();
        for key in ["a:b:1", "a:b:2", "a:list"] {
            for cache in [&cache, &other, &glob] {
                fetches(cache, key).await;
            }
        }
        let all = ClearScope { all: true, ..ClearScope::default() };
        assert_eq!(glob.clear(&prefixes(&["a"])).await.unwrap(), 3);
        assert_eq!(glob.clear(&all).await.unwrap(), 0);
        assert_eq!(cache.clear(&prefixes(&["a"])).await.unwrap(), 3);
        assert_eq!(cache.clear(&all).await.unwrap(), 0);
        assert!(fetches(&cache, "a:b:1").await && !fetches(&other, "a:b:1").await);
        let remaining: Vec<String> = query(&url, cmd("KEYS").arg("*")).await;
        let foreign =
            remaining.iter().filter(|key| key.starts_with("session:") || key.starts_with("entry:a:"));
        assert_eq!(foreign.count(), 10_000);
        let expected = ["ours:entries:a", "ours:entry", "theirs:entry:a:b:1", "theirs:entry:a:list"];
        assert!(expected.iter().all(|key| remaining.iter().any(|other| other == key)), "{remaining:?}");
    });
}

#[test]
fn entries_are_used_and_cleared_by_other_replicas() {
    testkit::block_on(async {
        let settings = empty_cache(&testkit::redis_url());
        let open = async || Cache::open(&settings).await.unwrap();
        let (one, other) = (open().await, open().await);
        assert!(fetches(&one, "a:b:1").await);
        assert!(!fetches(&other, "a:b:1").await);
        assert_eq!(other.clear(&prefixes(&["a"])).await.unwrap(), 1);
        assert!(fetches(&one, "a:b:1").await);
    });
}

#[test]
fn full_redis_can_be_cleared() {
    testkit::block_on(async {
        let server = testkit::Redis::start();
        let url = server.url();
        let cache = Cache::open(&empty_cache(&url)).await.unwrap();
        let large = async || Ok::<_, Error>("x".repeat(8 << 20));
        cache.get_or("a:b:large", large).await.unwrap();
        let info: String = query(&url, cmd("INFO").arg("memory")).await;
        let used = info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
        let max_memory = used.parse::<u64>().unwrap() - (4 << 20);
        query::<()>(&url, cmd("CONFIG").arg("SET").arg("maxmemory").arg(max_memory)).await;
        assert!(fetches(&cache, "a:b:2").await && fetches(&cache, "a:b:2").await, "nothing is cached");
        assert!(cache.is_reachable().await, "but Redis responds");
        assert_eq!(cache.clear(&prefixes(&["a"])).await.unwrap(), 1);
        assert!(fetches(&cache, "a:b:2").await && !fetches(&cache, "a:b:2").await, "values are cached again");
    });
}

#[test]
fn lost_redis_causes_no_delay_and_is_reconnected() {
    testkit::block_on(async {
        let mut server = testkit::Redis::start();
        let cache = Cache::open(&empty_cache(&server.url())).await.unwrap();
        assert!(
            cache.is_reachable().await && fetches(&cache, "a:b:1").await && !fetches(&cache, "a:b:1").await
        );
        server.stop();
        works_uncached(&cache).await;
        server.restart();
        wait_for_recovery(&cache).await;
    });
}

#[test]
fn redis_that_starts_later_is_connected() {
    testkit::block_on(async {
        let mut server = testkit::Redis::start();
        server.stop();
        let cache = Cache::open(&empty_cache(&server.url())).await.unwrap();
        works_uncached(&cache).await;
        server.restart();
        wait_for_recovery(&cache).await;
    });
}

#[test]
fn hanging_redis_delays_one_request_by_its_timeout() {
    testkit::block_on(async {
        let server = testkit::Redis::start();
        let cache = Cache::open(&empty_cache(&server.url())).await.unwrap();
        let (pause, begun) = (CALL_TIMEOUT * 6, Instant::now());
        let milliseconds = pause.as_millis().to_string();
        query::<()>(&server.url(), cmd("CLIENT").arg("PAUSE").arg(milliseconds).arg("ALL")).await;
        assert!(fetches(&cache, "a:b:1").await);
        let waited = begun.elapsed();
        assert!((CALL_TIMEOUT..CALL_TIMEOUT * 3).contains(&waited), "{waited:?}");
        works_uncached(&cache).await;
        assert!(begun.elapsed() < pause);
        wait_for_recovery(&cache).await;
        assert!(begun.elapsed() >= pause);
    });
}

#[test]
fn silent_server_delays_neither_start_nor_requests() {
    testkit::block_on(async {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap();
        for scheme in ["redis", "rediss"] {
            let begun = Instant::now();
            let cache = Cache::open(&empty_cache(&format!("{scheme}://{address}"))).await.unwrap();
            assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
            works_uncached(&cache).await;
        }
    });
}

#[test]
fn lost_counters_never_repeat_a_value() {
    testkit::block_on(async {
        let (url, settings) = (testkit::redis_url(), empty_cache(&testkit::redis_url()));
        let cache = Cache::open(&settings).await.unwrap();
        let counters = [
            format!("{}epoch", settings.cache_prefix),
            format!("{}secrets:generation", settings.cache_prefix),
        ];
        let before = cache.backend().next_secrets_generation().await.unwrap();
        let lookup = cache.backend().get("a:b:1").await.unwrap();
        cache.clear(&prefixes(&["a"])).await.unwrap();
        assert_eq!(query::<u32>(&url, cmd("DEL").arg(&counters)).await, 2);
        tokio::time::sleep(Duration::from_millis(5)).await;
        cache.clear(&prefixes(&["a"])).await.unwrap();
        assert!(cache.backend().next_secrets_generation().await.unwrap() > before);
        cache.backend().put("a:b:1", b"\"old\"".to_vec(), lookup.epoch).await.unwrap();
        assert!(fetches(&cache, "a:b:1").await);
    });
}

#[test]
fn entries_expire_in_redis_itself() {
    testkit::block_on(async {
        let settings = empty_cache(&testkit::redis_url());
        fetches(&Cache::open(&settings).await.unwrap(), "a:b:1").await;
        let key = format!("{}entry:a:b:1", settings.cache_prefix);
        let ttl: i64 = query(&testkit::redis_url(), cmd("TTL").arg(&key)).await;
        assert!((86_300..=86_400).contains(&ttl), "{ttl}");
        assert_eq!(query::<String>(&testkit::redis_url(), cmd("GET").arg(&key)).await, "\"a:b:1\"");
    });
}

#[test]
fn tls_is_available() {
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = plain.local_addr().unwrap();
    let server = std::thread::spawn(move || plain.accept().unwrap().0.write_all(b"-ERR this is no TLS\r\n"));
    // A missing crypto provider would be a panic.
    let client = Client::open(format!("rediss://{address}")).unwrap();
    let error = testkit::block_on(connection::connect(&client)).unwrap_err();
    assert!(format!("{error:#}").contains("InvalidContentType"), "{error:#}");
    server.join().unwrap().unwrap();
}

#[test]
fn common_prefix_ends_at_a_character_boundary() {
    let shared = |prefixes: &[&str]| {
        let prefixes: Vec<_> = prefixes.iter().map(ToString::to_string).collect();
        common_prefix(&prefixes).to_owned()
    };
    assert_eq!(shared(&["location:a", "location:b", "location:"]), "location:");
    assert_eq!(shared(&["aé", "aè"]), "a");
    assert_eq!(shared(&["éa", "éb"]), "é");
    assert_eq!(shared(&["a"]), "a");
    assert_eq!(shared(&["a", "b"]), "");
    assert_eq!(shared(&[]), "");
}
