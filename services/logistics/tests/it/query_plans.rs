//! SQLite query plans of the statements that searches execute.

use super::*;

/// A page with its documents.
const PAGE: &str = "SELECT document, id, sort_key FROM";
/// A page whose documents are read once its rows are sorted.
const SORTED: &str = "SELECT (SELECT document FROM loads WHERE loads.rowid = page.row_number)";
/// The ids of an export.
const KEYS: &str = "SELECT id, ";

/// Queries of an organisation, the start of the statement, a step of its plan, and whether it sorts.
const SEARCHES: &[(&str, &str, &str, bool)] = &[
    ("", PAGE, "loads_organiser_created (organiser_id=?)", false),
    ("", PAGE, "loads_carrier_created (carrier_id=?)", false),
    ("?sortBy=deliveryDateISO", PAGE, "loads_organiser_delivery (organiser_id=?)", false),
    (
        "?sortBy=deliveryDateISO&startDateISO=2026-01-01",
        PAGE,
        "loads_carrier_delivery (carrier_id=? AND delivery_at>?",
        false,
    ),
    (
        "?sortBy=deliveryDateISO&f:status=upcoming",
        PAGE,
        "loads_organiser_status (organiser_id=? AND status=?)",
        false,
    ),
    ("?f:carrierId=other", PAGE, "loads_pair (organiser_id=? AND carrier_id=?)", false),
    (
        "?f:carrierId=other&startDateISO=2026-01-01&endDateISO=2026-12-31",
        SORTED,
        "loads_pair_delivery (organiser_id=? AND carrier_id=? AND delivery_at>? AND delivery_at<?)",
        true,
    ),
    (
        "?f:carrierId=other&startDateISO=2026-01-01&endDateISO=2026-12-31&sortBy=deliveryDateISO",
        PAGE,
        "loads_pair_delivery (organiser_id=? AND carrier_id=? AND delivery_at>? AND delivery_at<?)",
        false,
    ),
    (
        "?f:organiserId=org-of-plans&f:carrierId=other&startDateISO=2026-01-01&sortBy=deliveryDateISO",
        PAGE,
        "loads_pair_delivery (organiser_id=? AND carrier_id=? AND delivery_at>?)",
        false,
    ),
    (
        "?f:organiserId=other&sortBy=deliveryDateISO&sortDesc=true",
        PAGE,
        "loads_pair_delivery (organiser_id=? AND carrier_id=?)",
        false,
    ),
    (
        "?f:carrierId=other&f:status=upcoming&sortBy=deliveryDateISO",
        PAGE,
        "loads_pair_delivery (organiser_id=? AND carrier_id=?)",
        false,
    ),
    (
        "?f:carrierId=org-of-plans&sortBy=deliveryDateISO&startDateISO=2026-01-01",
        PAGE,
        "loads_carrier_delivery (carrier_id=? AND delivery_at>?)",
        false,
    ),
    ("?f:status=completed", PAGE, "loads_organiser_created (organiser_id=?)", false),
    // The loads are read in order, those of other commodities skipped.
    ("?f:commodityId=1,2", PAGE, "loads_organiser_created (organiser_id=?)", false),
    ("?f:commodityId=1&sortBy=deliveryDateISO", PAGE, "loads_carrier_delivery (carrier_id=?)", false),
    ("?f:commodityId=1&f:carrierId=other", PAGE, "loads_pair (organiser_id=? AND carrier_id=?)", false),
    (
        "?f:commodityId=1&startDateISO=2026-01-01&endDateISO=2026-12-31",
        SORTED,
        "loads_organiser_delivery (organiser_id=? AND delivery_at>? AND delivery_at<?)",
        true,
    ),
    (
        "?weightDiffersByPercent=2&sortBy=deliveryDateISO&startDateISO=2026-01-01",
        PAGE,
        "loads_organiser_status (organiser_id=? AND status=? AND delivery_at>?)",
        false,
    ),
    ("?f:batchId=01955bf1-6c00-7a10-8000-000000000001", SORTED, "USING INDEX loads_batch (batch_id=?)", true),
    ("?f:fileId=01955bf1-6c00-7a10-8000-000000000001", SORTED, "file_uploaders_file (file_id=?)", true),
    ("?f:id=01955bf1-6c00-7a10-8000-000000000001", SORTED, "sqlite_autoindex_loads_1 (id=?)", false),
    (
        "?f:id=01955bf1-6c00-7a10-8000-000000000001,01955bf1-6c00-7a10-8000-000000000002&sortBy=deliveryDateISO",
        SORTED,
        "sqlite_autoindex_loads_1 (id=?)",
        true,
    ),
    ("?format=CSV&f:commodityId=1", KEYS, "loads_organiser_created (organiser_id=?)", false),
    (
        "?startDateISO=2026-01-01&endDateISO=2026-12-31",
        SORTED,
        "loads_organiser_delivery (organiser_id=? AND delivery_at>? AND delivery_at<?)",
        true,
    ),
    ("?startDateISO=2026-01-01", SORTED, "loads_carrier_delivery (carrier_id=? AND delivery_at>?)", true),
    (
        "?f:status=upcoming&startDateISO=2026-01-01",
        SORTED,
        "loads_organiser_status (organiser_id=? AND status=? AND delivery_at>?)",
        true,
    ),
    ("?sortBy=commodity", SORTED, "(organiser_id=?)", true),
    ("", PAGE, "cancelled USING COVERING INDEX loads_cancelled (id=?)", false),
    ("?count=true&f:carrierId=other", PAGE, "cancelled USING COVERING INDEX loads_cancelled (id=?)", false),
    ("?f:driverId=me", SORTED, "loads USING INDEX sqlite_autoindex_loads_1 (id=?)", true),
    ("?f:driverId=me&sortBy=deliveryDateISO", SORTED, "load_drivers_driver (driver_id=?)", true),
    ("?f:driverId=dai", SORTED, "load_drivers_driver (driver_id=?)", true),
    ("?f:organiserId=org-of-plans&f:carrierId=other", PAGE, "loads_pair (", false),
    ("?query=hereford", SORTED, "INTEGER PRIMARY KEY (rowid=?)", true),
    ("?query=zz", SORTED, "loads_organiser_created (organiser_id=?)", false),
    ("?format=CSV", PAGE, "loads_organiser_created (organiser_id=?)", false),
    ("?format=CSV&sortBy=deliveryDateISO", PAGE, "loads_carrier_delivery (carrier_id=?)", false),
    (
        "?format=CSV&f:carrierId=other&sortBy=deliveryDateISO&startDateISO=2026-01-01",
        PAGE,
        "loads_pair_delivery (organiser_id=? AND carrier_id=? AND delivery_at>?)",
        false,
    ),
    ("?format=CSV&startDateISO=2026-01-01&endDateISO=2026-12-31", KEYS, "loads_organiser_delivery (", true),
    ("?format=CSV&sortBy=reference", KEYS, "(organiser_id=?)", true),
    (
        "/completed?startDateISO=2026-01-01",
        PAGE,
        "loads_organiser_accepted (organiser_id=? AND completed_at>?",
        false,
    ),
];

