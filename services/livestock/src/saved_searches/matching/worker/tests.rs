//! Rounds of the matcher one by one, on both databases.

use common::Service;
use database::Options;
use serde_json::{Value, json};
use testkit::{App, Backend, TestDatabase, User};

use super::*;
use crate::categories::Categories;
use crate::saved_searches::model::NewSavedSearch;
use crate::saved_searches::store::create;
use crate::{Livestock, Settings};

/// A matcher that has matched an active listing of Hereford cattle. No service runs.
struct Fixture {
    backend: Backend,
    database: TestDatabase,
    db: Database,
    matcher: Matcher,
    /// The listing, as a literal of SQL.
    listing: String,
}

impl Fixture {
    async fn start(backend: Backend) -> Self {
        let settings = Settings { system_url: "http://127.0.0.1:1".into(), ..Settings::default() };
        let app = App::start::<Livestock>(backend, settings).await;
        let listing = json!({
            "type": "selling", "isDraft": false, "categoryIds": [], "location": null, "price": {"type": "poa"},
            "files": null, "description": "", "tags": [], "properties": {"breed": "Hereford"},
        });
        let made = app.post("/v1/listings/cattle").by(&User::of("farm")).json(&listing).send().await.ok();
        let listing = backend.id(made["id"].as_str().unwrap());
        let database = app.stop().await;
        let options = Options { migrate: false, ..testkit::options(&database.url, Livestock::NAME) };
        let db = Database::open(options, Vec::new).await.unwrap();
        let categories = Arc::new(Categories::open(None).unwrap());
        let matcher = Matcher::new(&db, &Arc::new(ParameterRules::new(categories).unwrap()), Id::new());
        let mut fixture = Self { backend, database, db, matcher, listing };
        fixture.match_all().await;
        fixture
    }

    fn sql(&self, sql: &str) -> String {
        sql.replace("SCHEMA.", if self.backend == Backend::Postgres { "livestock." } else { "" })
    }

    fn execute(&self, sql: &str) {
        self.database.execute(&self.sql(sql));
    }

    fn count(&self, table: &str) -> i64 {
        self.database.count(&self.sql(table))
    }

    /// Saves a search with `notify`, without the service.
    async fn save(&self, parameters: Value) -> Id {
        let new = NewSavedSearch {
            id: Id::new(),
            user_id: "ann".into(),
            organisation_id: String::new(),
            name: "mine".into(),
            parameters: parameters.as_object().unwrap().clone(),
            near: None,
            notify: true,
        };
        let id = new.id;
        self.db.write(move |c| create(c, &new, i64::MAX)).await.unwrap();
        id
    }

    /// Returns 1 if a search has matched the listing once, else 0.
    fn matches(&self, search: Id) -> i64 {
        let search = self.backend.id(&search.to_string());
        self.count(&format!("SCHEMA.saved_search_counts WHERE search_id = {search} AND matched = 1"))
    }

    /// Changes a search without a row of its changes.
    fn change(&self, search: Id, change: &str) {
        let search = self.backend.id(&search.to_string());
        let set = format!("version = version + 1 {change}");
        self.execute(&format!("UPDATE SCHEMA.saved_searches SET {set} WHERE id = {search}"));
    }

    /// Makes all changes of searches two hours older.
    fn age_changes(&self) {
        let two_hours = if self.backend == Backend::Postgres { "interval '2 hours'" } else { "7200000" };
        self.execute(&format!(
            "UPDATE SCHEMA.saved_search_changes SET changed_at = changed_at - {two_hours}"
        ));
    }

    /// Records that the listing was edited.
    fn record_edit(&self) {
        let at = if self.backend == Backend::Postgres { "now()" } else { "1" };
        self.execute(&format!(
            "INSERT INTO SCHEMA.listing_events (listing_id, user_id, from_status, to_status, at)
             VALUES ({}, 'u', 'active', 'active', {at})",
            self.listing
        ));
    }

    /// Runs rounds until all events are matched. Returns how many found changed searches.
    async fn match_all(&mut self) -> usize {
        let unmatched = match self.backend {
            Backend::Sqlite => "listing_events WHERE n > (SELECT event FROM saved_search_cursor)",
            Backend::Postgres => {
                "livestock.listing_events
                 WHERE (position, n) > (SELECT position, event FROM livestock.saved_search_cursor)"
            }
        };
        let mut changed = 0;
        for _ in 0..3_000 {
            match self.matcher.round(&|| ()).await.unwrap() {
                Round::Idle if self.count(unmatched) == 0 => return changed,
                // On PostgreSQL, events wait for transactions of other tests.
                Round::Idle | Round::HeldByAnother => sleep(Duration::from_millis(20)).await,
                Round::Changed => changed += 1,
                Round::More => {}
            }
        }
        panic!("the events are not matched");
    }

