//! Creation of loads by organisers and carriers.

use std::time::{Duration, Instant};

use super::*;

testkit::on_both! {
    async fn organisers_create_loads(backend) {
        let app = app(backend).await;
        let form = json!({
            "organiserId": "grain", "organiserName": "Border Grain", "commodityId": 1, "reference": "BG-1",
            "deliveryDateISO": "2026-03-01", "weight": 29.400_000_000_000_002, "weightNet": 28, "files": [],
            "ticketNumber": " T-1 ", "vehicleRegistration": " vx21 abc ", "tags": ["harvest", "wheat"],
            "pickupPostcode": "hr49ar", "dropoffPostcode": "h91e2k3", "unknown": {"is": "ignored"},
        });
        let mut load = app.post("/v1/loads/organiser").by(&without_org_name("grain")).json(&form).send().await.ok();
        let id = load["id"].as_str().unwrap().to_owned();
        assert_eq!(app.get(&format!("/v1/loads/{id}")).by(&User::of("grain")).send().await.ok(), load);
        for member in ["id", "createdAtUTC", "revision", "updatedAtUTC"] {
            assert!(load.as_object_mut().unwrap().remove(member).is_some(), "{member}");
        }
        assert_eq!(load, json!({
            "reference": "BG-1", "organiser": {"id": "grain", "name": "Border Grain"},
            "commodity": {"id": 1, "name": "Feed Wheat"}, "deliveryDateISO": "2026-03-01T00:00:00.000Z",
            "pickupPostcode": "HR4 9AR", "dropoffPostcode": "H91 E2K3",
            "weight": {"name": "tonne", "conversion": 1000.0, "weight": 29.4},
            "weightNet": {"name": "tonne", "conversion": 1000.0, "weight": 28},
            "vehicleRegistration": "VX21 ABC", "ticketNumber": "T-1", "status": "upcoming", "files": [],
            "tags": ["harvest", "wheat"], "createdBy": {"organisationId": "grain"},
        }));
    }

    async fn organisers_see_loads_that_carriers_create(backend) {
        let app = app(backend).await;
        let load = app.post("/v1/loads/carrier").by(&without_org_name("haul")).json(&json!([carrier_form()])).send().await.ok();
        let load = without_warnings(load);
        assert_eq!(load["carrier"], json!({"id": "haul", "name": "Hereford Haulage"}));
        assert_eq!(load["organiser"], json!({"id": "grain", "name": "Border Grain"}));
        assert_eq!(load["deliveryDateISO"], "2026-03-01T09:30:00.000Z");
        assert_eq!(load.get("weight"), None, "null members are omitted");
        let path = format!("/v1/loads/{}", load["id"].as_str().unwrap());
        assert_eq!(app.get(&path).by(&User::of("grain")).send().await.ok(), load);
        let without_organiser = without(without(carrier_form(), "organisationId"), "organisationName");
        let load = app.post("/v1/loads/carrier").by(&User::of("haul")).json(&without_organiser).send().await.ok();
        assert_eq!(load.get("organiser"), None);
    }

    async fn reports_all_invalid_fields(backend) {
        let app = app(backend).await;
        let grain = User::of("grain");
        let post = async |form: Value| app.post("/v1/loads/organiser").by(&grain).json(&form).send().await.errors();
        assert_eq!(post(json!({})).await, [
            "commodityId required", "deliveryDateISO required", "files required", "organiserId required",
            "organiserName required", "reference required", "tags required", "weight required", "weightNet required",
        ]);
        let invalid = json!({
            "organiserId": " ", "organiserName": "a\u{7}b", "commodityId": 999_999, "reference": "x".repeat(101),
            "deliveryDateISO": "next Tuesday", "weight": 29_400, "weightNet": -1, "files": [{"id": 5}, {}],
            "tags": ["a;b", "", "ok"], "vehicleRegistration": "x".repeat(21), "ticketNumber": 7,
        });
        assert_eq!(post(invalid).await, [
            "commodityId unknown_reference", "deliveryDateISO format", "files[0].id type", "files[1].id required",
            "organiserId length", "organiserName format", "reference length", "tags[0] format", "tags[1] length",
            "ticketNumber type", "vehicleRegistration length", "weight range", "weightNet range",
        ]);
        assert_eq!(post(with(organiser_form(), "commodityId", json!(1.5))).await, ["commodityId unknown_reference"]);
        assert_eq!(post(with(organiser_form(), "tags", json!(vec!["t"; 51]))).await, ["tags length"]);
        let reply = app.post("/v1/loads/organiser").by(&grain).json(&with(organiser_form(), "weight", json!(29_400)));
        assert!(reply.send().await.text().contains("kilograms"), "a weight in kilograms gets a hint");
        let two = json!([organiser_form(), organiser_form()]);
        assert_eq!(post(two).await, [" length"]);
    }

    async fn callers_create_loads_of_their_own_organisation_only(backend) {
        let app = app(backend).await;
        let (organiser, carrier) = (app.post("/v1/loads/organiser"), app.post("/v1/loads/carrier"));
        assert_eq!(organiser.by(&User::of("other")).json(&organiser_form()).send().await.error(403), "forbidden");
        assert_eq!(carrier.by(&User::of("grain")).json(&carrier_form()).send().await.error(403), "forbidden");
        let forbidden = app.post("/v1/loads/organiser").by(&User::individual("nobody")).json(&json!({}));
        assert_eq!(forbidden.send().await.error(403), "forbidden");
        assert_eq!(app.post("/v1/loads/organiser").json(&json!({})).send().await.error(401), "unauthenticated");
        app.post("/v1/loads/organiser").by(&User::admin()).json(&organiser_form()).send().await.ok();
    }

    async fn file_references_come_from_system(backend) {
        let (app, system) = app_with_files(backend).await;
        let ticket = system.add("ticket.jpg", &User::of("haul"));
        let files = json!([{"id": ticket, "name": "a lie", "url": "http://elsewhere"}]);
        let form = with(carrier_form(), "files", files);
        let load = app.post("/v1/loads/carrier").by(&User::of("haul")).json(&form).send().await.ok();
        assert_eq!(load["files"], json!([{
            "id": ticket, "name": "ticket.jpg", "url": format!("{}/v1/files/{ticket}", system.url()),
            "userName": "Ruth", "createdAtUTC": "2026-03-01T09:30:00.000Z",
        }]));
        assert_eq!(system.calls().await, [
            json!({"ids": [ticket]}), json!({"ids": [ticket], "shareWith": ["grain", "haul"]}),
        ]);

        let unknown = with(carrier_form(), "files", json!([{"id": "nonsense"}, {"id": ticket}]));
        let reply = app.post("/v1/loads/carrier").by(&User::of("haul")).json(&unknown).send().await;
        assert_eq!(reply.errors(), ["files[0].id unknown_reference"]);
        app.post("/v1/loads/carrier").by(&User::of("haul")).json(&carrier_form()).send().await.ok();
        assert_eq!(system.calls().await.len(), 3, "without files system is not called");
    }

    async fn never_shares_files_with_everybody(backend) {
        let (app, system) = app_with_files(backend).await;
        let ticket = system.add("ticket.jpg", &User::of("haul"));
        let form = with(with(carrier_form(), "organisationId", json!(" * ")), "files", json!([{"id": ticket}]));
        app.post("/v1/loads/carrier").by(&User::of("haul")).json(&form).send().await.ok();
        assert_eq!(system.shares().await, [json!({"ids": [ticket], "shareWith": ["haul"]})]);
        let twice = json!([{"id": ticket}, {"id": ticket.to_uppercase()}]);
        let form = with(carrier_form(), "files", twice);
        let load = app.post("/v1/loads/carrier").by(&User::of("haul")).json(&form).send().await.ok();
        assert_eq!(load["files"].as_array().unwrap().len(), 1);
    }

    async fn stores_no_load_with_files_while_system_is_unavailable(backend) {
        // Nothing listens on port 9 (discard).
        let settings = Settings { system_url: "http://127.0.0.1:9".into(), ..Settings::default() };
        let app = App::start::<Logistics>(backend, settings).await;
        let haul = User::of("haul");
        let form = with(carrier_form(), "files", json!([{"id": "0190f5fe-0000-7000-8000-000000000000"}]));
        let reply = app.post("/v1/loads/carrier").by(&haul).json(&form).send().await;
        assert_eq!(reply.header("retry-after"), "2");
        assert_eq!(reply.error(503), "dependency_unavailable");
        assert_eq!(app.get("/v1/loads").by(&haul).send().await.ok(), json!([]));
        app.post("/v1/loads/carrier").by(&haul).json(&carrier_form()).send().await.ok();
        app.wait_for_readiness("system", "degraded").await;
    }
}

/// The usual failures: `stores_no_load_with_files_while_system_is_unavailable`.
#[test]
fn stores_no_load_with_files_while_system_sends_nonsense() {
    use testkit::BadResponse::{HalfThenClose, HalfThenStall, InternalError, Never, NotHttp, OtherPage};
    testkit::block_on(async {
        let all = [InternalError, Never, NotHttp, OtherPage, HalfThenStall, HalfThenClose];
        let creates = all.map(|response| async move {
            let settings = Settings { system_url: response.serve(), ..Settings::default() };
            let app = App::start::<Logistics>(Backend::Sqlite, settings).await;
            let (haul, started) = (User::of("haul"), Instant::now());
            let form = with(carrier_form(), "files", json!([{"id": "0190f5fe-0000-7000-8000-000000000000"}]));
            let reply = app.post("/v1/loads/carrier").by(&haul).json(&form).send().await;
            assert_eq!(reply.error(503), "dependency_unavailable", "{response:?}");
            assert!(started.elapsed() < Duration::from_secs(12), "{response:?}: {:?}", started.elapsed());
            assert_eq!(app.get("/v1/loads").by(&haul).send().await.ok(), json!([]), "{response:?}");
        });
        futures_util::future::join_all(creates).await;
    });
}
