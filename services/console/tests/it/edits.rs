//! Editing a load while somebody else does.

use super::*;

/// A load, and its organiser's browser, before an edit.
struct Editing {
    office: Office,
    id: String,
    browser: Browser,
    /// The address of the form.
    path: String,
}

impl Editing {
    async fn start() -> Self {
        let office = Office::start().await;
        let id = office.create_load(&json!({})).await;
        let browser = office.browser("owen").await;
        let path = format!("/loads/{id}/edit");
        Self { office, id, browser, path }
    }
}

/// Changes a load as its organiser does with another program.
async fn patch(office: &Office, id: &str, members: &Value) {
    office.logistics.call("PATCH", &format!("/v1/loads/{id}")).by(&owen()).json(members).send().await.ok();
}

#[test]
fn an_edit_changes_what_was_changed() {
    testkit::block_on(async {
        let Editing { office, id, browser, path } = Editing::start().await;
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

        let reply = browser
            .fill(&path, &path, &[("carrierId", "dales-bulk"), ("sure.carrierId", "dales-bulk")])
            .await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        assert_eq!(office.load(&id).await["carrier"]["id"], "dales-bulk");
        let reply = browser.fill(&path, &path, &[("carrierId", ""), ("carrierName", "")]).await;
        assert_eq!((reply.status, office.load(&id).await.get("carrier")), (303, None), "{}", reply.text);
    });
}

#[test]
fn what_only_one_changed_is_merged_without_asking() {
    testkit::block_on(async {
        let Editing { office, id, browser, path } = Editing::start().await;
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
        let Editing { office, id, browser, path } = Editing::start().await;
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

#[test]
fn an_error_of_ones_own_does_not_hide_what_somebody_else_changed() {
    testkit::block_on(async {
        let Editing { office, id, browser, path } = Editing::start().await;
        let form = browser.get(&path).await;
        patch(&office, &id, &json!({"weight": 30})).await;
        let reply = browser.send_form(&form, &path, &[("weight", "31 t")]).await;
        assert_eq!(reply.status, 400, "{}", reply.text);
        let asked = browser.send_form(&reply, &path, &[("weight", "31")]).await;
        assert_eq!(asked.status, 412, "{}", asked.text);
        let unanswered = browser.send_form(&asked, &path, &[]).await;
        assert_eq!(unanswered.status, 412, "an answer is needed: {}", unanswered.text);
        assert_eq!(office.load(&id).await["weight"]["weight"], json!(30));
        let reply = browser.send_form(&unanswered, &path, &[("choice.weight", "mine")]).await;
        assert_eq!((reply.status, &office.load(&id).await["weight"]["weight"]), (303, &json!(31)));
        // The name of a haulier without an id is an error, not lost.
        let reply = browser.fill(&path, &path, &[("carrierId", ""), ("carrierName", "Somebody")]).await;
        assert_eq!(reply.status, 400, "{}", reply.text);
    });
}

#[test]
fn what_a_collection_forbids_is_refused_and_not_left_out() {
    testkit::block_on(async {
        let Editing { office, id, browser, path } = Editing::start().await;
        let form = browser.get(&path).await;
        let collection = office.logistics.post(&format!("/v1/loads/{id}/collection")).by(&ruth());
        collection.json(&json!({"weightNet": 29})).send().await.ok();
        let reply = browser.send_form(&form, &path, &[("weight", "31")]).await;
        assert_eq!(reply.status, 409, "{}", reply.text);
        assert!(reply.text.contains("value=\"31\""), "{}", reply.text);
    });
}

#[test]
fn corrections_of_two_people_are_merged() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = office.create_load(&json!({})).await;
        let proof = json!({
            "weightNet": 29, "ticketNumber": "T-1", "vehicleRegistration": "VX21 ABC", "files": null,
            "quality": [{"measure": "moisture", "value": 14}, {"measure": "protein", "value": 11}],
        });
        let api = async |path: &str, body: &Value| {
            office.logistics.post(&format!("/v1/loads/{id}/{path}")).by(&owen()).json(body).send().await.ok()
        };
        api("proof-of-delivery", &proof).await;
        let browser = office.browser("owen").await;
        let path = format!("/loads/{id}/correct");
        let form = browser.get(&path).await;
        let quality = json!([{"measure": "moisture", "value": 14}, {"measure": "protein", "value": 12}]);
        let other = json!({"ticketNumber": "T-2", "quality": quality, "reason": "misread"});
        api("proof-of-delivery/corrections", &other).await;
        let mine = [("quality.moisture", "15"), ("reason", "Weighed again")];
        let reply = browser.send_form(&form, &path, &mine).await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        let load = office.load(&id).await;
        let measured = |index: usize| load["quality"][index]["value"].as_f64().unwrap();
        assert_eq!((&load["ticketNumber"], measured(0), measured(1)), (&json!("T-2"), 15.0, 12.0));
        // Both changed the ticket.
        let reply = browser.send_form(&form, &path, &[("ticketNumber", "T-3"), ("reason", "misread")]).await;
        assert_eq!(reply.status, 412, "{}", reply.text);
        assert!(reply.text.contains("Take theirs: <b>T-2"), "{}", reply.text);
        let reply = browser.fill(&path, &path, &[("weightNet", ""), ("reason", "none")]).await;
        assert!(reply.status == 400 && reply.text.contains("annot be emptied"), "{}", reply.text);
    });
}