/// A function in an index lets SQLite copy each page that the insert of a load changes (`InsertLoad`).
#[test]
fn indexes_of_loads_have_no_functions() {
    testkit::block_on(async {
        let app = app(Backend::Sqlite).await;
        let indexes = "sqlite_schema WHERE tbl_name = 'loads' AND type = 'index'";
        assert!(app.database.count(indexes) > 10);
        let has_function = "(sql GLOB '*[a-z](*' OR instr(sql, '->') > 0)";
        assert_eq!(app.database.count(&format!("{indexes} AND {has_function}")), 0);
    });
}

#[test]
fn statements_use_indexes() {
    testkit::block_on(async {
        let app = app(Backend::Sqlite).await;
        app.record_statements();
        let org = "org-of-plans";
        let form = with(with(carrier_form(), "carrierId", json!(org)), "organisationId", json!(org));
        let load = app.post("/v1/loads/carrier").by(&User::of(org)).json(&form).send().await.ok();
        let by_ids = format!("/by-ids?ids={}", load["id"].as_str().unwrap());
        let by_ids = (
            by_ids.as_str(),
            "SELECT `loads`.`id`, `loads`.`document`",
            "sqlite_autoindex_loads_1 (id=?)",
            false,
        );
        for &(query, columns, index, sorts) in SEARCHES.iter().chain([&by_ids]) {
            let reply = app.get(&format!("/v1/loads{query}")).by(&User::of(org)).send().await;
            assert_eq!(reply.status, 200, "{}", reply.text());
            let statements = app.take_statements();
            let statement = statements.iter().find(|statement| statement.starts_with(columns));
            let plan = app.query_plan(statement.unwrap_or_else(|| panic!("{columns}: {statements:#?}")));
            assert!(plan.contains(index), "{query}\n{plan}");
            assert!(!plan.contains("SCAN loads\n"), "{query}\n{plan}");
            assert_eq!(plan.contains("TEMP B-TREE FOR ORDER BY"), sorts, "{query}\n{plan}");
        }
        let plan = app.query_plan("SELECT id FROM loads WHERE created_by IS NULL ORDER BY id LIMIT 1");
        assert!(plan.contains("loads_without_creator"), "{plan}");
        let plan = app.query_plan("UPDATE loads SET created_by = '' WHERE id IN (SELECT id FROM loads WHERE created_by IS NULL ORDER BY id LIMIT 9)");
        assert!(plan.contains("loads_without_creator") && !plan.contains("SCAN loads\n"), "{plan}");
        let plan = app.query_plan("SELECT id FROM loads WHERE similarity_key IS NULL ORDER BY id LIMIT 1000");
        assert!(plan.contains("loads_without_similarity") && !plan.contains("TEMP B-TREE"), "{plan}");
    });
}

