//! The main journey: a haulier photographs a ticket, creates a load and proves its delivery. Both parties read it.

use serde_json::json;

use super::*;

testkit::on_both! {
    async fn a_carrier_creates_a_load_and_proves_its_delivery(backend) {
        let drover = Drover::start(backend).await;
        let (haulier, merchant, stranger) = (User::of("haul"), User::of("grain"), User::of("stranger"));
        let ticket = drover.upload(&haulier, "weighbridge", "ticket").await;
        assert_eq!(drover.download(&merchant, &ticket).await.0, 403, "not shared yet");

        let form = json!({
            "organisationId": "grain", "organisationName": "Border Grain", "carrierId": "haul",
            "carrierName": "Hereford Haulage", "commodityId": 1, "reference": "HH-2041",
            "deliveryDateISO": "2026-03-01", "weight": 29.4, "tags": [], "files": [{"id": ticket}],
        });
        let load = drover.logistics.post("/v1/loads/carrier").by(&haulier).json(&form).send().await.ok();
        let info = drover.system.get(&format!("/v1/files/{ticket}/info")).by(&haulier).send().await.ok();
        for member in ["name", "url", "userName", "createdAtUTC"] {
            assert_eq!(load["files"][0][member], info[member], "{member}");
        }
        assert_eq!(info["organisations"], json!(["grain", "haul"]));

        // The organiser can read the ticket that the carrier attached, strangers cannot.
        assert_eq!(drover.download(&merchant, &ticket).await, (200, photograph("ticket")));
        assert_eq!(drover.download(&stranger, &ticket).await.0, 403);

        let results = drover.logistics.get("/v1/loads?query=hh-2041").by(&merchant).send().await.ok();
        assert_eq!(results, json!([load]));
        assert_eq!(drover.logistics.get("/v1/loads").by(&stranger).send().await.ok(), json!([]));

        let signed = drover.upload(&haulier, "weighbridge", "signed").await;
        let path = format!("/v1/loads/{}/proof-of-delivery", id_of(&load));
        let proof = json!({
            "weightNet": 29.1, "ticketNumber": "T-77", "vehicleRegistration": "vx21 abc", "files": [{"id": signed}],
        });
        drover.logistics.post(&path).by(&haulier).json(&proof).send().await.ok();
        let path = format!("/v1/loads/{}", id_of(&load));
        let completed = drover.logistics.get(&path).by(&merchant).send().await.ok();
        assert_eq!(completed["status"], "completed");
        assert_eq!(completed["files"].as_array().unwrap().len(), 2);
        assert_eq!(drover.download(&merchant, &signed).await, (200, photograph("signed")));
        assert_eq!(drover.logistics.get(&path).by(&stranger).send().await.error(403), "forbidden");
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
