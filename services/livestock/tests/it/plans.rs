//! The query plans of searches on SQLite, and the number of their statements.

use serde_json::json;
use testkit::{App, Backend, User};

use crate::sample::{create, full, plain, start};

/// For each search the parts that the plans of its statements must contain, and whether one of them sorts.
const SEARCHES: [(&str, &[&str], bool); 31] = [
    ("", &["listings_status_created (status=?)"], false),
    ("f:status=active-selling", &["COVERING INDEX listings_status_created (status=?)"], false),
    ("f:commodityType=cattle", &["listings_category_status_created (category=? AND status=?)"], false),
    (
        "f:commodityType=cattle&f:status=active-buying",
        &["COVERING INDEX listings_category_status_created (category=? AND status=?)"],
        false,
    ),
    ("f:organisationId=a", &["listings_organisation_status_created (organisation_id=? AND status=?)"], false),
    ("f:status=draft", &["listings_organisation_status_created (organisation_id=? AND status=?)"], false),
    ("sortBy=createdAt", &["listings_status_first_stored (status=?)"], false),
    ("sortBy=price", &["listings_status_price (status=? AND price>?)", "(status=? AND price=?)"], false),
    ("sortBy=price&sortDesc=true", &["listings_status_price (status=? AND price>?)"], false),
    ("sortBy=quantity", &["listings_status_quantity (status=? AND quantity>?)"], false),
    ("sortBy=organisationName", &["listings_status_organisation (status=?)"], false),
    ("sortBy=age&f:commodityType=store", &["listings_status_age (status=? AND age>?)"], true),
    ("sortBy=age", &["listings_status_age (status=? AND age>?)", "listings_status_born (status=?"], true),
    (
        "f:commodityType=bedding&f:status=active-buying&sortBy=price",
        &["COVERING INDEX listings_status_price (status=? AND price>?)", "(status=? AND price=?)"],
        false,
    ),
    ("f:commodityBreed=hereford", &["listings_breed (breed=?", "listings_breed_type (breed_type=?"], false),
    (
        "f:commodityType=cattle&f:status=active-selling&f:commodityBreed=hereford",
        &[
            "COVERING INDEX listings_breed (breed=? AND status=?)",
            "COVERING INDEX listings_breed_type (breed_type=? AND status=?)",
        ],
        false,
    ),
    (
        "f:commodityType=cattle&f:status=sold&f:commodityBreed=hereford&sortBy=price",
        &[
            "COVERING INDEX listings_breed_price (breed=? AND status=? AND price>?)",
            "COVERING INDEX listings_breed_type_price (breed_type=? AND status=? AND price>?)",
            "COVERING INDEX listings_breed_price (breed=? AND status=? AND price=?)",
            "COVERING INDEX listings_breed_type_price (breed_type=? AND status=? AND price=?)",
        ],
        false,
    ),
    (
        "f:commodityBreed=hereford&sortBy=price&sortDesc=true&f:status=active-buying",
        &["COVERING INDEX listings_breed_price (breed=? AND status=? AND price>?)"],
        false,
    ),
    (
        "f:commodityBreed=hereford&f:commodityType=cattle&f:status=active-selling&latitude=52&longitude=-3&\
         distanceKm=50&sortBy=publishedAt&sortDesc=true",
        &[
            "COVERING INDEX listings_breed_cell (breed=? AND status=? AND <expr>=? AND <expr>=?)",
            "COVERING INDEX listings_breed_place (breed=? AND status=? AND band=? AND lon>? AND lon<?)",
            // Checked first, because most breeds are no breed type of any listing.
            "SEARCH breed_types EXISTS USING COVERING INDEX listings_breed_type",
        ],
        true,
    ),
    (
        "f:commodityBreed=hereford&latitude=52&longitude=-3&distanceKm=50&sortBy=price",
        &["COVERING INDEX listings_breed_place (breed=? AND status=? AND band=? AND lon>? AND lon<?)"],
        true,
    ),
    (
        "f:commodityBreed=hereford&latitude=52&longitude=-3",
        &["COVERING INDEX listings_breed_place (breed=? AND status=? AND band=? AND lon>? AND lon<?)"],
        true,
    ),
    ("f:commodityBreedSociety=x", &["listings_breed_society (breed_society=? AND status=?)"], false),
    (
        "latitude=52&longitude=-3",
        &["COVERING INDEX listings_status_place (status=? AND band=? AND lon>?"],
        true,
    ),
    (
        "latitude=52&longitude=-3&distanceKm=50&sortBy=publishedAt",
        &[
            "COVERING INDEX listings_status_cell (status=? AND <expr>=? AND <expr>=?)",
            "COVERING INDEX listings_status_place (status=? AND band=? AND lon>?",
        ],
        true,
    ),
    (
        "latitude=52&longitude=-3&distanceKm=50&sortBy=price",
        &["COVERING INDEX listings_status_place (status=? AND band=? AND lon>?"],
        true,
    ),
    (
        "latitude=52&longitude=-3&distanceKm=5000&sortDesc=true",
        &["COVERING INDEX listings_status_place (status=? AND band>? AND band<?"],
        true,
    ),
    ("isWishlisted=true", &["listings USING INDEX sqlite_autoindex_listings_1 (id=?)"], true),
    ("f:status=cancelled", &["COVERING INDEX listings_cancelled (status=?)"], false),
    ("f:status=cancelled&sortBy=price", &["listings_status_price (status=? AND price>?)"], false),
    (
        "f:status=cancelled&f:organisationId=a",
        &["listings_organisation_status_created (organisation_id=? AND status=?)"],
        false,
    ),
    ("format=CSV", &["COVERING INDEX listings_status_created (status=?)"], false),
];

