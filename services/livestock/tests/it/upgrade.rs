//! Listings that an older version of the service wrote, before this version or beside it.

use std::collections::BTreeSet;
use std::time::Duration;

use livestock::{Livestock, Settings};
use serde_json::{Value, json};
use testkit::{App, Backend, TestDatabase, User};

use crate::feed;
use crate::lifecycle::{draft, events, patch, revision, to};
use crate::sample::{create, full, plain, search, start};

/// Inserts a listing as after migration 20261121000300: without coordinates, spellings and events.
fn insert_as_before(app: &App, backend: Backend, id: &str, status: &str) {
    let document = json!({
        "id": id, "userId": "u", "organisationId": "a", "organisationName": "A", "type": "selling", "status": status,
        "categoryIds": [2], "location": {"coordinates": {"lat": -33.0, "lon": 151.0}}, "price": {"type": "poa"},
        "files": [], "description": "", "tags": [], "createdAtUTC": "2026-03-01T09:30:00.000Z",
        "properties": {"type": "oxen", "breed": "Old Breed", "additionalInfo": []},
    });
    let key = backend.id(id);
    let (at, line) = match backend {
        Backend::Sqlite => ("1772357400000", "char(10) || 'oxen' || char(10)"),
        Backend::Postgres => ("'2026-03-01T09:30:00Z'", "E'\\noxen\\n'"),
    };
    app.database.execute(&format!(
        "INSERT INTO listings (id, organisation_id, kind, status, category, created_at, organisation_key, breed, \
         types, sexes, additional_info, document) \
         VALUES ({key}, 'a', 'selling', '{status}', 2, {at}, 'a', 'old breed', {line}, '', '', '{document}')"
    ));
}

/// Changes the status of a listing as the previous version did, which did not set `cancelled_as_draft`.
fn change_as_before(app: &App, backend: Backend, id: &str, from: &str, to: &str) {
    let (key, change) = (backend.id(id), format!("'\"{from}\"', '\"{to}\"'"));
    let (document, at) = match backend {
        Backend::Sqlite => (format!("replace(document, {change})"), "0"),
        Backend::Postgres => (format!("replace(document::text, {change})::json"), "now()"),
    };
    app.database.execute(&format!(
        "UPDATE listings SET status = '{to}', document = {document} WHERE id = {key};
         INSERT INTO listing_events (listing_id, user_id, from_status, to_status, at)
         VALUES ({key}, 'u', '{from}', '{to}', {at})"
    ));
}

/// Runs scripts of migrations.
fn run_scripts(database: &TestDatabase, backend: Backend, scripts: &[[&str; 2]]) {
    for [sqlite, postgres] in scripts {
        match backend {
            Backend::Sqlite => database.execute(sqlite),
            Backend::Postgres => {
                database.execute(&format!("SET search_path TO livestock, public; {postgres}"));
            }
        }
    }
}

/// The scripts that revert and repeat the migration that marks cancelled drafts.
const MARK_CANCELLED_DRAFTS: [[&str; 2]; 2] = [
    [
        include_str!("../../migrations/sqlite/20261123020000_mark_cancelled_drafts/down.sql"),
        include_str!("../../migrations/postgres/20261123020000_mark_cancelled_drafts/down.sql"),
    ],
    [
        include_str!("../../migrations/sqlite/20261123020000_mark_cancelled_drafts/up.sql"),
        include_str!("../../migrations/postgres/20261123020000_mark_cancelled_drafts/up.sql"),
    ],
];

/// The scripts that revert and repeat the migration that adds revisions and full events.
const ADD_HISTORY: [[&str; 2]; 2] = [
    [
        include_str!("../../migrations/sqlite/20261126000100_add_listing_history/down.sql"),
        include_str!("../../migrations/postgres/20261126000100_add_listing_history/down.sql"),
    ],
    [
        include_str!("../../migrations/sqlite/20261126000100_add_listing_history/up.sql"),
        include_str!("../../migrations/postgres/20261126000100_add_listing_history/up.sql"),
    ],
];

/// The scripts that revert the migrations of the feed, and that of enquiries, which are in it.
const REMOVE_FEED: [[&str; 2]; 3] = [
    [
        include_str!("../../migrations/sqlite/20261129131000_create_enquiries/down.sql"),
        include_str!("../../migrations/postgres/20261129131000_create_enquiries/down.sql"),
    ],
    [
        include_str!("../../migrations/sqlite/20261129120010_fill_listing_feed/down.sql"),
        include_str!("../../migrations/postgres/20261129120010_fill_listing_feed/down.sql"),
    ],
    [
        include_str!("../../migrations/sqlite/20261129120000_add_listing_feed/down.sql"),
        include_str!("../../migrations/postgres/20261129120000_add_listing_feed/down.sql"),
    ],
];

