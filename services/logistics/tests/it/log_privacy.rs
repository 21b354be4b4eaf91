//! Logs contain no personal data, whether requests succeed or fail.

use reqwest::multipart::{Form, Part};
use testkit::{PERSONAL_DATA, Process, TestDatabase, user_with_personal_data};

use super::*;

testkit::on_both! {
    async fn logs_contain_no_personal_data(backend) {
        let (database, system) = (TestDatabase::new::<Logistics>(backend).await, SystemStub::start().await);
        let service = Process::start(
            env!("CARGO_BIN_EXE_logistics"),
            &[("DATABASE__URL", &database.url), ("SERVICE__SYSTEM_URL", &system.url())],
        );
        service.enable_trace_logs().await;
        let (user, text) = (user_with_personal_data(), PERSONAL_DATA);
        let files = json!([{"id": system.add("ottilie-passport.jpg", &user)}]);
        let form = json!({
            "organiserId": "quarrington-farm", "organiserName": text, "commodityId": 1, "reference": "Quarrington QX19",
            "deliveryDateISO": "2026-03-01", "weight": 1, "weightNet": null, "files": files, "tags": ["Ottilie"],
            "vehicleRegistration": "QX19 ZZZ", "ticketNumber": "Ottilie 1",
        });
        let call = |method: &str, path: &str| service.call(method, path).by(&user);
        let load = call("POST", "/v1/loads/organiser").json(&form).send().await.ok();
        let id = load["id"].as_str().unwrap();
        let csv = format!(
            "reference,deliveryDateISO,commodityName,organiserId,organiserName,pickupPostcode\n\
             QX19,2026-03-01,Feed Wheat,quarrington-farm,\"{text}\",ZE1 0AA\nQX19,Ottilie,\"{text}\",,,ZE1 0\n"
        );
        let part = Part::bytes(csv.into_bytes()).file_name("ottilie-passport.csv");
        let batch = Form::new().part("file", part);
        assert_eq!(call("POST", "/v1/loads/batch").form(batch).send().await.status, 400);
        for to in ["driver", "carrier"] {
            let form = json!({"loadId": id, format!("{to}Id"): "ottilie-driver", "carrierName": text});
            call("POST", &format!("/v1/loads/send-to-{to}")).json(&form).send().await.ok();
        }
        let proof = json!({"weightNet": 1, "ticketNumber": "Ottilie 2", "vehicleRegistration": "QX19 ZZZ", "files": files});
        call("POST", &format!("/v1/loads/{id}/proof-of-delivery")).json(&proof).send().await.ok();
        for query in [format!("query={text}"), "format=CSV".into(), format!("f:carrierId={text}")] {
            assert_eq!(call("GET", &format!("/v1/loads?{query}")).send().await.status, 200);
        }
        // Waits until the notifications are written to the log, without their recipients.
        testkit::wait_until(async || database.count("notifications WHERE status <> 'delivered'") == 0).await;
        service.export_and_erase(&user).await;
        let operations = [
            "POST /v1/loads/organiser", "POST /v1/loads/carrier", "POST /v1/loads/batch", "POST /v1/loads/send-to-driver",
            "POST /v1/loads/proof-of-delivery", "GET /v1/loads", "GET /v1/loads/by-ids", "PUT /v1/settings",
        ];
        service.send_malformed_requests(&operations).await;
        database.execute("DROP TABLE loads");
        let without = without(form, "files");
        assert_eq!(call("POST", "/v1/loads/organiser").json(&with(without, "files", Value::Null)).send().await.status, 500);
        service.send_malformed_requests(&operations[5..]).await;
        service.assert_no_personal_data(&[200, 400, 401, 403, 404, 413, 415, 500]);
    }

    async fn exports_and_erasures_are_logged_without_the_user(backend) {
        let database = TestDatabase::new::<Logistics>(backend).await;
        let service = Process::start(env!("CARGO_BIN_EXE_logistics"), &[("DATABASE__URL", &database.url)]);
        let user = user_with_personal_data();
        let form = with(organiser_form(), "organiserId", json!("quarrington-farm"));
        service.call("POST", "/v1/loads/organiser").by(&user).json(&form).send().await.ok();
        service.export_and_erase(&user).await;
        let log = service.log();
        for message in ["personal data of a user was exported", "personal data of a user was erased"] {
            assert!(log.contains(message), "{message:?} is not in {log}");
        }
        assert!(!log.to_lowercase().contains("ottilie"), "{log}");
    }
}
