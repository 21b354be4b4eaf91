//! Editing a load while somebody else does.

use super::*;

/// Changes a load as its organiser does with another program.
async fn patch(office: &Office, id: &str, members: &Value) {
    office.logistics.call("PATCH", &format!("/v1/loads/{id}")).by(&owen()).json(members).send().await.ok();
}

#[test]
fn an_edit_changes_what_was_changed() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = office.create_load(&json!({})).await;
        let browser = office.browser("owen").await;
        let path = format!("/loads/{id}/edit");
        let changes =
            [("reference", "BG-2"), ("weight", "28,5"), ("tags", "harvest, late"), ("pickupPostcode", "")];
        let reply = browser.fill(&path, &path, &changes).await;
        assert_eq!(
            (reply.status, reply.location()),
            (303, format!("/loads/{id}?done=edit").as_str()),
            "{}",
            reply.text
        );
        let load = office.load(&id).await;
        assert_eq!((&load["reference"], &load["weight"]["weight"]), (&json!("BG-2"), &json!(28.5)));
        assert_eq!((&load["tags"], load.get("pickupPostcode")), (&json!(["harvest", "late"]), None));
        assert_eq!(load["deliveryDateISO"], "2026-08-03T00:00:00.000Z");
        let revision = load["revision"].clone();
        assert_eq!(browser.fill(&path, &path, &[]).await.status, 303);
        assert_eq!(office.load(&id).await["revision"], revision, "nothing was sent");
        let text = browser.get(&format!("/loads/{id}")).await.ok();
        assert!(text.contains("<del>BG-1</del>") && text.contains("<ins>BG-2</ins>"), "{text}");

        let reply = browser.fill(&path, &path, &[("carrierId", "dales-bulk")]).await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        assert_eq!(office.load(&id).await["carrier"]["id"], "dales-bulk");
        let reply = browser.fill(&path, &path, &[("carrierId", ""), ("carrierName", "")]).await;
        assert_eq!((reply.status, office.load(&id).await.get("carrier")), (303, None), "{}", reply.text);
    });
}

#[test]
fn what_only_one_changed_is_merged_without_asking() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = office.create_load(&json!({})).await;
        let browser = office.browser("owen").await;
        let path = format!("/loads/{id}/edit");
        let form = browser.get(&path).await;
        patch(&office, &id, &json!({"vehicleRegistration": "VX21 ABC", "tags": ["early"]})).await;
        let reply = browser.send_form(&form, &path, &[("reference", "BG-2")]).await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        let load = office.load(&id).await;
        assert_eq!((&load["reference"], &load["vehicleRegistration"]), (&json!("BG-2"), &json!("VX21 ABC")));
        assert_eq!(load["tags"], json!(["early"]));
        // A change of the status blocks no edit either.
        let form = browser.get(&path).await;
        let collected = json!({"weightNet": 29});
        office
            .logistics
            .post(&format!("/v1/loads/{id}/collection"))
            .by(&ruth())
            .json(&collected)
            .send()
            .await
            .ok();
        let reply = browser.send_form(&form, &path, &[("reference", "BG-3")]).await;
        assert_eq!(
            (reply.status, &office.load(&id).await["reference"]),
            (303, &json!("BG-3")),
            "{}",
            reply.text
        );
    });
}

#[test]
fn what_both_changed_is_asked_about() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = office.create_load(&json!({})).await;
        let browser = office.browser("owen").await;
        let path = format!("/loads/{id}/edit");
        for (choice, reference) in [("mine", "MINE"), ("theirs", "THEIRS")] {
            let form = browser.get(&path).await;
            patch(&office, &id, &json!({"reference": "THEIRS", "ticketNumber": format!("T-{choice}")})).await;
            let reply = browser.send_form(&form, &path, &[("reference", "MINE"), ("weight", "27")]).await;
            assert_eq!(reply.status, 412);
            for shown in ["Somebody else changed it too", "Keep mine: <b>MINE", "Take theirs: <b>THEIRS"] {
                assert!(reply.text.contains(shown), "{shown}: {}", reply.text);
            }
            assert!(reply.text.contains(&format!("value=\"T-{choice}\"")), "what only they changed is shown");
            assert!(!reply.text.contains("choice.weight") && !reply.text.contains("choice.ticketNumber"));
            assert_eq!(office.load(&id).await["reference"], "THEIRS", "nothing is overwritten");
            let reply = browser.send_form(&reply, &path, &[("choice.reference", choice)]).await;
            assert_eq!(reply.status, 303, "{}", reply.text);
            let load = office.load(&id).await;
            assert_eq!(
                (&load["reference"], load["weight"]["weight"].as_f64()),
                (&json!(reference), Some(27.0))
            );
            assert_eq!(load["ticketNumber"], format!("T-{choice}"));
            patch(&office, &id, &json!({"reference": "BG-1", "weight": 29})).await;
        }
    });
}
