//! What only a server of its own can do: hold what is others', fail, hang and come back.

use std::io::Write;
use std::net::TcpListener;
use std::time::Instant;

use ::redis::aio::MultiplexedConnection;
use ::redis::{Client, FromRedisValue, pipe};
use common::Error;

use super::super::tests::{asks, fresh, prefixes};
use super::*;
use crate::cache::{Cache, Clear};

async fn connect(url: &str) -> MultiplexedConnection {
    Client::open(url).unwrap().get_multiplexed_async_connection().await.unwrap()
}

async fn ask<T: FromRedisValue>(url: &str, command: &mut Cmd) -> T {
    command.query_async(&mut connect(url).await).await.unwrap()
}

/// Waits until the cache keeps what it is given.
async fn recovered(cache: &Cache) {
    let begun = Instant::now();
    while asks(cache, "a:b:recovered").await || asks(cache, "a:b:recovered").await {
        assert!(begun.elapsed() < Duration::from_secs(10), "it does not come back");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(cache.is_reachable().await);
}

/// Without the cache everything goes on, and nobody waits.
async fn goes_on_uncached(cache: &Cache) {
    let begun = Instant::now();
    for n in 0..100 {
        let key = format!("a:b:{}", n % 2);
        assert!(asks(cache, &key).await);
    }
    assert!(begun.elapsed() < CALL_TIMEOUT * 2, "{:?}", begun.elapsed());
    assert!(!cache.is_reachable().await);
    let failed = cache.clear(&prefixes(&["a"])).await.unwrap_err();
    assert!(matches!(failed, Error::Unavailable(_, "The cache")), "{failed:?}");
    assert_eq!(cache.clear(&Clear::default()).await.unwrap(), 0);
    assert!(begun.elapsed() < CALL_TIMEOUT * 3, "{:?}", begun.elapsed());
}

#[test]
fn what_is_others_stays() {
    testkit::block_on(async {
        let server = testkit::Redis::start();
        let url = server.url();
        let open = async |prefix: &str| {
            Cache::open(&crate::Settings { cache_prefix: prefix.into(), ..fresh(&url) }).await.unwrap()
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
                asks(cache, key).await;
            }
        }
        let all = Clear { all: true, ..Clear::default() };
        assert_eq!(glob.clear(&prefixes(&["a"])).await.unwrap(), 3);
        assert_eq!(glob.clear(&all).await.unwrap(), 0);
        assert_eq!(cache.clear(&prefixes(&["a"])).await.unwrap(), 3);
        assert_eq!(cache.clear(&all).await.unwrap(), 0);
        assert!(asks(&cache, "a:b:1").await && !asks(&other, "a:b:1").await);
        let rest: Vec<String> = ask(&url, cmd("KEYS").arg("*")).await;
        let foreign = rest.iter().filter(|key| key.starts_with("session:") || key.starts_with("entry:a:"));
        assert_eq!(foreign.count(), 10_000);
        let expected = ["ours:entries:a", "ours:entry", "theirs:entry:a:b:1", "theirs:entry:a:list"];
        assert!(expected.iter().all(|key| rest.iter().any(|rest| rest == key)), "{rest:?}");
    });
}

#[test]
fn a_server_that_is_full_can_be_cleared() {
    testkit::block_on(async {
        let server = testkit::Redis::start();
        let url = server.url();
        let cache = Cache::open(&fresh(&url)).await.unwrap();
        let large = async || Ok::<_, Error>("x".repeat(8 << 20));
        cache.get_or("a:b:large", large).await.unwrap();
        let info: String = ask(&url, cmd("INFO").arg("memory")).await;
        let used = info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
        let most = used.parse::<u64>().unwrap() - (4 << 20);
        ask::<()>(&url, cmd("CONFIG").arg("SET").arg("maxmemory").arg(most)).await;
        assert!(asks(&cache, "a:b:2").await && asks(&cache, "a:b:2").await, "it keeps nothing more");
        assert!(cache.is_reachable().await, "and is there");
        assert_eq!(cache.clear(&prefixes(&["a"])).await.unwrap(), 1);
        assert!(asks(&cache, "a:b:2").await && !asks(&cache, "a:b:2").await, "it keeps again");
    });
}

