//! Injection of SQL, formulas, headers and paths; internals in errors.

use super::*;

testkit::on_both! {
    async fn parameters_resist_injection(backend) {
        let app = app(backend).await;
        for _ in 0..2 {
            app.post("/v1/loads/organiser").by(&User::of("grain")).json(&organiser_form()).send().await.ok();
        }
        let foreign = with(with(organiser_form(), "organiserId", json!("mill")), "reference", json!("FOREIGN-7"));
        app.post("/v1/loads/organiser").by(&User::of("mill")).json(&foreign).send().await.ok();
        testkit::assert_parameters_resist_injection(&app, &User::of("grain"), "FOREIGN-7").await;
        let all = app.get("/v1/loads").by(&User::admin()).send().await.ok();
        assert_eq!(all.as_array().unwrap().len(), 3, "no load was deleted");
    }

    async fn control_characters_are_refused(backend) {
        testkit::assert_control_characters_are_refused(&app(backend).await).await;
    }

    async fn errors_hide_internals(backend) {
        testkit::assert_errors_hide_internals(&app(backend).await, "DROP TABLE loads; DROP TABLE webhooks").await;
    }

    /// CSV cells escape texts that start like formulas, and batches remove the escape.
    async fn csv_escapes_formulas_in_every_text_column(backend) {
        let app = app(backend).await;
        // Texts cannot start with tab or CR: they are trimmed or rejected.
        for prefix in ["=", "+", "-", "@"] {
            let text = |name: &str| json!(format!("{prefix}1+{name}"));
            let form = json!({
                "carrierId": text("cid"), "carrierName": text("c"), "organisationId": text("oid"), "organisationName": text("o"),
                "commodityId": 1, "reference": text("r"), "deliveryDateISO": "2026-03-01", "weight": 1, "weightNet": 1,
                "tags": [text("t"), "b"], "pickupPostcode": text("p"), "dropoffPostcode": text("d"),
                "ticketNumber": text("n"), "vehicleRegistration": text("V"),
            });
            let haul = without_org_name(text("cid").as_str().unwrap());
            let original = app.post("/v1/loads/carrier").by(&haul).json(&form).send().await.ok();
            let reply = app.get("/v1/loads?format=CSV").by(&haul).send().await;
            let row = super::search_csv::rows(&reply).remove(0);
            let escaped: Vec<_> = row.values().filter(|cell| cell.starts_with(&format!("'{prefix}1"))).collect();
            assert_eq!(escaped.len(), 10, "{row:?}");
            assert!(row.values().all(|cell| !cell.starts_with(prefix)), "{row:?}");
            let sent = reply.text();
            let again = batch::send(&app, &haul, batch::form(&[sent.as_bytes()])).await.ok();
            let copy = batch::loads(&app, &haul, &again).await.remove(0);
            for member in ["organiser", "carrier", "reference", "tags", "pickupPostcode", "ticketNumber", "vehicleRegistration"] {
                assert_eq!(copy[member], original[member], "{member}");
            }
        }
    }

    async fn dates_cannot_inject_headers_or_paths(backend) {
        let app = app(backend).await;
        let hostile = ["2026-03-01%22;%20filename=%22evil", "2026-03-01%0d%0aX-Injected:%20y", "..%2f..%2fetc", "2026-03-01T00:00:00Z%00"];
        for date in hostile {
            let path = format!("/v1/loads/completed?startDateISO={date}");
            assert_eq!(app.get(&path).by(&User::of("grain")).send().await.errors(), ["startDateISO format"], "{date}");
        }
    }
}
