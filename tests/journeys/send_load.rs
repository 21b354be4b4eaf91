//! Sending a load with its files, where `deploy/examples` do not reach.

use serde_json::json;

use super::*;

/// Creates a load of `grain` with this file and without carrier. Returns its id.
async fn create_load(drover: &Drover, file: &str) -> String {
    create_load_with(drover, &[file]).await
}

/// Like [`create_load`], with several files.
async fn create_load_with(drover: &Drover, files: &[&str]) -> String {
    let files: Vec<_> = files.iter().map(|id| json!({"id": id})).collect();
    let form = json!({
        "organiserId": "grain", "organiserName": "Border Grain", "commodityId": 2, "reference": "BG-1",
        "deliveryDateISO": "2026-03-01", "weight": 28, "weightNet": null, "tags": [], "files": files,
    });
    let load =
        drover.logistics.post("/v1/loads/organiser").by(&User::of("grain")).json(&form).send().await.ok();
    id_of(&load).to_owned()
}

testkit::on_both! {
    async fn a_carrier_with_the_id_star_does_not_make_files_public(backend) {
        let drover = Drover::start(backend).await;
        let merchant = User::of("grain");
        let contract = drover.upload(&merchant, "contract", "contract").await;
        let form = json!({"loadId": create_load(&drover, &contract).await, "carrierId": "*"});
        drover.logistics.post("/v1/loads/send-to-carrier").by(&merchant).json(&form).send().await;
        assert_eq!(drover.download(&User::of("stranger"), &contract).await.0, 403, "not shared with everybody");
    }

    async fn archived_files_do_not_prevent_sending(backend) {
        let drover = Drover::start(backend).await;
        let merchant = User::of("grain");
        let contract = drover.upload(&merchant, "contract", "contract").await;
        let id = create_load(&drover, &contract).await;
        drover.system.call("DELETE", &format!("/v1/files/{contract}")).by(&merchant).send().await.ok();
        let form = json!({"loadId": id, "carrierId": "haul"});
        drover.logistics.post("/v1/loads/send-to-carrier").by(&merchant).json(&form).send().await.ok();
        let load = drover.logistics.get(&format!("/v1/loads/{id}")).by(&User::of("haul")).send().await.ok();
        assert_eq!(load["carrier"]["name"], "haul");
    }

    async fn a_file_with_the_maximum_of_shares_does_not_prevent_sharing_others(backend) {
        let drover = Drover::start(backend).await;
        let (merchant, haulier) = (User::of("grain"), User::of("haul"));
        let full = drover.upload(&merchant, "contract", "full").await;
        let contract = drover.upload(&merchant, "contract", "contract").await;
        for call in 0..4 {
            let names: Vec<_> = (0..50).map(|n| format!("mill-{call}-{n}")).collect();
            let body = json!({"ids": [full], "shareWith": names});
            drover.system.post("/v1/files/resolve").by(&merchant).json(&body).send().await.ok();
        }
        let id = create_load_with(&drover, &[&full, &contract]).await;
        let form = json!({"loadId": id, "carrierId": "haul"});
        drover.logistics.post("/v1/loads/send-to-carrier").by(&merchant).json(&form).send().await.ok();
        assert_eq!(drover.download(&haulier, &full).await.0, 403);
        assert_eq!(drover.download(&haulier, &contract).await, (200, photograph("contract")));
    }

    async fn assigns_no_carrier_while_system_is_stopped(backend) {
        let drover = Drover::start(backend).await;
        let merchant = User::of("grain");
        let contract = drover.upload(&merchant, "contract", "contract").await;
        let id = create_load(&drover, &contract).await;
        let Drover { system, logistics, .. } = drover;
        system.stop().await;
        let form = json!({"loadId": id, "carrierId": "haul"});
        let reply = logistics.post("/v1/loads/send-to-carrier").by(&merchant).json(&form).send().await;
        assert_eq!(reply.error(503), "dependency_unavailable");
        let load = logistics.get(&format!("/v1/loads/{id}")).by(&merchant).send().await.ok();
        assert_eq!(load.get("carrier"), None);
        let sent = logistics.get(&format!("/v1/loads/{id}/notifications")).by(&merchant).send().await.ok();
        assert_eq!(sent, json!([]));
    }

    async fn a_driver_proves_delivery_with_a_photograph(backend) {
        let drover = Drover::start(backend).await;
        let (merchant, haulier, driver) = (User::of("grain"), User::of("haul"), User::individual("dai"));
        let contract = drover.upload(&merchant, "contract", "contract").await;
        let id = create_load(&drover, &contract).await;
        let form = json!([{"loadId": id, "carrierId": "haul"}]);
        drover.logistics.post("/v1/loads/send-to-carrier").by(&merchant).json(&form).send().await.ok();
        let form = json!([{"loadId": id, "driverId": "dai"}]);
        drover.logistics.post("/v1/loads/send-to-driver").by(&haulier).json(&form).send().await.ok();

        let signed = drover.upload(&driver, "weighbridge", "signed").await;
        let proof = json!({
            "weightNet": 27.9, "ticketNumber": "T-78", "vehicleRegistration": "CX70 DAI", "files": [{"id": signed}],
            "capturedAtUTC": "2026-03-01T16:20:00Z",
        });
        let path = format!("/v1/loads/{id}/proof-of-delivery");
        let load = drover.logistics.post(&path).by(&driver).json(&proof).send().await.ok();
        assert_eq!(load["completedAtUTC"], "2026-03-01T16:20:00.000Z");
        assert_eq!(load["files"].as_array().unwrap().len(), 2);
        for party in [&merchant, &haulier] {
            assert_eq!(drover.download(party, &signed).await, (200, photograph("signed")));
        }
        let csv = drover.logistics.get("/v1/loads/completed").by(&merchant).send().await.text();
        assert!(csv.contains(&format!("{contract};{signed}")), "{csv}");
    }
}
