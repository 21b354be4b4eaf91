//! Failures between the services.

use serde_json::json;

use super::*;

/// Returns the request body of a load with this file.
fn form(file: &str) -> Value {
    json!({
        "carrierId": "haul", "carrierName": "Hereford Haulage", "commodityId": 1, "reference": "HH-1",
        "deliveryDateISO": "2026-03-01", "weight": null, "tags": [], "files": [{"id": file}],
    })
}

testkit::on_both! {
    async fn rejects_files_of_others_and_unknown_files(backend) {
        let drover = Drover::start(backend).await;
        let (haulier, other) = (User::of("haul"), User::of("other"));
        let foreign = drover.upload(&other, "contract", "foreign").await;
        let archived = drover.upload(&haulier, "weighbridge", "old").await;
        drover.system.call("DELETE", &format!("/v1/files/{archived}")).by(&haulier).send().await.ok();
        for file in [foreign.as_str(), archived.as_str(), "0190f5fe-0000-7000-8000-000000000000", "nonsense"] {
            let reply = drover.logistics.post("/v1/loads/carrier").by(&haulier).json(&form(file)).send().await;
            assert_eq!(reply.errors(), ["files[0].id unknown_reference"], "{file}");
        }
        assert_eq!(drover.logistics.get("/v1/loads").by(&haulier).send().await.ok(), json!([]));
    }

    async fn stores_no_load_while_system_is_stopped(backend) {
        let drover = Drover::start(backend).await;
        let haulier = User::of("haul");
        let file = drover.upload(&haulier, "weighbridge", "ticket").await;
        let Drover { system, logistics, .. } = drover;
        system.stop().await;
        let reply = logistics.post("/v1/loads/carrier").by(&haulier).json(&form(&file)).send().await;
        assert!(!reply.header("retry-after").is_empty());
        assert_eq!(reply.error(503), "dependency_unavailable");
        assert_eq!(logistics.get("/v1/loads").by(&haulier).send().await.ok(), json!([]));
        logistics.wait_for_readiness("system", "degraded").await;
    }

    async fn all_services_accept_and_reject_the_same_tokens(backend) {
        let drover = Drover::start(backend).await;
        let expired = { let mut user = User::of("haul"); user.claims["exp"] = json!(1_000_000); user };
        for app in [&drover.system, &drover.logistics, &drover.livestock] {
            assert_eq!(app.get("/v1/settings").by(&User::admin()).send().await.status, 200);
            assert_eq!(app.get("/v1/settings").by(&User::of("haul")).send().await.error(403), "forbidden");
            let rejected = app.get("/v1/settings").by(&expired).send().await;
            assert!(rejected.header("www-authenticate").starts_with("Bearer error="));
            assert_eq!(rejected.error(401), "unauthenticated");
        }
    }
}