/// An export finds out from indexes in which roles the caller has loads.
#[test]
fn roles_of_exports_are_found_in_indexes() {
    testkit::block_on(async {
        let app = app(Backend::Sqlite).await;
        create_load(&app).await;
        app.record_statements();
        for (path, indexes) in [
            ("?format=CSV", &["(carrier_id=?)", "(organiser_id=?)"][..]),
            (
                "?format=CSV&startDateISO=2026-03-01",
                &[
                    "loads_carrier_delivery (carrier_id=? AND delivery_at>?)",
                    "loads_organiser_delivery (organiser_id=? AND delivery_at>?)",
                ],
            ),
            // There are none, so that the second question is not asked.
            (
                "/completed?endDateISO=2026-03-01",
                &["loads_carrier_completed (carrier_id=? AND completed_at>? AND completed_at<?)"],
            ),
        ] {
            app.get(&format!("/v1/loads{path}")).by(&User::of("haul")).send().await;
            let statements = app.take_statements();
            let probes = statements.iter().filter(|sql| sql.starts_with("SELECT `loads`.`id`"));
            let plans: Vec<_> = probes.map(|probe| app.query_plan(probe)).collect();
            assert!(plans.len() >= indexes.len(), "{path} {statements:#?}");
            for (plan, index) in plans.iter().zip(indexes) {
                assert!(plan.contains(index) && !plan.contains("SCAN loads"), "{path} {plan}");
            }
        }
    });
}

