//! Matching by several replicas of the service.

use livestock::{Livestock, Settings};
use serde_json::json;
use testkit::{App, Backend, User};

use super::{new_matches, save, stored_matches, wait_until_matched};
use crate::feed;
use crate::sample::{create, full, start};

#[test]
fn a_replica_on_postgres_goes_on_where_another_one_stopped() {
    testkit::block_on(async {
        let first = start(Backend::Postgres).await;
        let second = App::start_replica::<Livestock>(&first, Settings::default()).await;
        let (farm, ann) = (User::of("farm"), User::individual("ann"));
        let path = save(&second, &ann, json!({"f:commodityBreed": ["hereford"]}), true).await;
        let publish = async |count: usize| {
            for n in 0..count {
                create(if n % 2 == 0 { &first } else { &second }, &farm, &full()).await;
            }
        };
        publish(20).await;
        wait_until_matched(&first, Backend::Postgres).await;
        assert_eq!(new_matches(&first, &ann, &path).await, json!(20));
        // A search that is saved with one replica is matched by the other one.
        let late = save(&first, &ann, json!({}), true).await;
        publish(20).await;
        let _database = first.stop().await;
        for _ in 0..20 {
            create(&second, &farm, &full()).await;
        }
        wait_until_matched(&second, Backend::Postgres).await;
        assert_eq!(new_matches(&second, &ann, &path).await, json!(60));
        assert_eq!(new_matches(&second, &ann, &late).await, json!(40));
        assert_eq!(stored_matches(&second, Backend::Postgres), 100);
    });
}

/// The ids of transactions on another server may be smaller, and those of the events mean nothing there.
#[test]
fn matching_and_the_feed_go_on_after_a_move_to_another_postgres() {
    testkit::block_on(async {
        let app = start(Backend::Postgres).await;
        let (farm, ann) = (User::of("farm"), User::individual("ann"));
        let path = save(&app, &ann, json!({}), true).await;
        create(&app, &farm, &full()).await;
        wait_until_matched(&app, Backend::Postgres).await;
        assert_eq!(feed::all(&app, &farm, "").await.len(), 1);
        let page = app.get("/v1/events").by(&farm).send().await.ok();
        let (position, n) = page["cursor"].as_str().unwrap().split_once('.').unwrap();
        let cursor = format!("{:x}.{n}", i64::from_str_radix(position, 16).unwrap() + 1_000_000_000);
        let database = app.stop().await;
        // Citus takes ALTER TABLE only by itself.
        database.execute("ALTER TABLE livestock.listing_events DISABLE TRIGGER USER");
        database.execute(
            "SET search_path TO livestock;
             UPDATE listing_events SET position = position + 1000000000;
             UPDATE saved_search_cursor SET position = position + 1000000000, leased_until = NULL;
             UPDATE saved_searches SET matches_from = matches_from + 1000000000",
        );
        database.execute("ALTER TABLE livestock.listing_events ENABLE TRIGGER USER");
        let app = App::start_on::<Livestock>(database, Settings::default()).await;
        let later = create(&app, &farm, &full()).await;
        testkit::wait_until(async || new_matches(&app, &ann, &path).await == json!(2)).await;
        assert_eq!(stored_matches(&app, Backend::Postgres), 2);
        assert_eq!(feed::all(&app, &farm, "").await.len(), 2);
        let new = app.get(&format!("/v1/events?after={cursor}")).by(&farm).send().await.ok();
        assert_eq!(
            (&new["events"][0]["listingId"], new["events"].as_array().unwrap().len()),
            (&json!(later), 1)
        );
    });
}
