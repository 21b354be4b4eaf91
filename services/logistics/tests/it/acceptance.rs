//! Acceptance by the organiser of loads that their carrier created.

use super::*;

const HEADER: &str =
    "reference,deliveryDateISO,commodityId,organiserId,organiserName,carrierId,carrierName\n";

/// Submits a proof of delivery.
async fn prove(app: &App, user: &User, id: &str) {
    let proof = json!({"weightNet": 1, "ticketNumber": "T", "vehicleRegistration": "V", "files": null});
    app.post(&format!("/v1/loads/{id}/proof-of-delivery")).by(user).json(&proof).send().await.ok();
}

/// Returns the references in the user's export of completed loads, sorted.
async fn completed_references(app: &App, user: &User) -> Vec<String> {
    let loads = app.get("/v1/loads/completed?format=JSON").by(user).send().await.ok();
    let mut references: Vec<_> =
        loads.as_array().unwrap().iter().map(|load| load["reference"].as_str().unwrap().to_owned()).collect();
    references.sort();
    references
}

testkit::on_both! {
    async fn organisers_export_loads_of_carriers_after_acceptance(backend) {
        let app = app(backend).await;
        let (grain, haul, admin) = (User::of("grain"), User::of("haul"), User::admin());
        let id = create_load(&app).await;
        prove(&app, &haul, &id).await;
        assert_eq!(completed_references(&app, &grain).await, [""; 0]);
        for user in [&haul, &admin] {
            assert_eq!(completed_references(&app, user).await, ["HH-1"]);
        }
        let loads = app.get("/v1/loads?f:status=completed").by(&grain).send().await.ok();
        assert_eq!(loads[0]["id"], id.as_str(), "searches list it");

        let path = format!("/v1/loads/{id}/accept");
        assert_eq!(app.post(&path).send().await.error(401), "unauthenticated");
        for user in [&haul, &admin, &User::of("stranger"), &User::individual("nobody")] {
            assert_eq!(app.post(&path).by(user).send().await.error(403), "forbidden");
        }
        for unknown in ["nonsense", "0190f5fe-0000-7000-8000-000000000000"] {
            let reply = app.post(&format!("/v1/loads/{unknown}/accept")).by(&grain).send().await;
            assert_eq!(reply.error(404), "not_found");
        }
        assert_eq!(completed_references(&app, &grain).await, [""; 0]);
        let mut acting_admin = User::of("grain");
        acting_admin.claims["roles"] = json!(["admin"]);
        for user in [&grain, &grain, &acting_admin] {
            let answer = app.post(&path).by(user).send().await.ok();
            assert_eq!((&answer["status"], answer["message"].is_string()), (&json!("success"), true));
            assert_eq!(completed_references(&app, &grain).await, ["HH-1"]);
        }
    }

    async fn loads_created_by_the_organiser_or_an_admin_need_no_acceptance(backend) {
        let app = app(backend).await;
        let (grain, haul, admin) = (User::of("grain"), User::of("haul"), User::admin());
        // An administrator with the carrier's organisation creates loads like the carrier.
        let mut acting_admin = User::of("haul");
        acting_admin.claims["roles"] = json!(["admin"]);
        let mut ids = Vec::new();
        let own_transport = with(carrier_form(), "carrierId", json!("grain"));
        for (user, path, form, reference) in [
            (&grain, "organiser", organiser_form(), "own"),
            (&admin, "organiser", organiser_form(), "admin's"),
            (&admin, "carrier", carrier_form(), "admin's of the carrier"),
            (&grain, "carrier", own_transport, "own, as carrier"),
            (&haul, "carrier", carrier_form(), "haul's"),
            (&acting_admin, "carrier", carrier_form(), "haul's admin's"),
        ] {
            let form = with(form, "reference", json!(reference));
            let load = app.post(&format!("/v1/loads/{path}")).by(user).json(&form).send().await.ok();
            ids.push(load["id"].as_str().unwrap().to_owned());
        }
        for (user, reference) in [(&grain, "grain's row"), (&haul, "haul's row")] {
            let file = format!("{HEADER}{reference},2026-03-01,1,grain,Grain,haul,Haulage\n");
            let result = batch::send(&app, user, batch::form(&[file.as_bytes()])).await.ok();
            ids.push(result["ids"][0].as_str().unwrap().to_owned());
        }
        for id in &ids {
            prove(&app, &admin, id).await;
        }
        let accepted = ["admin's", "admin's of the carrier", "grain's row", "own", "own, as carrier"];
        assert_eq!(completed_references(&app, &grain).await, accepted);
        for id in &ids {
            app.post(&format!("/v1/loads/{id}/accept")).by(&grain).send().await.ok();
        }
        assert_eq!(completed_references(&app, &grain).await.len(), 8);
    }
}