/// The scripts of these migrations.
const ADD_FEED: [[&str; 2]; 3] = [
    [
        include_str!("../../migrations/sqlite/20261129120000_add_listing_feed/up.sql"),
        include_str!("../../migrations/postgres/20261129120000_add_listing_feed/up.sql"),
    ],
    [
        include_str!("../../migrations/sqlite/20261129120010_fill_listing_feed/up.sql"),
        include_str!("../../migrations/postgres/20261129120010_fill_listing_feed/up.sql"),
    ],
    [
        include_str!("../../migrations/sqlite/20261129131000_create_enquiries/up.sql"),
        include_str!("../../migrations/postgres/20261129131000_create_enquiries/up.sql"),
    ],
];

testkit::on_both! {
    async fn events_of_the_previous_version_are_in_the_feed(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        feed::whole_life(&app, &farm).await;
        let own = feed::all(&app, &farm, "").await;
        let (other, active) = (User::of("other"), create(&app, &User::of("other"), &full()).await);
        let market = feed::all(&app, &farm, "scope=market").await;
        let database = app.stop().await;
        run_scripts(&database, backend, &REMOVE_FEED);
        if backend == Backend::Postgres {
            // The first listing is from before a move to a server whose transactions have smaller ids.
            database.execute("ALTER TABLE livestock.listing_events DISABLE TRIGGER USER");
            database.execute("UPDATE livestock.listing_events SET position = position + 1000000000 WHERE n <= 6");
            database.execute("ALTER TABLE livestock.listing_events ENABLE TRIGGER USER");
        }
        run_scripts(&database, backend, &ADD_FEED);
        let app = App::start_on::<Livestock>(database, Settings::default()).await;
        assert_eq!(feed::all(&app, &farm, "").await, own);
        assert_eq!(feed::all(&app, &User::individual("eve"), "scope=market").await, market);
        // The previous version beside this one.
        change_as_before(&app, backend, &active, "active", "sold");
        let last = feed::all(&app, &other, "").await.pop().unwrap();
        assert_eq!((&last["type"], &last["revision"], &last["userId"]), (&json!("listing.closed"), &json!(2), &json!("u")));
    }

    async fn listings_of_the_previous_version_have_the_history_that_is_known(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = draft(&app, &farm).await;
        to(&app, &farm, &id, "active").send().await.ok();
        let before = events(&app, &id).await;
        run_scripts(&app.database, backend, &ADD_HISTORY);
        // The previous release beside this one.
        change_as_before(&app, backend, &id, "active", "sold");
        let after = events(&app, &id).await;
        let known = |kind: &str, more: Value| {
            let mut event = json!({"type": kind, "userId": "user-of-farm"});
            event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            event
        };
        let expected = [
            known("created", json!({"id": after[0]["id"], "atUTC": before[0]["atUTC"], "to": "draft"})),
            known("published", json!({"id": after[1]["id"], "atUTC": before[1]["atUTC"], "from": "draft", "to": "active"})),
            known("closed", json!({"id": after[2]["id"], "atUTC": after[2]["atUTC"], "from": "active", "to": "sold", "userId": "u"})),
        ];
        assert_eq!(after, expected);
        let ids: BTreeSet<_> = after.iter().map(|event| event["id"].as_str().unwrap()).collect();
        assert!(ids.len() == 3 && ids.iter().all(|id| id.len() == 36), "{ids:?}");
        assert_eq!(events(&app, &id).await, after, "the ids stay");
        assert_eq!(revision(&app, &id).await, 2, "the change raised the revision");
        let page = app.get(&format!("/v1/listings/{id}/events?limit=1&offset=1")).by(&farm).send().await.ok();
        assert_eq!(page, json!([after[1]]));
    }

    async fn listings_of_the_previous_version_are_edited(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = create(&app, &farm, &full()).await;
        run_scripts(&app.database, backend, &ADD_HISTORY);
        let edited = patch(&app, &farm, &id, &json!({"tags": ["new"]})).await;
        assert_eq!(edited.header("etag"), "\"2\"");
        assert_eq!(events(&app, &id).await[1]["changes"]["tags"]["to"], json!(["new"]));
        // Publishing and closing by this release raises the revision once.
        to(&app, &farm, &id, "sold").send().await.ok();
        assert_eq!(revision(&app, &id).await, 3);
    }

    async fn cancelled_drafts_of_the_previous_version_stay_private(backend) {
        let (app, farm, stranger) = (start(backend).await, User::of("farm"), User::of("stranger"));
        let mut ids = Vec::new();
        for statuses in [&["active", "cancelled"][..], &["cancelled"], &["active"], &[]] {
            let id = draft(&app, &farm).await;
            for status in statuses {
                to(&app, &farm, &id, status).send().await.ok();
            }
            ids.push(id);
        }
        let [cancelled, cancelled_draft, active, draft] = &ids[..] else { unreachable!() };
        app.get("/v1/listings?docs=false&f:status=cancelled").by(&stranger).send().await.ok();
        run_scripts(&app.database, backend, &MARK_CANCELLED_DRAFTS);
        assert_eq!(search(&app, &stranger, "f:status=cancelled").await, [cancelled.as_str()]);

        change_as_before(&app, backend, active, "active", "cancelled");
        change_as_before(&app, backend, draft, "draft", "cancelled");
        assert_eq!(search(&app, &stranger, "f:status=cancelled").await, [active.as_str(), cancelled]);
        assert_eq!(search(&app, &farm, "f:status=cancelled").await.len(), 4);
        for (user, total) in [(&stranger, 2), (&farm, 4)] {
            let counts = app.get("/v1/listings?docs=false&f:status=cancelled").by(user).send().await.ok();
            assert_eq!(counts["total"], total);
        }
        for (id, status) in [(cancelled, 200), (active, 200), (cancelled_draft, 403), (draft, 403)] {
            assert_eq!(app.get(&format!("/v1/listings/{id}")).by(&stranger).send().await.status, status);
        }
    }

    async fn listings_of_older_versions_are_rebuilt_in_the_background(backend) {
        let (app, a) = (start(backend).await, User::of("a"));
        create(&app, &a, &full()).await;
        create(&app, &a, &plain(&json!({"type": "oxen"}))).await;
        let id = "019ad000-0000-7000-8000-000000000001";
        insert_as_before(&app, backend, id, "active");
        // Published and counted before the row is rebuilt.
        let draft = "019ad000-0000-7000-8000-000000000002";
        insert_as_before(&app, backend, draft, "draft");
        app.post(&format!("/v1/listings/{draft}/publish")).by(&a).send().await.ok();
        app.get("/v1/listings?docs=false").by(&a).send().await.ok();
        let near = "latitude=-33&longitude=151&distanceKm=1&f:commodityType=oxen&f:commodityBreed=old%20breed";
        // Waits up to 30 s for the background work.
        for _ in 0..60 {
            if search(&app, &a, near).await.len() == 2 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        assert_eq!(search(&app, &a, near).await, [id, draft]);
        assert_eq!(search(&app, &a, "query=old%20BREED").await, [draft, id]);
        let facets = app.get(&format!("/v1/listings?docs=false&{near}")).by(&a).send().await.ok();
        assert_eq!(facets["filters"]["f:commodityBreed"], json!([{"value": "Old Breed", "count": 2}]));
        assert_eq!(facets["total"], 2);
        assert_eq!(events(&app, id).await[0]["to"], "active");
    }

    /// Releases before 1.2 compared and sorted by texts in lower case.
    async fn rows_of_the_previous_version_are_folded(backend) {
        let (app, farm) = (start(backend).await, User::of("farm").with("orgName", "\u{c9}mile\u{2019}s Farm"));
        let id = create(&app, &farm, &plain(&json!({"breed": "Our\u{2019}s", "breedSociety": "Old\u{2011}Society"}))).await;
        let later = create(&app, &User::of("other").with("orgName", "Z"), &plain(&json!({}))).await;
        app.database.execute("DELETE FROM spellings; UPDATE listings SET derived = 4, organisation_key = '\u{e9}mile\u{2019}s farm', \
             currency = NULL, breed = 'our\u{2019}s', breed_society = 'old\u{2011}society', search_text = 'our\u{2019}s' WHERE breed IS NOT NULL");
        let app = App::start_on::<Livestock>(app.stop().await, Settings::default()).await;
        for query in ["f:commodityBreed=ours", "f:commodityBreedSociety=old%20society", "query=emiles"] {
            assert_eq!(search(&app, &farm, query).await, [id.as_str()], "{query}");
            let facets = app.get(&format!("/v1/listings?docs=false&{query}")).by(&farm).send().await.ok();
            assert_eq!(facets["filters"]["f:commodityBreed"], json!([{"value": "Our\u{2019}s", "count": 1}]));
        }
        assert_eq!(search(&app, &farm, "sortBy=organisationName").await, [id, later]);
    }

    async fn documents_get_the_revisions_that_the_previous_version_does_not_write(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = create(&app, &farm, &full()).await;
        patch(&app, &farm, &id, &json!({"tags": ["new"]})).await.ok();
        let before = app.get(&format!("/v1/listings/{id}")).by(&farm).send().await.ok();
        let document = match backend {
            Backend::Sqlite => "json_remove(document, '$.revision', '$.updatedAtUTC')",
            Backend::Postgres => "(document::jsonb - 'revision' - 'updatedAtUTC')::json",
        };
        app.database.execute(&format!("UPDATE listings SET document = {document}"));
        let app = App::start_on::<livestock::Livestock>(app.stop().await, livestock::Settings::default()).await;
        assert_eq!(revision(&app, &id).await, 2);
        let mut after = app.get(&format!("/v1/listings/{id}")).by(&farm).send().await.ok();
        assert_eq!(after["updatedAtUTC"], events(&app, &id).await[1]["atUTC"]);
        after["updatedAtUTC"] = before["updatedAtUTC"].clone();
        assert_eq!(after, before);
    }
}
