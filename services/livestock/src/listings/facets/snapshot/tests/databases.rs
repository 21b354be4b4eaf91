//! Tests of snapshots against full reads, on both databases.

use std::sync::Arc;
use std::time::Duration;

use common::Service;
use database::{Database, Id, Options, Timestamp};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use testkit::{App, Backend, User};

use super::header;
use crate::listings::facets::FacetService;
use crate::listings::facets::caching_index::CachingIndex;
use crate::listings::facets::fixtures::{CATEGORIES, VIEWERS, search};
use crate::listings::facets::full_read::read_all;
use crate::listings::facets::model::StoredMatches;
use crate::listings::facets::snapshot::{load, save, store};
use crate::{Livestock, Settings};

/// A service, and another pool of connections to its database.
struct Fixture {
    app: App,
    db: Database,
    /// The schema with a dot, on PostgreSQL.
    schema: &'static str,
}

impl Fixture {
    async fn start(backend: Backend) -> Self {
        let settings = Settings { system_url: "http://127.0.0.1:1".into(), ..Settings::default() };
        let app = App::start::<Livestock>(backend, settings).await;
        let options = Options { migrate: false, ..testkit::options(&app.database.url, Livestock::NAME) };
        let db = Database::open(options, Vec::new).await.unwrap();
        Self { app, db, schema: if backend == Backend::Postgres { "livestock." } else { "" } }
    }

    /// Creates a listing of organisation `a` or `b` and returns its id. Each organisation has its own spelling.
    async fn create(&self, rng: &mut StdRng) -> String {
        let one = |rng: &mut StdRng, words: &[&str]| (*words.choose(rng).unwrap()).to_owned();
        let organisation = one(rng, &["a", "b"]);
        let words = ["Hereford", "Texel", "Our Own", "Cross", "Hill Cross"];
        let mut breed = || {
            let word = one(rng, &words);
            json!(if organisation == "a" { word } else { word.to_uppercase() })
        };
        let mut properties = json!({"breed": breed(), "breedType": breed(), "breedSociety": breed()});
        properties["type"] = json!(one(rng, &["store", "calves", "bulls"]));
        properties["sexes"] = json!(one(rng, &["heifers", "heifers, steers", "cows"]));
        properties["minAge"] = json!(rng.random_range(1..90));
        let listing = json!({
            "type": one(rng, &["selling", "buying"]), "isDraft": rng.random_bool(0.4), "categoryIds": [],
            "location": {"coordinates": {"lat": rng.random_range(-80..80), "lon": rng.random_range(-170..170)}},
            "price": {"type": "poa"}, "files": null, "description": "", "tags": [], "properties": properties,
        });
        let made =
            self.app.post("/v1/listings/cattle").by(&User::of(&organisation)).json(&listing).send().await;
        made.ok()["id"].as_str().unwrap().to_owned()
    }

    /// Publishes, edits or closes a listing, if its status permits it.
    async fn change(&self, rng: &mut StdRng, id: &str) {
        let path = format!("/v1/listings/{id}");
        let request = match *["active", "edited", "edited", "sold", "found", "cancelled"].choose(rng).unwrap()
        {
            "edited" => self.app.call("PATCH", &path).json(&json!({
                "location": {"coordinates": {"lat": rng.random_range(-80..80)}},
                "properties": {"type": "calves", "sexes": null, "minAge": rng.random_range(1..90)},
            })),
            "active" => self.app.post(&format!("{path}/publish")),
            closed => self.app.post(&format!("{path}/close")).json(&json!({"status": closed})),
        };
        let status = request.by(&User::admin()).send().await.status;
        assert!(status < 300 || status == 409, "{status}");
    }

    /// Makes a listing look like one that an older release has written, or changed.
    fn make_stale(&self, id: &str) {
        let (schema, key) = (self.schema, self.key(id));
        self.app.database.execute(&format!(
            "UPDATE {schema}listings SET derived = 0, breed = NULL, min_age = NULL WHERE id = {key};
             INSERT INTO {schema}listing_events (listing_id, user_id, to_status, at)
             SELECT id, 'u', status, created_at FROM {schema}listings WHERE id = {key}"
        ));
    }

    /// Returns an id as a literal of SQL.
    fn key(&self, id: &str) -> String {
        if self.schema.is_empty() { format!("X'{}'", id.replace('-', "")) } else { format!("'{id}'") }
    }

    async fn save(&self) {
        let (id, state) = (Id::new(), self.db.read(store::state).await.unwrap());
        assert!(self.db.write(move |c| store::begin(c, id)).await.unwrap());
        save::save(&self.db, id, state).await.unwrap();
        assert_eq!(self.count("facet_snapshots"), 1);
    }

    fn count(&self, table: &str) -> i64 {
        self.app.database.count(&format!("{}{table}", self.schema))
    }

    fn execute(&self, sql: &str) {
        self.app.database.execute(&sql.replace("facet_snapshot", &format!("{}facet_snapshot", self.schema)));
    }