/// Returns the statements of searches. Other statements configure a connection, read events, or count due shares.
fn search_statements(app: &App) -> Vec<String> {
    let statements = app.take_statements().into_iter();
    statements
        .filter(|sql| {
            sql.starts_with("SELECT")
                && (sql.contains("sort_key") || sql.contains("COUNT(*)") && sql.contains("listings"))
        })
        .collect()
}

#[test]
fn searches_use_the_expected_indexes() {
    testkit::block_on(async {
        let (app, user) = (start(Backend::Sqlite).await, User::of("a"));
        create(&app, &user, &full()).await;
        app.record_statements();
        for (query, indexes, sorts) in SEARCHES {
            let reply = app.get(&format!("/v1/listings?{query}")).by(&user).send().await;
            assert_eq!(reply.status, 200, "{}", reply.text());
            let statements = search_statements(&app);
            let plan: String = statements.iter().map(|statement| app.query_plan(statement)).collect();
            for index in indexes {
                assert!(plan.contains(index), "{query}\n{plan}\n{statements:#?}");
            }
            assert!(!plan.contains("SCAN listings\n"), "{query}\n{plan}");
            assert_eq!(plan.contains("TEMP B-TREE FOR ORDER BY"), sorts, "{query}\n{plan}");
        }
    });
}

/// The reports of a seller are found by its listings, whatever the number of reports of others.
#[test]
fn reports_of_an_organisation_are_found_by_its_listings() {
    testkit::block_on(async {
        let app = start(Backend::Sqlite).await;
        app.record_statements();
        let query = "f:organisationId=a&f:status=resolved&sortDesc=true&count=true";
        app.get(&format!("/v1/reports?{query}")).by(&User::admin()).send().await.ok();
        let statements = app.take_statements();
        // Some statements are recorded once more when they are prepared.
        let is_of_reports = |sql: &str| sql.contains("`reports`") && !sql.starts_with("cached: ");
        let found: Vec<_> = statements.iter().filter(|sql| is_of_reports(sql)).collect();
        assert_eq!(found.len(), 2, "{statements:#?}");
        for statement in found {
            let plan = app.query_plan(statement);
            assert!(plan.contains("(listing_id=?)") && !plan.contains("SCAN"), "{statement}\n{plan}");
        }
    });
}

/// A count excludes the cancelled drafts of other organisations without reading their rows.
#[test]
fn cancelled_listings_are_counted_from_an_index_of_postgres_alone() {
    testkit::block_on(async {
        let (app, user) = (start(Backend::Sqlite).await, User::of("a"));
        app.record_statements();
        app.get("/v1/listings?f:status=cancelled&count=true").by(&user).send().await.ok();
        let statements = search_statements(&app);
        assert_eq!(statements.len(), 2, "a page and its count: {statements:?}");
        for statement in &statements {
            let plan = app.query_plan(statement);
            assert!(plan.contains("COVERING INDEX listings_cancelled (status=?)"), "{plan}\n{statement}");
        }
    });
}

/// Statements of common searches stay prepared. Searches with an unlimited number of different statements do not.
#[test]
fn statements_of_common_searches_on_postgres_are_cached() {
    testkit::block_on(async {
        for backend in [Backend::Sqlite, Backend::Postgres] {
            let (app, user) = (start(backend).await, User::of("a"));
            app.record_statements();
            let all = "f:commodityType=cattle&f:status=active-selling&f:commodityBreed=hereford";
            for (query, cached) in [
                (String::new(), true),
                (format!("{all}&sortBy=price"), true),
                (format!("{all}&latitude=52&longitude=-3&distanceKm=50&sortBy=publishedAt"), true),
                (format!("{all},limousin"), false),
                (format!("{all}&latitude=52&longitude=180&distanceKm=50"), false),
                ("f:commoditySexes=ewes".into(), false),
            ] {
                app.get(&format!("/v1/listings?{query}")).by(&user).send().await.ok();
                let statements = app.take_statements();
                let is_page = |sql: &&String| sql.contains("document") && sql.contains(" AS page");
                let is_cached = statements.iter().filter(is_page).any(|sql| sql.starts_with("cached: "));
                assert_eq!(is_cached, cached, "{query} {statements:#?}");
            }
        }
    });
}

testkit::on_both! {
    /// The number of statements depends neither on the number of rows nor on their members.
    async fn a_page_is_one_query(backend) {
        let (app, user) = (start(backend).await, User::of("a"));
        for n in 0..30 {
            let id = create(&app, &user, &if n % 2 == 0 { full() } else { plain(&json!({})) }).await;
            let put = app.call("PUT", &format!("/v1/listings/{id}/wishlist")).by(&user).send().await;
            assert_eq!(put.status, 200, "{}", put.text());
        }
        app.record_statements();
        for (query, rows, count) in [
            ("limit=100", 30, 1),
            ("limit=100&isWishlisted=true", 30, 1),
            ("limit=2&isWishlisted=true", 2, 1),
            ("limit=100&isWishlisted=true&latitude=51.9&longitude=-3&distanceKm=25&sortBy=publishedAt", 15, 1),
            ("limit=100&isWishlisted=true&count=true", 30, 2),
            // The page is not full of near listings, so the search widens its area until it has read all.
            ("limit=100&latitude=51.9&longitude=-3", 30, 6),
            ("limit=10&latitude=51.9&longitude=-3", 10, 1),
        ] {
            let found = app.get(&format!("/v1/listings?{query}")).by(&user).send().await.ok();
            assert_eq!(found.as_array().unwrap().len(), rows, "{query}");
            let statements = search_statements(&app);
            assert_eq!(statements.len(), count, "{query} {statements:#?}");
        }
    }
}
