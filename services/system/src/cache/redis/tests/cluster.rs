//! A Redis cluster.

use std::collections::BTreeSet;

use super::*;

/// A number of entries that reaches all nodes and shards.
const ENTRIES: u64 = 300;

const EVERYTHING: ClearScope = ClearScope { keys: Vec::new(), prefixes: Vec::new(), all: true };

fn entry(number: u64) -> String {
    format!("a:{}:{number}", number % 2)
}

/// Reads all entries and returns how many were fetched from the source.
async fn count_fetches(cache: &Cache) -> u64 {
    let mut count = 0;
    for number in 0..ENTRIES {
        count += u64::from(fetches(cache, &entry(number)).await);
    }
    count
}

/// Asserts that each of these nodes has a share of the entries, and that Redis itself lets them expire.
async fn assert_spread(nodes: &[String]) {
    for url in nodes {
        let keys: BTreeSet<String> = query(url, cmd("KEYS").arg("*:entry:*")).await;
        assert!(keys.len() > 30, "{} entries", keys.len());
        let ttl: i64 = query(url, cmd("TTL").arg(keys.first())).await;
        assert!((86_300..=86_400).contains(&ttl), "{ttl}");
    }
}

#[test]
fn entries_are_spread_over_the_nodes_and_cleared_on_all() {
    testkit::block_on(async {
        let servers = testkit::RedisCluster::start();
        let settings = empty_cache(&servers.url());
        let cache = Cache::open(&settings).await.unwrap();
        assert!(cache.is_reachable().await);
        // The client follows a slot that has moved.
        let keys = Keys::new(&settings.cache_prefix, true).unwrap();
        servers.move_slot_of(&keys.entry(&entry(0)));
        assert_eq!((count_fetches(&cache).await, count_fetches(&cache).await), (ENTRIES, 0));
        assert_spread(&servers.node_urls()).await;
        let backend =
            RedisBackend::open(&servers.url(), &settings.cache_prefix, Duration::MAX).await.unwrap();
        assert_eq!(backend.count_keys().await, Some(ENTRIES));
        assert!(backend.used_memory().await.unwrap() > 3 * 500_000, "the memory of three masters");

        let foreign = Cache::open(&empty_cache(&servers.url())).await.unwrap();
        assert!(fetches(&foreign, &entry(0)).await);
        assert_eq!(cache.clear(&prefixes(&["a:0:"])).await.unwrap(), ENTRIES / 2);
        assert_eq!(count_fetches(&cache).await, ENTRIES / 2);
        let some = ClearScope { keys: (0..20).map(entry).collect(), ..ClearScope::default() };
        assert_eq!(cache.clear(&some).await.unwrap(), 20);
        assert_eq!(count_fetches(&cache).await, 20);
        assert_eq!(cache.clear(&EVERYTHING).await.unwrap(), ENTRIES);
        assert_eq!(count_fetches(&cache).await, ENTRIES);
        assert!(!fetches(&foreign, &entry(0)).await, "the other deployment keeps its entries");
    });
}

#[test]
fn entries_expire_and_old_values_are_not_stored() {
    testkit::block_on(async {
        let servers = testkit::RedisCluster::start();
        let settings = Settings { cache_seconds: 2, ..empty_cache(&servers.url()) };
        let cache = Cache::open(&settings).await.unwrap();
        assert!(fetches(&cache, "a:b:1").await && !fetches(&cache, "a:b:1").await);
        for scope in [keys_scope(&["a:b:2"]), prefixes(&["a:b:"]), EVERYTHING] {
            let lookup = cache.backend().get("a:b:2").await.unwrap();
            cache.clear(&scope).await.unwrap();
            cache.backend().put("a:b:2", b"\"old\"".to_vec(), lookup.epoch).await.unwrap();
            assert!(cache.backend().get("a:b:2").await.unwrap().value.is_none(), "{scope:?}");
        }
        let generation = cache.backend().next_secrets_generation().await.unwrap();
        assert_eq!(cache.backend().secrets_generation().await.unwrap(), generation);
        assert!(fetches(&cache, "a:b:1").await);
        tokio::time::sleep(Duration::from_millis(2200)).await;
        assert!(fetches(&cache, "a:b:1").await);
    });
}

#[test]
fn cache_works_again_when_a_replica_is_promoted() {
    testkit::block_on(async {
        let mut servers = testkit::RedisCluster::start_with_replica();
        let cache = Cache::open(&empty_cache(&servers.url())).await.unwrap();
        assert_eq!((count_fetches(&cache).await, count_fetches(&cache).await), (ENTRIES, 0));
        servers.stop_first_master();
        let begun = Instant::now();
        assert!(count_fetches(&cache).await > 0);
        assert!(begun.elapsed() < CALL_TIMEOUT * 3, "{:?}", begun.elapsed());
        wait_for_recovery(&cache).await;
        cache.clear(&EVERYTHING).await.unwrap();
        assert_eq!((count_fetches(&cache).await, count_fetches(&cache).await), (ENTRIES, 0));
        assert_spread(&servers.node_urls()[1..]).await;
    });
}