    /// Asserts that the loaded index has the facets and stale listings of one that is built from all listings.
    async fn assert_loads_all(&self) {
        let (mut loaded, mut read) = (Vec::new(), Vec::new());
        // The service may rebuild rows between the two.
        for _ in 0..3 {
            let (index, cursor) = load(&self.db).await.unwrap().expect("a snapshot");
            let (all, all_cursor) = read_all(&self.db, Duration::ZERO).await.unwrap();
            (loaded, read) = (responses(&index), responses(&all));
            if loaded == read && cursor.stale == all_cursor.stale {
                return;
            }
        }
        for (loaded, read) in loaded.iter().zip(&read) {
            assert_eq!(loaded, read);
        }
        panic!("other listings are stale");
    }
}

/// Returns the facets of different searches for all viewers.
fn responses(index: &CachingIndex) -> Vec<String> {
    let searches = [
        json!({}),
        json!({"f:status": "draft"}),
        json!({"f:status": "cancelled"}),
        json!({"f:status": "sold", "f:commodityType": "store"}),
        json!({"f:commodityType": "calves", "f:commodityBreed": ["hereford", "our own"]}),
        json!({"f:commoditySexes": "steers", "f:organisationId": "b"}),
        json!({"f:commodityBreedSociety": ["texel"]}),
        json!({"minAge": 20.0, "maxAge": 60.0}),
        json!({"latitude": 10.0, "longitude": 10.0, "distanceKm": 6_000.0}),
    ];
    let facets = |query: &Value| {
        let search = search(query);
        VIEWERS.map(|viewer| {
            format!(
                "{query} {}",
                index.facets(viewer, &search, &StoredMatches::default(), &CATEGORIES).unwrap()
            )
        })
    };
    searches.iter().flat_map(facets).collect()
}