/// With many matches in a range of dates, pages are read in the order of creation instead of sorting all matches.
#[test]
fn large_ranges_of_dates_are_not_sorted() {
    testkit::block_on(async {
        let app = app(Backend::Sqlite).await;
        let header =
            "reference,deliveryDateISO,commodityName,organiserId,organiserName,carrierId,carrierName\n";
        let row = |n: usize| {
            let carrier = if n < 900 { "haul" } else { "rare" };
            format!("R-{n},2026-03-{:02},Feed Wheat,grain,Grain,{carrier},Haulage\n", 1 + n % 20)
        };
        let rows = (0..1_000).map(row).collect::<String>();
        super::batch::send_file(&app, format!("{header}{rows}")).await.ok();
        app.record_statements();
        for (org, query, index, is_sorted) in [
            ("grain", "startDateISO=2026-03-01&endDateISO=2026-03-09", "loads_organiser_created (", false),
            ("haul", "endDateISO=2026-03-09", "loads_carrier_created (", false),
            (
                "grain",
                "f:carrierId=haul&startDateISO=2026-03-01&endDateISO=2026-03-09",
                "loads_pair (",
                false,
            ),
            ("haul", "f:organiserId=grain&startDateISO=2026-03-01", "loads_pair (", false),
            ("grain", "startDateISO=2026-03-02&endDateISO=2026-03-03", "loads_organiser_delivery (", true),
            ("grain", "f:carrierId=rare&startDateISO=2026-03-02", "loads_pair_delivery (", true),
        ] {
            for (format, desc) in [("JSON&limit=100", true), ("JSON&limit=100", false), ("CSV", false)] {
                let path = format!("/v1/loads?{query}&format={format}&sortDesc={desc}");
                let reply = app.get(&path).by(&User::of(org)).send().await;
                assert_eq!(reply.status, 200, "{}", reply.text());
                let statements = app.take_statements();
                // The plans of this test are recorded too.
                let is_page = |s: &&String| s.contains("sort_key") && s.starts_with("SELECT");
                let statement = statements.iter().find(is_page).unwrap_or_else(|| panic!("{statements:#?}"));
                // These organisations have one role each, and an export knows that.
                let is_merged = statement.contains("UNION ALL");
                assert_eq!(is_merged, format != "CSV" && !query.contains("f:"), "{path}\n{statement}");
                let plan = app.query_plan(statement);
                assert!(plan.contains(index), "{path}\n{statement}\n{plan}");
                assert_eq!(
                    plan.contains("TEMP B-TREE FOR ORDER BY"),
                    is_sorted,
                    "{path}\n{statement}\n{plan}"
                );
            }
        }
    });
}

/// The newest notes of a page are found with two statements, whatever the number of loads.
#[test]
fn notes_of_a_page_are_read_together() {
    testkit::block_on(async {
        let app = app(Backend::Sqlite).await;
        let haul = User::of("haul");
        for _ in 0..3 {
            let id = create_load(&app).await;
            let note = json!({"text": "n"});
            app.post(&format!("/v1/loads/{id}/notes")).by(&haul).json(&note).send().await.ok();
        }
        app.record_statements();
        app.get("/v1/loads?include=newestNote").by(&haul).send().await.ok();
        let statements = app.take_statements();
        let found: Vec<_> = statements.iter().filter(|sql| sql.contains("load_events")).collect();
        assert_eq!(found.len(), 2, "{statements:#?}");
        for statement in found {
            let plan = app.query_plan(statement);
            assert!(!plan.contains("SCAN load_events"), "{plan}");
        }
    });
}

/// The drivers of a page are found with one statement, whatever the number of loads and the length of their histories.
#[test]
fn drivers_of_a_page_are_read_together() {
    testkit::block_on(async {
        let app = app(Backend::Sqlite).await;
        create_load(&app).await;
        create_load(&app).await;
        app.record_statements();
        app.get("/v1/loads?include=driverIds").by(&User::of("haul")).send().await.ok();
        let statements = app.take_statements();
        let found: Vec<_> = statements.iter().filter(|sql| sql.contains("load_drivers")).collect();
        assert_eq!(found.len(), 1, "{statements:#?}");
        let plan = app.query_plan(found[0]);
        assert!(plan.contains("load_events_") && !plan.contains("SCAN"), "{plan}");
    });
}

/// Whether a carrier reads a notification is found in an index, whatever the length of the history of its load.
#[test]
fn notifications_of_carriers_need_no_history() {
    testkit::block_on(async {
        let app = app(Backend::Sqlite).await;
        app.record_statements();
        app.get("/v1/notifications?count=true").by(&User::of("haul")).send().await.ok();
        let statements = app.take_statements();
        let found: Vec<_> = statements.iter().filter(|sql| sql.contains("-> 'carrierId'")).collect();
        assert_eq!(found.len(), 2, "{statements:#?}");
        for statement in found {
            let plan = app.query_plan(statement);
            assert!(plan.contains("load_events_carrier (load_id=? AND at>?)"), "{plan}");
        }
        let id = create_load(&app).await;
        app.record_statements();
        app.get(&format!("/v1/loads/{id}/drivers")).by(&User::of("haul")).send().await.ok();
        let statements = app.take_statements();
        let since = statements.iter().find(|sql| sql.contains("-> 'carrierId'")).unwrap();
        let plan = app.query_plan(since);
        assert!(
            plan.contains("load_events_last_carrier (load_id=?)") && !plan.contains("TEMP B-TREE"),
            "{plan}"
        );
    });
}