    /// Runs rounds until no change of a search is left.
    async fn prune_all(&mut self) {
        for _ in 0..3_000 {
            self.matcher.pruned_at = None;
            self.matcher.round(&|| ()).await.unwrap();
            if self.count("SCHEMA.saved_search_changes") == 0 {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
        panic!("the changes are not deleted");
    }
}

testkit::on_both! {
    /// No listing is published for hours after a search was saved or changed.
    async fn changes_are_read_before_they_are_deleted(backend) {
        let mut fixture = Fixture::start(backend).await;
        let position = fixture.matcher.held.as_ref().unwrap().searches.position;
        let (first, second) =
            (fixture.save(json!({"f:commodityBreed": "hereford"})).await, fixture.save(json!({})).await);
        fixture.age_changes();
        fixture.db.write(move |c| store::prune_changes(c, position)).await.unwrap();
        assert_eq!(fixture.count("SCHEMA.saved_search_changes"), 2, "they are not read yet");
        fixture.prune_all().await;
        fixture.change(second, ", notify = FALSE");
        fixture.execute(
            "INSERT INTO SCHEMA.saved_search_changes (search_id, changed_at)
             SELECT id, created_at FROM SCHEMA.saved_searches",
        );
        fixture.age_changes();
        fixture.prune_all().await;
        fixture.record_edit();
        assert_eq!(fixture.match_all().await, 0);
        assert_eq!((fixture.matches(first), fixture.matches(second)), (1, 0));
    }

    async fn searches_whose_changes_were_missed_are_read_again(backend) {
        let mut fixture = Fixture::start(backend).await;
        let same = fixture.save(json!({})).await;
        let changed = fixture.save(json!({})).await;
        let elsewhere = fixture.save(json!({"f:commodityBreed": "hereford"})).await;
        fixture.match_all().await;
        fixture.change(changed, "");
        fixture.change(elsewhere, ", parameters = '{\"f:commodityBreed\": \"texel\"}'");
        fixture.record_edit();
        assert_eq!(fixture.match_all().await, 1);
        assert_eq!([same, changed, elsewhere].map(|search| fixture.matches(search)), [1, 1, 0]);
    }

    async fn matches_with_many_deliveries_are_stored_in_several_transactions(backend) {
        let mut fixture = Fixture::start(backend).await;
        let mut searches = Vec::new();
        for organisation in ["first", "second"] {
            let search = fixture.save(json!({})).await;
            fixture.change(search, &format!(", organisation_id = '{organisation}'"));
            let at = backend.hours_ago(1);
            fixture.execute(&format!(
                "INSERT INTO SCHEMA.webhooks (id, organisation_id, slot, url, events, status, status_since, secret, revision,
                 created_at) SELECT '{organisation}-' || n, '{organisation}', n, '', '[\"listing.matched\"]', 'active', {at},
                 '', 1, {at} FROM {}",
                backend.numbers(1_500)
            ));
            searches.push(search);
        }
        fixture.record_edit();
        fixture.match_all().await;
        assert_eq!(fixture.count("SCHEMA.webhook_deliveries"), 3_000);
        assert_eq!(fixture.count("SCHEMA.webhook_messages"), 2);
        assert_eq!([searches[0], searches[1]].map(|search| fixture.matches(search)), [1, 1]);
        let times = fixture.count("(SELECT DISTINCT pending_since FROM SCHEMA.webhook_deliveries) AS times");
        assert_eq!(times, 2);
    }

    async fn the_count_of_a_deleted_search_is_deleted_with_its_change(backend) {
        let mut fixture = Fixture::start(backend).await;
        let (kept, deleted) = (fixture.save(json!({})).await, fixture.save(json!({})).await);
        fixture.record_edit();
        fixture.match_all().await;
        assert_eq!([kept, deleted].map(|search| fixture.matches(search)), [1, 1]);
        let search = backend.id(&deleted.to_string());
        fixture.execute(&format!("DELETE FROM SCHEMA.saved_searches WHERE id = {search}"));
        fixture.age_changes();
        fixture.prune_all().await;
        assert_eq!([kept, deleted].map(|search| fixture.matches(search)), [1, 0]);
    }
}

/// Otherwise both would store the same matches.
#[test]
fn a_replica_gets_no_lease_on_postgres_while_another_one_stores_matches() {
    testkit::block_on(async {
        let fixture = Fixture::start(Backend::Postgres).await;
        let replica = fixture.matcher.replica;
        let free = "(SELECT 1 FROM livestock.saved_search_cursor FOR UPDATE SKIP LOCKED) AS free";
        assert_eq!(fixture.count(free), 1);
        let (database, db) = (fixture.database, fixture.db);
        let record =
            move |c: &mut _| Ok::<_, Error>((store::record(c, replica, &[], None)?, database.count(free)));
        let recorded = Recorded::Stored { matches: 0, is_complete: true };
        assert_eq!(db.write(record).await.unwrap(), (recorded, 0));
    });
}

/// Changes on the new server have smaller positions than those that the index has.
#[test]
fn all_searches_are_read_again_after_a_move_to_another_postgres() {
    testkit::block_on(async {
        let mut fixture = Fixture::start(Backend::Postgres).await;
        fixture.matcher.held.as_mut().unwrap().searches.position = i64::MAX;
        let search = fixture.save(json!({})).await;
        assert_eq!(fixture.matcher.round(&|| ()).await.unwrap(), Round::More);
        fixture.record_edit();
        fixture.match_all().await;
        assert_eq!(fixture.matches(search), 1);
    });
}
