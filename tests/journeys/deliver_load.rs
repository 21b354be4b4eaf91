//! Loads with files, from both forms. `deploy/examples` has the whole way of a load.

use serde_json::json;

use super::*;

testkit::on_both! {
    async fn a_search_shows_the_load_that_its_carrier_created(backend) {
        let drover = Drover::start(backend).await;
        let (haulier, merchant, stranger) = (User::of("haul"), User::of("grain"), User::of("stranger"));
        let ticket = drover.upload(&haulier, "weighbridge", "ticket").await;
        let form = json!({
            "organisationId": "grain", "organisationName": "Border Grain", "carrierId": "haul",
            "carrierName": "Hereford Haulage", "commodityId": 1, "reference": "HH-2041",
            "deliveryDateISO": "2026-03-01", "weight": 29.4, "tags": [], "files": [{"id": ticket}],
        });
        let mut load = drover.logistics.post("/v1/loads/carrier").by(&haulier).json(&form).send().await.ok();
        let warnings = load.as_object_mut().unwrap().remove("warnings").unwrap();
        assert_eq!(warnings[0]["code"], "unknown_organisation");
        let results = drover.logistics.get("/v1/loads?query=hh-2041").by(&merchant).send().await.ok();
        assert_eq!(results, json!([load]));
        assert_eq!(drover.logistics.get("/v1/loads").by(&stranger).send().await.ok(), json!([]));
    }

    async fn an_organiser_creates_a_load_with_a_contract(backend) {
        let drover = Drover::start(backend).await;
        let merchant = User::of("grain");
        let contract = drover.upload(&merchant, "contract", "contract").await;
        let form = json!([{
            "organiserId": "grain", "organiserName": "Border Grain", "commodityId": 2, "reference": "BG-1",
            "deliveryDateISO": "2026-03-01T08:00:00Z", "weight": null, "weightNet": null, "tags": ["milling"],
            "files": [{"id": contract}],
        }]);
        let load = drover.logistics.post("/v1/loads/organiser").by(&merchant).json(&form).send().await.ok();
        assert_eq!(load["files"][0]["name"], "contract");
    }
}
