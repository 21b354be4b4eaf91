//! PostgreSQL keeps one plan for all values of a frequent search. It reads no more than a plan for the values, whatever
//! they are, also where a few breeds have most listings, and before any statistics exist.

use livestock::Livestock;
use testkit::{App, Backend, User};

use crate::sample::{create, full, start};

/// Adds 100,000 listings as a later release may have stored them, so that nothing rebuilds them. The breeds of a
/// category have a Zipf distribution: `b2-1` has about 15 % of the cattle.
pub const SKEWED_LISTINGS: &str = "SELECT setseed(0.5);
    INSERT INTO livestock.listings (id, organisation_id, kind, status, category, created_at, organisation_key, price,
        breed, breed_type, types, sexes, additional_info, document, derived)
    SELECT gen_random_uuid(), 'org-1', CASE WHEN random() < 0.1 THEN 'buying' ELSE 'selling' END,
        CASE WHEN random() < 0.05 THEN 'sold' ELSE 'active' END, category,
        timestamptz '2026-01-01' + n * interval '10 s', 'o',
        CASE WHEN random() < 0.85 THEN floor(random() * 4000) * 10000 END,
        CASE WHEN category <= 3 THEN 'b' || category || '-' || floor(exp(random() * ln(100))) END,
        CASE WHEN category <= 3 THEN CASE WHEN random() < 0.3 THEN 'cross' ELSE 'pure' END END, '', '', '',
        json_build_object('id', n), 1000
    FROM (SELECT n, CASE WHEN random() < 0.5 THEN 2 ELSE 1 + floor(random() * 5)::int END AS category
          FROM generate_series(1, 100000) AS n) AS categories";

const BREED: &str = "f:commodityType=cattle&f:status=active-selling&f:commodityBreed=";

#[test]
fn one_plan_suits_common_and_rare_breeds() {
    testkit::block_on(async {
        let (app, user) = (start(Backend::Postgres).await, User::of("a"));
        app.database.execute(SKEWED_LISTINGS);
        for statistics in ["none", "exact"] {
            if statistics == "exact" {
                app.database.execute("VACUUM ANALYZE livestock.listings");
            }
            let breeds = ["b2-1", "b2-95", "cross", "unknown"].map(|breed| format!("{BREED}{breed}"));
            let wider = ["f:commodityType=cattle", "f:status=sold", ""].map(str::to_owned);
            for filter in breeds.iter().chain(&wider) {
                for order in
                    ["sortBy=publishedAt&sortDesc=true", "sortBy=price", "sortBy=price&sortDesc=true"]
                {
                    if !(filter == "f:commodityType=cattle" && order.contains("price")) {
                        let query = format!("/v1/listings?{filter}&{order}");
                        check(&app, &user, &query, &format!("{query}, statistics: {statistics}")).await;
                    }
                }
            }
        }
    });
}

async fn check(app: &App, user: &User, query: &str, case: &str) {
    app.record_statements();
    let page = app.get(query).by(user).send().await.ok();
    let statements = app.take_statements();
    let statement = statements.iter().find(|sql| sql.starts_with("SELECT (SELECT document")).unwrap();
    let [for_all, for_these] = app.executed_plans::<Livestock>(statement).await;
    assert!(for_all.text.contains("$1") && !for_all.text.contains("Seq Scan"), "{case}\n{}", for_all.text);
    assert!(for_all.pages <= for_these.pages + 30, "{case}\n{for_all:#?}\n{for_these:#?}");
    // Without statistics, no plan is good.
    assert!(for_all.pages < 250 || case.ends_with("none"), "{case}\n{for_all:#?}");
    // A count is planned for its values, and so is the page beside it.
    let counted = app.get(&format!("{query}&count=true")).by(user).send().await.ok();
    assert_eq!(page, counted, "{case}");
}

/// Concurrent transactions that record the same new breed do not run again.
#[test]
fn new_spellings_cause_no_retries() {
    testkit::block_on(async {
        let (app, user) = (start(Backend::Postgres).await, User::of("a"));
        app.record_statements();
        let listing = full();
        let created = (0..8).map(|_| create(&app, &user, &listing));
        futures_util::future::join_all(created).await;
        let statements = app.take_statements();
        let count = |start: &str| statements.iter().filter(|sql| sql.starts_with(start)).count();
        assert_eq!((count("INSERT INTO \"listings\""), count("ROLLBACK")), (8, 0), "{statements:#?}");
        assert_eq!(app.database.count("livestock.listings"), 8);
    });
}
