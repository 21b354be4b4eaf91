//! The export of completed loads.

use super::*;

/// Creates a load with this reference, accepts it and submits a proof captured at this time.
async fn create_completed(app: &App, reference: &str, at: &str) -> Value {
    let form = with(carrier_form(), "reference", json!(reference));
    let load = app.post("/v1/loads/carrier").by(&User::of("haul")).json(&form).send().await.ok();
    let proof = json!({"weightNet": 1, "ticketNumber": "T", "vehicleRegistration": "V", "files": null, "capturedAtUTC": at});
    let id = load["id"].as_str().unwrap();
    accept(app, id).await;
    let path = format!("/v1/loads/{id}/proof-of-delivery");
    app.post(&path).by(&User::of("haul")).json(&proof).send().await.ok()
}

testkit::on_both! {
    async fn exports_a_range_oldest_first(backend) {
        let app = app(backend).await;
        let late = create_completed(&app, "late", "2026-03-03T12:00:00Z").await;
        let early = create_completed(&app, "early", "2026-03-01T00:00:00Z").await;
        let middle = create_completed(&app, "middle", "2026-03-02T23:59:59.999Z").await;
        create_load(&app).await;
        let get = async |query: &str| app.get(&format!("/v1/loads/completed{query}")).by(&User::of("grain")).send().await;
        let references = async |query: &str| {
            let rows = super::search_csv::rows(&get(query).await);
            rows.into_iter().map(|row| row["reference"].clone()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(references("").await, "early middle late");
        assert_eq!(references("?startDateISO=2026-03-02&endDateISO=2026-03-02").await, "middle");
        assert_eq!(references("?startDateISO=2026-03-01T00:00:00.001Z&format=csv").await, "middle late");
        assert_eq!(references("?endDateISO=2026-03-01").await, "early");
        assert_eq!(references("?startDateISO=2030-01-01").await, "");
        let reply = get("?format=JSON&endDateISO=2026-03-03").await;
        assert_eq!(reply.header("content-type"), "application/json");
        assert_eq!(reply.ok(), json!([early, middle, late]));
        assert_eq!(get("?format=JSON&startDateISO=2030-01-01").await.ok(), json!([]));
    }

    async fn file_name_contains_the_requested_days(backend) {
        let app = app(backend).await;
        for (query, name) in [
            ("", "loads-completed.csv"),
            ("?startDateISO=2026-03-01T10:00:00%2B01:00&endDateISO=2026-04-01", "loads-completed-2026-03-01-2026-04-01.csv"),
            ("?startDateISO=2026-03-01", "loads-completed-2026-03-01.csv"),
            ("?endDateISO=2026-04-01", "loads-completed-2026-04-01.csv"),
        ] {
            let reply = app.get(&format!("/v1/loads/completed{query}")).by(&User::of("haul")).send().await;
            assert_eq!(reply.header("content-disposition"), format!("attachment; filename=\"{name}\""));
            assert_eq!(super::search_csv::rows(&reply).len(), 0);
        }
        let call = app.get("/v1/loads/completed").by(&User::of("haul")).header("accept", "application/json");
        assert_eq!(call.send().await.ok(), json!([]));
        let invalid = "?startDateISO=2026-03-02&endDateISO=2026-03-01&format=pdf";
        let reply = app.get(&format!("/v1/loads/completed{invalid}")).by(&User::of("haul")).send().await;
        assert_eq!(reply.errors(), ["format enum", "startDateISO inconsistent"]);
    }

    async fn exports_only_loads_that_the_caller_sees(backend) {
        let app = app(backend).await;
        create_completed(&app, "one", "2026-03-01").await;
        let count = async |user: &User| {
            app.get("/v1/loads/completed?format=JSON").by(user).send().await.ok().as_array().unwrap().len()
        };
        for user in [User::of("haul"), User::of("grain"), User::admin()] {
            assert_eq!(count(&user).await, 1);
        }
        for user in [User::of("stranger"), User::individual("nobody")] {
            assert_eq!(count(&user).await, 0);
        }
    }
}
