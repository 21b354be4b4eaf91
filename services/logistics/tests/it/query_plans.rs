//! SQLite query plans of the statements that searches execute.

use super::*;

#[test]
fn statements_use_indexes() {
    testkit::block_on(async {
        let app = app(Backend::Sqlite).await;
        app.record_statements();
        let (org, page, keys) = ("org-of-plans", "SELECT document, id, sort_key FROM", "SELECT id, ");
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
            ("?f:carrierId=other", page, "loads_pair (organiser_id=? AND carrier_id=?)", false),
            ("?f:carrierId=other&startDateISO=2026-01-01&endDateISO=2026-12-31", page, "loads_pair (", false),
            ("?f:organiserId=org-of-plans&f:carrierId=other", page, "loads_pair (", false),
            ("?query=hereford", page, "INTEGER PRIMARY KEY (rowid=?)", true),
            ("?query=zz", page, "loads_organiser_created (organiser_id=?)", false),
            ("?format=CSV", page, "loads_organiser_created (organiser_id=?)", false),
            ("?format=CSV&sortBy=deliveryDateISO", page, "loads_carrier_delivery (carrier_id=?)", false),
            (
                "?format=CSV&startDateISO=2026-01-01&endDateISO=2026-12-31",
                keys,
                "loads_organiser_delivery (",
                true,
            ),
            ("?format=CSV&sortBy=reference", keys, "loads_organiser_created (organiser_id=?)", true),
            (
                "/completed?startDateISO=2026-01-01",
                page,
                "loads_carrier_completed (carrier_id=? AND completed_at>?",
                false,
            ),
            (
                "/completed?startDateISO=2026-01-01",
                page,
                "loads_organiser_accepted (organiser_id=? AND completed_at>?",
                false,
            ),
            (&by_ids, "SELECT `loads`.`id`, `loads`.`document`", "sqlite_autoindex_loads_1 (id=?)", false),
        ] {
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
    });
}