testkit::on_both! {
    async fn a_snapshot_with_later_changes_equals_a_full_read(backend) {
        let (fixture, seed) = (Fixture::start(backend).await, rand::random());
        println!("seed {seed}");
        let mut rng = StdRng::seed_from_u64(seed);
        let mut ids = Vec::<String>::new();
        for round in 0..12 {
            for _ in 0..rng.random_range(0..20) {
                match rng.random_range(0..10) {
                    0 if !ids.is_empty() => fixture.make_stale(ids.choose(&mut rng).unwrap()),
                    1 => crate::listings::rebuild_stale_rows(&fixture.db).await.unwrap(),
                    2..5 if !ids.is_empty() => {
                        let id = ids.choose(&mut rng).unwrap();
                        fixture.change(&mut rng, id).await;
                    }
                    _ => ids.push(fixture.create(&mut rng).await),
                }
            }
            if round > 0 {
                fixture.assert_loads_all().await;
            }
            if round == 0 || rng.random_bool(0.4) {
                fixture.save().await;
                fixture.assert_loads_all().await;
            }
        }
    }

    async fn damaged_snapshots_are_ignored_and_discarded(backend) {
        let fixture = Fixture::start(backend).await;
        let mut rng = StdRng::seed_from_u64(1);
        for _ in 0..5 {
            fixture.create(&mut rng).await;
        }
        let bytes = if backend == Backend::Sqlite { "X'0009'" } else { "'\\x0009'" };
        for damage in [
            "DELETE FROM facet_snapshot_chunks WHERE number = 1",
            &format!("UPDATE facet_snapshot_chunks SET contents = {bytes} WHERE number = 1"),
            "UPDATE facet_snapshots SET chunks = 2",
            "UPDATE facet_snapshots SET chunks = 0",
            "UPDATE facet_snapshots SET chunks = -1",
            "UPDATE facet_snapshots SET checksum = checksum + 1",
            "UPDATE facet_snapshots SET listings = listings + 1",
            "UPDATE facet_snapshots SET listings = -1",
            // Of a server with other transactions.
            "UPDATE facet_snapshots SET position = 9000000000000000000",
        ] {
            fixture.save().await;
            fixture.execute(damage);
            let service = Arc::new(FacetService::default());
            service.update(&fixture.db).await.unwrap();
            assert!(service.is_filled(), "{damage}");
            let expected = read_all(&fixture.db, Duration::ZERO).await.unwrap().0;
            assert_eq!(responses(&service.index()), responses(&expected), "{damage}");
            assert_eq!(fixture.count("facet_snapshots"), 0, "{damage}");
        }
        // Other releases may be able to use these.
        fixture.save().await;
        fixture.execute("UPDATE facet_snapshots SET layout = 'other'");
        assert!(load(&fixture.db).await.unwrap().is_none());
        assert_eq!(fixture.count("facet_snapshots"), 1);
    }

    async fn snapshots_before_a_migration_are_ignored(backend) {
        let fixture = Fixture::start(backend).await;
        fixture.save().await;
        assert!(load(&fixture.db).await.unwrap().is_some());
        let schema = fixture.schema;
        let migration = format!("INSERT INTO {schema}__diesel_schema_migrations (version) VALUES ('20991231000000')");
        fixture.app.database.execute(&migration);
        assert!(load(&fixture.db).await.unwrap().is_none());
        fixture.save().await;
        assert!(load(&fixture.db).await.unwrap().is_some());
    }

    async fn all_listings_are_read_after_too_many_changes(backend) {
        let fixture = Fixture::start(backend).await;
        fixture.create(&mut StdRng::seed_from_u64(1)).await;
        fixture.save().await;
        let schema = fixture.schema;
        let events = |events| {
            format!(
                "INSERT INTO {schema}listing_events (listing_id, user_id, to_status, at)
                 SELECT id, 'u', status, created_at FROM {schema}listings, {}",
                backend.numbers(events)
            )
        };
        fixture.app.database.execute(&events(1_000));
        fixture.assert_loads_all().await;
        fixture.app.database.execute(&events(1_001));
        assert!(load(&fixture.db).await.unwrap().is_none());
        assert_eq!(fixture.count("facet_snapshots"), 1, "it is not damaged");
    }

    async fn one_replica_at_a_time_writes_a_snapshot(backend) {
        let fixture = Fixture::start(backend).await;
        fixture.save().await;
        let replaced = fixture.db.read(store::state).await.unwrap().header.unwrap().id;
        let begin = |id| fixture.db.write(move |c| store::begin(c, id));
        let first = Id::new();
        assert!(begin(first).await.unwrap() && !begin(Id::new()).await.unwrap());
        assert_eq!(fixture.count("facet_snapshots"), 1);
        fixture.execute("DELETE FROM facet_snapshot_chunks WHERE number = 0");

        // A replica that ended during its snapshot, at a time when it may still be writing, and later.
        let abandoned = |minutes: i64| {
            let millis = Timestamp::now().millis() - minutes * 60_000;
            let hex = format!("{millis:012x}7000800000000000{minutes:04x}");
            let id = format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
            Id::parse(&id).unwrap()
        };
        let (late, dead) = (abandoned(9), abandoned(11));
        fixture.db.write(move |c| store::insert_chunk(c, late, 0, &[])).await.unwrap();
        assert!(!begin(Id::new()).await.unwrap());
        fixture.execute(&format!("DELETE FROM facet_snapshot_chunks WHERE snapshot_id = {}", fixture.key(&late.to_string())));
        for number in 0..3 {
            fixture.db.write(move |c| store::insert_chunk(c, dead, number, &[1])).await.unwrap();
        }
        fixture.save().await;
        assert_eq!(fixture.count("facet_snapshot_chunks"), 1, "only those of the new snapshot are left");

        // The dead one continues.
        let mut header = header(0);
        (header.id, header.chunks, header.position) = (dead, 1, 1);
        for replaced in [Some(replaced), None] {
            fixture.db.write(move |c| store::insert_chunk(c, dead, 1, &[1])).await.unwrap();
            let header = header.clone();
            assert!(!fixture.db.write(move |c| store::complete(c, &header, replaced)).await.unwrap());
            while fixture.db.write(|c| store::delete_unused_chunk(c, Id::new())).await.unwrap() {}
        }
        let replaced = fixture.db.read(store::state).await.unwrap().header.map(|header| header.id);
        assert!(!fixture.db.write(move |c| store::complete(c, &header, replaced)).await.unwrap(), "without its chunks");
        assert!(load(&fixture.db).await.unwrap().is_some());
    }
}

/// PostgreSQL numbers the events before their transactions commit.
#[test]
fn events_that_are_committed_after_the_snapshot_are_read() {
    testkit::block_on(async {
        let fixture = Fixture::start(Backend::Postgres).await;
        let mut rng = StdRng::seed_from_u64(1);
        let ids = [fixture.create(&mut rng).await, fixture.create(&mut rng).await];
        let change = |id: &str, begin: &str, end: &str| {
            format!(
                "BEGIN; UPDATE livestock.listings SET breed = 'late' WHERE id = '{id}';
                 INSERT INTO livestock.listing_events (listing_id, user_id, to_status, at{begin})
                 VALUES ('{id}', 'u', 'active', now(){end}"
            )
        };
        let (url, late) =
            (fixture.app.database.url.clone(), change(&ids[0], "", "); SELECT pg_sleep(2); COMMIT"));
        let open = tokio::task::spawn_blocking(move || testkit::execute(&url, &late));
        tokio::time::sleep(Duration::from_millis(500)).await;
        fixture.create(&mut rng).await;
        fixture.save().await;
        assert!(!open.is_finished());
        open.await.unwrap();
        fixture.assert_loads_all().await;

        // A server to which the database was moved gives lower numbers to its transactions.
        fixture.save().await;
        fixture.app.database.execute(&change(&ids[1], ", position", ", 1); COMMIT"));
        fixture.assert_loads_all().await;
    });
}
