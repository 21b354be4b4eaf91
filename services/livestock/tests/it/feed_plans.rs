//! The query plans of the feed: whoever reads it, a page begins at its cursor in an index.

use livestock::Livestock;
use testkit::{App, Backend, User};

use crate::postgres_plans::SKEWED_LISTINGS;
use crate::sample::{create, full, start};

const OF_OWNER: &str = "listing_events_feed_owner (owner_id=? AND position=? AND n>?)";
const OF_USERS: &str = "match_events_feed_organisation (organisation_id=? AND position=? AND n>?)";
const OF_ALL: &str = "INTEGER PRIMARY KEY (rowid>?)";

/// For each reader and query, the plan of SQLite for the changes and that for the matches.
const PAGES: [(&str, &str, &str, &str); 6] = [
    ("farm", "", OF_OWNER, OF_USERS),
    ("farm", "f:type=listing.closed,listing.matched", OF_OWNER, OF_USERS),
    ("farm", "scope=market", OF_ALL, ""),
    ("farm", "scope=market&f:organisationId=farm", OF_OWNER, ""),
    ("admin", "", OF_ALL, OF_ALL),
    ("admin", "f:organisationId=farm", OF_OWNER, OF_USERS),
];

/// Reads a page and returns the statements for its places: that of changes and that of matches, if there is one.
async fn statements(app: &App, user: &str, query: &str) -> [Option<String>; 2] {
    let user = if user == "admin" { User::admin() } else { User::of(user) };
    app.record_statements();
    app.get(&format!("/v1/events?{query}")).by(&user).send().await.ok();
    let statements = app.take_statements();
    ["listing_events", "match_events"].map(|table| {
        let start = format!("SELECT {table}.position, {table}.n");
        let reads_places = |sql: &&String| {
            let sql = sql.replace(['"', '`'], "");
            sql.starts_with(&start) && sql.contains("ORDER BY")
        };
        statements.iter().find(reads_places).cloned()
    })
}

#[test]
fn a_page_is_read_in_the_order_of_an_index_of_sqlite() {
    testkit::block_on(async {
        let app = start(Backend::Sqlite).await;
        create(&app, &User::of("farm"), &full()).await;
        for (user, query, of_changes, of_matches) in PAGES {
            let [changes, matches] = statements(&app, user, query).await;
            assert_eq!(matches.is_some(), !of_matches.is_empty(), "{user}: {query}");
            for (statement, expected) in [(changes, of_changes), (matches, of_matches)] {
                let plan = statement.map(|statement| app.query_plan(&statement)).unwrap_or_default();
                assert!(plan.contains(expected) && !plan.contains("B-TREE"), "{user}: {query}\n{plan}");
            }
        }
    });
}

/// 100,000 listings of one organisation with an edit each, some of another, drafts, and as many matches.
const EVENTS: &str = "
    INSERT INTO livestock.listing_events (listing_id, user_id, from_status, to_status, at, revision, owner_id)
    SELECT id, 'u', CASE WHEN n = 1 THEN 'draft' ELSE 'active' END, CASE WHEN random() < 0.3 THEN 'draft' ELSE 'active' END,
        now(), n, CASE WHEN random() < 0.001 THEN 'farm' ELSE 'org-1' END
    FROM livestock.listings, generate_series(1, 2) AS n;
    INSERT INTO livestock.match_events (id, listing_id, organisation_id, searches, revision, at)
    SELECT gen_random_uuid(), id, CASE WHEN random() < 0.001 THEN 'farm' ELSE 'org-1' END, uuid_send(id), 1, now()
    FROM livestock.listings";

#[test]
fn a_page_reads_few_rows_of_postgres() {
    testkit::block_on(async {
        let app = start(Backend::Postgres).await;
        app.database.execute(SKEWED_LISTINGS);
        app.database.execute(EVENTS);
        app.database.execute("VACUUM ANALYZE livestock.listing_events");
        app.database.execute("VACUUM ANALYZE livestock.match_events");
        for organisation in ["farm", "org-1"] {
            for (user, query, ..) in PAGES {
                let (user, query) = (user.replace("farm", organisation), query.replace("farm", organisation));
                for statement in statements(&app, &user, &query).await.into_iter().flatten() {
                    // The service plans each of them for its values.
                    let [_, plan] = app.executed_plans::<Livestock>(&statement).await;
                    let case = format!("{user}: {query}\n{plan:#?}");
                    // The few suspended organisations are read once.
                    let text = plan.text.replace("Seq Scan on suspended_organisations", "");
                    assert!(!text.contains("Seq Scan") && plan.pages < 2_500, "{case}");
                }
            }
        }
    });
}
