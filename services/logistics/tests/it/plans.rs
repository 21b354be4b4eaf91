//! How SQLite goes about the search's own statements. It decides without looking at the rows, so an empty database
//! shows what a full one does.

use std::sync::Mutex;

use diesel::connection::InstrumentationEvent;
use diesel::prelude::*;

use super::*;

/// Every statement of this process.
static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

#[derive(QueryableByName)]
struct Step {
    #[diesel(sql_type = diesel::sql_types::Text)]
    detail: String,
}

/// The plan of the last statement that looks for these columns of loads of an organisation that no other test has.
fn plan(app: &App, organisation: &str, columns: &str) -> String {
    let seen: Vec<_> = SEEN.lock().unwrap().iter().filter(|s| s.contains(organisation)).cloned().collect();
    let statement =
        seen.iter().rfind(|s| s.starts_with(columns)).unwrap_or_else(|| panic!("{columns}: {seen:#?}"));
    let sql = statement.split(" -- binds").next().unwrap();
    let mut c = SqliteConnection::establish(app.database.url.strip_prefix("sqlite://").unwrap()).unwrap();
    let steps = diesel::sql_query(format!("EXPLAIN QUERY PLAN {sql}")).load::<Step>(&mut c).unwrap();
    steps.into_iter().map(|step| step.detail + "\n").collect()
}

fn record(event: InstrumentationEvent<'_>) {
    if let InstrumentationEvent::StartQuery { query, .. } = event {
        SEEN.lock().unwrap().push(query.to_string());
    }
}

#[test]
fn statements_begin_at_an_index() {
    diesel::connection::set_default_instrumentation(|| Some(Box::new(record))).unwrap();
    testkit::block_on(async {
        let app = app(Backend::Sqlite).await;
        let (org, page, keys) = ("org-of-plans", "SELECT document FROM", "SELECT id, ");
        let form = with(with(carrier_form(), "carrierId", json!(org)), "organisationId", json!(org));
        let load = app.post("/v1/loads/carrier").by(&User::of(org)).json(&form).send().await.ok();
        let by_ids = format!("/by-ids?ids={}", load["id"].as_str().unwrap());
        for (query, columns, index, sorts) in [
            ("", page, "loads_organiser_created (organiser_id=?)", false),
            ("", page, "loads_carrier_created (carrier_id=?)", false),
            ("?sortBy=deliveryDateISO", page, "loads_organiser_delivery (organiser_id=?)", false),
            (
                "?sortBy=deliveryDateISO&startDateISO=2026-01-01",
                page,
                "loads_carrier_delivery (carrier_id=? AND delivery_at>?",
                false,
            ),
            (
                "?sortBy=deliveryDateISO&f:status=upcoming",
                page,
                "loads_organiser_status (organiser_id=? AND status=?)",
                false,
            ),
            ("?f:carrierId=other", page, "loads_carrier_created (carrier_id=?)", false),
            ("?query=hereford", page, "INTEGER PRIMARY KEY (rowid=?)", true),
            ("?query=zz", page, "loads_organiser_created (organiser_id=?)", false),
            ("?format=CSV", keys, "COVERING INDEX loads_organiser_created (organiser_id=?)", false),
            (
                "/completed?startDateISO=2026-01-01",
                keys,
                "loads_carrier_completed (carrier_id=? AND completed_at>?",
                false,
            ),
            (&by_ids, "SELECT `loads`.`id`, `loads`.`document`", "sqlite_autoindex_loads_1 (id=?)", false),
        ] {
            let reply = app.get(&format!("/v1/loads{query}")).by(&User::of(org)).send().await;
            assert_eq!(reply.status, 200, "{}", reply.text());
            let plan = plan(&app, org, columns);
            assert!(plan.contains(index), "{query}\n{plan}");
            assert!(!plan.contains("SCAN loads\n"), "{query}\n{plan}");
            assert_eq!(plan.contains("TEMP B-TREE FOR ORDER BY"), sorts, "{query}\n{plan}");
        }
    });
}
