//! A master that sentinels name.

use super::*;

#[test]
fn promoted_replica_is_found() {
    testkit::block_on(async {
        let mut servers = testkit::RedisSentinels::start();
        let settings = empty_cache(&servers.url());
        let cache = Cache::open(&settings).await.unwrap();
        assert!(cache.is_reachable().await);
        assert!(fetches(&cache, "a:b:1").await && !fetches(&cache, "a:b:1").await);
        let generation = cache.backend().next_secrets_generation().await.unwrap();
        servers.stop_master();
        works_uncached(&cache).await;
        wait_for_recovery(&cache).await;
        // The entry is on the server that was the replica.
        let key = format!("{}entry:a:b:recovered", settings.cache_prefix);
        assert_eq!(query::<u8>(&servers.replica_url(), cmd("EXISTS").arg(key)).await, 1);
        assert!(cache.backend().next_secrets_generation().await.unwrap() > generation);
        cache.clear(&prefixes(&["a"])).await.unwrap();
        assert!(fetches(&cache, "a:b:recovered").await && !fetches(&cache, "a:b:recovered").await);
        // The other sentinels are enough. They may learn of the new master some seconds later.
        servers.stop_sentinel();
        wait_for_recovery(&Cache::open(&settings).await.unwrap()).await;
    });
}
