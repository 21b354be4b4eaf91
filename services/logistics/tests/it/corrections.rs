//! Corrections of proofs of delivery.

use testkit::{file_ids, named_files};

use super::*;

async fn correct(app: &App, user: &User, id: &str, form: &Value) -> TestResponse {
    app.post(&format!("/v1/loads/{id}/proof-of-delivery/corrections")).by(user).json(form).send().await
}

/// Creates a load with a proof of delivery. Returns its id.
async fn create_proven(app: &App) -> String {
    let id = create_load(app).await;
    prove(app, &User::of("haul"), &id, &proof_form()).await.ok();
    id
}

testkit::on_both! {
    async fn corrections_replace_values_and_keep_the_old_ones_in_the_history(backend) {
        let app = app(backend).await;
        let (id, haul, grain) = (create_proven(&app).await, User::of("haul"), User::of("grain"));
        let proven = app.get(&format!("/v1/loads/{id}")).by(&haul).send().await.ok();
        let form = json!({"weightNet": 28, "weightGross": 43, "weightTare": 15, "ticketNumber": "T-2",
            "vehicleRegistration": "w 1", "reason": "The ticket was misread"});
        let load = correct(&app, &grain, &id, &form).await.ok();
        let mut expected = revised(proven, &load);
        for (member, value) in [("weightNet", tonnes(28.0)), ("weightGross", tonnes(43.0)), ("weightTare", tonnes(15.0)),
            ("ticketNumber", json!("T-2")), ("vehicleRegistration", json!("W 1"))] {
            expected[member] = value;
        }
        assert_eq!(load, expected);
        assert_eq!(app.get(&format!("/v1/loads/{id}")).by(&haul).send().await.ok(), load);
        let event = events(&app, &id).await.pop().unwrap();
        assert_eq!((&event["type"], &event["reason"]), (&json!("corrected"), &form["reason"]));
        assert_eq!(event["changes"], json!({
            "weightNet": {"from": 29, "to": 28}, "weightGross": {"to": 43}, "weightTare": {"to": 15},
            "ticketNumber": {"from": "T-1", "to": "T-2"}, "vehicleRegistration": {"from": "VX21 ABC", "to": "W 1"},
        }));

        // Repeats of the original and of the current values succeed and change nothing. Others are refused.
        let current = json!({"weightNet": 28, "weightGross": 43, "weightTare": 15, "ticketNumber": "T-2",
            "vehicleRegistration": "W 1", "files": null});
        for form in [&proof_form(), &current] {
            assert_eq!(prove(&app, &haul, &id, form).await.ok(), load);
        }
        assert_eq!(prove(&app, &haul, &id, &with(current, "weightNet", json!(28.01))).await.error(409), "conflict");
        for same in [json!({"weightNet": 28, "reason": "again"}), with(form.clone(), "reason", json!("again"))] {
            assert_eq!(correct(&app, &haul, &id, &same).await.ok(), load);
        }
        assert_eq!((events(&app, &id).await.len(), revision(&app, &id).await), (3, 3));

        // A value between two corrections is no longer a repeat, the original is.
        correct(&app, &User::admin(), &id, &json!({"ticketNumber": "T-3", "reason": "r"})).await.ok();
        assert_eq!(prove(&app, &haul, &id, &proof_form()).await.status, 200);
        let previous = json!({"weightNet": 28, "weightGross": 43, "weightTare": 15, "ticketNumber": "T-2",
            "vehicleRegistration": "W 1", "files": null});
        assert_eq!(prove(&app, &haul, &id, &previous).await.error(409), "conflict");
    }

    async fn invalid_corrections_are_refused(backend) {
        let app = app(backend).await;
        let (id, haul) = (create_proven(&app).await, User::of("haul"));
        for (form, errors) in [
            (json!({"reason": "r"}), &["weightNet required"][..]),
            (json!({"weightNet": 1}), &["reason required"]),
            (json!({"weightNet": 1, "reason": " "}), &["reason length"]),
            (json!({}), &["reason required", "weightNet required"]),
            (json!({"reason": "r", "weightGross": null, "files": null}), &["weightNet required"]),
            (json!({"reason": "r", "weightNet": 1001, "ticketNumber": "x".repeat(101)}), &["ticketNumber length", "weightNet range"]),
            (json!({"reason": "r", "weightNet": 10, "weightGross": 20, "weightTare": 5}), &["weightNet inconsistent"]),
            (json!({"reason": "r", "weightGross": 40, "weightTare": 5}), &["weightNet inconsistent"]),
        ] {
            assert_eq!(correct(&app, &haul, &id, &form).await.errors(), errors, "{form}");
        }
        correct(&app, &haul, &id, &json!({"reason": "r", "weightGross": 44})).await.ok();
        let inconsistent = json!({"reason": "r", "weightTare": 14});
        assert_eq!(correct(&app, &haul, &id, &inconsistent).await.errors(), ["weightNet inconsistent"]);
        correct(&app, &haul, &id, &json!({"reason": "r", "weightTare": 15})).await.ok();
        let upcoming = create_load(&app).await;
        let valid = json!({"reason": "r", "weightNet": 1});
        assert_eq!(correct(&app, &haul, &upcoming, &valid).await.error(409), "conflict");
        assert_eq!(correct(&app, &User::of("other"), &upcoming, &valid).await.error(403), "forbidden");
        assert_eq!(correct(&app, &haul, "0190f5fe-0000-7000-8000-000000000000", &valid).await.error(404), "not_found");
        // A net weight outside the tolerance.
        let form = with(carrier_form(), "weight", json!(29));
        let load = app.post("/v1/loads/carrier").by(&haul).json(&form).send().await.ok();
        let id = load["id"].as_str().unwrap();
        prove(&app, &haul, id, &proof_form()).await.ok();
        let corrected = correct(&app, &haul, id, &json!({"reason": "r", "weightNet": 50})).await.ok();
        assert_eq!(corrected["warnings"][0]["code"], "weight_differs");
    }

    async fn corrected_files_replace_those_of_the_proof(backend) {
        let (app, system) = app_with_files(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        let (contract, wrong, right) = (system.add("c.pdf", &grain), system.add("w.jpg", &haul), system.add("r.jpg", &haul));
        let form = with(organiser_form(), "files", named_files(&[&contract]));
        let load = app.post("/v1/loads/organiser").by(&grain).json(&form).send().await.ok();
        let id = load["id"].as_str().unwrap();
        patch(&app, &grain, id, &json!({"carrierId": "haul"})).await.ok();
        let original = with(proof_form(), "files", named_files(&[&wrong]));
        prove(&app, &haul, id, &original).await.ok();
        let load = correct(&app, &haul, id, &json!({"files": named_files(&[&right]), "reason": "wrong photo"})).await.ok();
        assert_eq!(file_ids(&load), [&contract, &right]);
        assert_eq!(system.shares().await.last().unwrap(), &json!({"ids": [right], "shareWith": ["grain", "haul"]}));
        assert_eq!(prove(&app, &haul, id, &original).await.ok(), load);
        // Files that the load has are not looked up again.
        system.archive(&contract);
        let kept = json!({"files": named_files(&[&right, &contract]), "reason": "r"});
        correct(&app, &haul, id, &kept).await.ok();
        let unknown = json!({"files": [{"id": "0190f5fe-0000-7000-8000-000000000000"}], "reason": "r"});
        for user in [&haul, &User::of("other")] {
            assert_eq!(correct(&app, user, id, &unknown).await.errors(), ["files[0].id unknown_reference"]);
        }
    }

    async fn a_correction_keeps_the_files_that_the_load_had_before_its_proof(backend) {
        let (app, system) = app_with_files(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        let (contract, photo) = (system.add("c.pdf", &grain), system.add("p.jpg", &haul));
        let form = with(organiser_form(), "files", named_files(&[&contract]));
        let load = app.post("/v1/loads/organiser").by(&grain).json(&form).send().await.ok();
        let id = load["id"].as_str().unwrap();
        patch(&app, &grain, id, &json!({"carrierId": "haul"})).await.ok();
        // The proof names the file of the load as well.
        let original = with(proof_form(), "files", named_files(&[&contract, &photo]));
        prove(&app, &haul, id, &original).await.ok();
        let load = correct(&app, &haul, id, &json!({"files": [], "reason": "wrong photo"})).await.ok();
        assert_eq!(file_ids(&load), [&contract]);
        assert_eq!(prove(&app, &haul, id, &original).await.ok(), load, "a repeat of the original proof");
        assert_eq!(prove(&app, &haul, id, &with(original, "files", json!([]))).await.ok(), load, "and of the current one");
    }
}