#[test]
fn a_server_that_dies_costs_nothing_and_comes_back() {
    testkit::block_on(async {
        let mut server = testkit::Redis::start();
        let cache = Cache::open(&fresh(&server.url())).await.unwrap();
        assert!(cache.is_reachable().await && asks(&cache, "a:b:1").await && !asks(&cache, "a:b:1").await);
        server.stop();
        goes_on_uncached(&cache).await;
        server.restart();
        recovered(&cache).await;
    });
}

#[test]
fn a_server_that_is_not_there_yet_is_found_later() {
    testkit::block_on(async {
        let mut server = testkit::Redis::start();
        server.stop();
        let cache = Cache::open(&fresh(&server.url())).await.unwrap();
        goes_on_uncached(&cache).await;
        server.restart();
        recovered(&cache).await;
    });
}

#[test]
fn a_server_that_hangs_costs_one_request_its_patience() {
    testkit::block_on(async {
        let server = testkit::Redis::start();
        let cache = Cache::open(&fresh(&server.url())).await.unwrap();
        let (pause, begun) = (Duration::from_secs(2), Instant::now());
        ask::<()>(&server.url(), cmd("CLIENT").arg("PAUSE").arg("2000").arg("ALL")).await;
        assert!(asks(&cache, "a:b:1").await);
        let waited = begun.elapsed();
        assert!((CALL_TIMEOUT..CALL_TIMEOUT * 3).contains(&waited), "{waited:?}");
        goes_on_uncached(&cache).await;
        assert!(begun.elapsed() < pause);
        recovered(&cache).await;
        assert!(begun.elapsed() >= pause);
    });
}

#[test]
fn one_that_never_answers_holds_up_neither_start_nor_requests() {
    testkit::block_on(async {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap();
        for scheme in ["redis", "rediss"] {
            let begun = Instant::now();
            let cache = Cache::open(&fresh(&format!("{scheme}://{address}"))).await.unwrap();
            assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
            goes_on_uncached(&cache).await;
        }
    });
}

#[test]
fn counters_that_were_lost_show_no_old_number() {
    testkit::block_on(async {
        let (url, settings) = (testkit::redis_url(), fresh(&testkit::redis_url()));
        let cache = Cache::open(&settings).await.unwrap();
        let counters = [
            format!("{}epoch", settings.cache_prefix),
            format!("{}secrets:generation", settings.cache_prefix),
        ];
        let before = cache.0.next_generation().await.unwrap();
        let found = cache.0.get("a:b:1").await.unwrap();
        cache.clear(&prefixes(&["a"])).await.unwrap();
        assert_eq!(ask::<u32>(&url, cmd("DEL").arg(&counters)).await, 2);
        tokio::time::sleep(Duration::from_millis(5)).await;
        cache.clear(&prefixes(&["a"])).await.unwrap();
        assert!(cache.0.next_generation().await.unwrap() > before);
        cache.0.put("a:b:1", b"\"old\"".to_vec(), found.epoch).await.unwrap();
        assert!(asks(&cache, "a:b:1").await);
    });
}

#[test]
fn entries_expire_in_redis_itself() {
    testkit::block_on(async {
        let settings = fresh(&testkit::redis_url());
        asks(&Cache::open(&settings).await.unwrap(), "a:b:1").await;
        let key = format!("{}entry:a:b:1", settings.cache_prefix);
        let left: i64 = ask(&testkit::redis_url(), cmd("TTL").arg(&key)).await;
        assert!((86_300..=86_400).contains(&left), "{left}");
        assert_eq!(ask::<String>(&testkit::redis_url(), cmd("GET").arg(&key)).await, "\"a:b:1\"");
    });
}

#[test]
fn encryption_is_at_hand() {
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = plain.local_addr().unwrap();
    let server = std::thread::spawn(move || plain.accept().unwrap().0.write_all(b"-ERR this is no TLS\r\n"));
    // It does not panic for want of a crypto provider.
    let client = Client::open(format!("rediss://{address}")).unwrap();
    let error = testkit::block_on(link::connect(&client)).unwrap_err();
    assert!(format!("{error:#}").contains("InvalidContentType"), "{error:#}");
    server.join().unwrap().unwrap();
}

#[test]
fn prefixes_share_whole_characters() {
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
