//! Messages for refused dates: the expected form and an example, in bodies, query parameters and batches.

use super::*;

const FORMS: &str = "a date such as 2026-03-01 or a date-time with offset such as 2026-03-01T09:30:00Z";

/// Returns the message for a path of a refused request.
fn message(reply: &TestResponse, path: &str) -> String {
    let body = reply.json();
    let entries = body["validation"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["path"] == path);
    entry.unwrap_or_else(|| panic!("{path}: {body}"))["message"].as_str().unwrap().to_owned()
}

testkit::on_both! {
    async fn messages_state_the_form_and_an_example(backend) {
        let app = app(backend).await;
        let (grain, id) = (User::of("grain"), create_load(&app).await);
        for other in [json!(20_260_301), json!(true), json!({"year": 2026})] {
            let form = with(organiser_form(), "deliveryDateISO", other.clone());
            let created = app.post("/v1/loads/organiser").by(&grain).json(&form).send().await;
            let patched = patch(&app, &grain, &id, &json!({"deliveryDateISO": other})).await;
            for reply in [created, patched] {
                assert!(message(&reply, "deliveryDateISO").contains(FORMS), "{}", reply.text());
                assert_eq!(reply.errors(), ["deliveryDateISO type"]);
            }
        }
        for text in ["01/03/2026", "tomorrow", "2026-03-01T09:30:00", "2026-02-30"] {
            let form = with(organiser_form(), "deliveryDateISO", json!(text));
            let created = app.post("/v1/loads/organiser").by(&grain).json(&form).send().await;
            let patched = patch(&app, &grain, &id, &json!({"deliveryDateISO": text})).await;
            let proven = super::prove(&app, &grain, &id, &with(proof_form(), "capturedAtUTC", json!(text))).await;
            let found = app.get(&format!("/v1/loads?startDateISO={text}&endDateISO={text}")).by(&grain).send().await;
            let exported = app.get(&format!("/v1/loads/completed?endDateISO={text}")).by(&grain).send().await;
            let batch = batch::send_file(&app, batch::VALID_CSV.replace("2026-03-01,", &format!("{text},"))).await;
            for (reply, path) in [
                (&created, "deliveryDateISO"), (&patched, "deliveryDateISO"), (&proven, "capturedAtUTC"),
                (&found, "startDateISO"), (&found, "endDateISO"), (&exported, "endDateISO"),
                (&batch, "rows[0].deliveryDateISO"),
            ] {
                assert!(message(reply, path).contains(FORMS), "{text} {path}: {}", reply.text());
            }
        }
    }
}
