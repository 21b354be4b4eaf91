//! A program of an organisation gets tokens as a service account and uses them in all services.

use std::process::Command;

use serde_json::json;
use testkit::processes::process::output;
use testkit::processes::tools;

use super::*;

/// Creates a service account of an organisation. Returns it with its secret.
async fn create(drover: &Drover, organisation: &str, roles: &[&str]) -> Value {
    let form = json!({"name": "Weighbridge", "roles": roles});
    let user = User::of(organisation);
    drover.system.post("/v1/service-accounts").by(&user).json(&form).send().await.ok()
}

/// Returns a token of a service account.
async fn token(drover: &Drover, account: &Value) -> String {
    let [id, secret] = ["clientId", "clientSecret"].map(|name| account[name].as_str().unwrap());
    let form = format!("grant_type=client_credentials&client_id={id}&client_secret={secret}");
    let request = drover.system.post("/v1/token").body("application/x-www-form-urlencoded", form);
    request.send().await.ok()["access_token"].as_str().unwrap().to_owned()
}

/// Creates a load of `grain` that `haul` carries. Returns its id.
async fn create_load(drover: &Drover) -> String {
    let form = json!({
        "organiserId": "grain", "organiserName": "Border Grain", "commodityId": 1, "reference": "BG-7", "deliveryDateISO": "2026-03-01", "weight": 29, "weightNet": null, "tags": [], "files": [],
    });
    let grain = User::of("grain");
    let load = drover.logistics.post("/v1/loads/organiser").by(&grain).json(&form).send().await.ok();
    let sent = json!({"loadId": load["id"], "carrierId": "haul"});
    drover.logistics.post("/v1/loads/send-to-carrier").by(&grain).json(&sent).send().await.ok();
    id_of(&load).to_owned()
}

testkit::on_both! {
    async fn a_weighbridge_uploads_a_ticket_and_proves_the_delivery(backend) {
        let drover = Drover::start(backend).await;
        let load = create_load(&drover).await;
        let account = create(&drover, "haul", &["weighbridge"]).await;
        let bearer = token(&drover, &account).await;
        let part = Part::bytes(photograph("x")).file_name("ticket.jpg").mime_str("image/jpeg").unwrap();
        let form = Form::new().text("bucket", "images").text("type", "weighbridge").text("name", "ticket");
        let upload = drover.system.post("/v1/files").bearer(&bearer).form(form.part("file", part));
        let ticket = upload.send().await.ok();
        // Logistics shares the ticket with the organiser, with the token of the account.
        let proof = json!({
            "weightNet": 29, "ticketNumber": "T-1", "vehicleRegistration": "VX21 ABC", "files": [{"id": ticket["id"]}],
        });
        let path = format!("/v1/loads/{load}");
        let prove = drover.logistics.post(&format!("{path}/proof-of-delivery")).bearer(&bearer).json(&proof);
        prove.send().await.ok();
        let events = drover.logistics.get(&format!("{path}/events")).bearer(&bearer).send().await.ok();
        let last = events.as_array().unwrap().iter().find(|event| event["type"] == "completed").unwrap();
        assert_eq!((&last["userName"], &last["organisationId"]), (&json!("Weighbridge"), &json!("haul")));
        assert_eq!(last["userId"], format!("service-account:{}", id_of(&account)));
        assert_eq!(drover.download(&User::of("grain"), id_of(&ticket)).await.0, 200);

        let edit = drover.logistics.call("PATCH", &path).bearer(&bearer).json(&json!({"reference": "x"}));
        assert_eq!(edit.send().await.error(403), "forbidden");
        let listings = drover.livestock.get("/v1/listings").bearer(&bearer).send().await;
        assert_eq!(listings.error(403), "forbidden");
        let viewer = create(&drover, "haul", &["viewer"]).await;
        let viewer = token(&drover, &viewer).await;
        drover.livestock.get("/v1/listings").bearer(&viewer).send().await.ok();
        drover.logistics.get(&path).bearer(&viewer).send().await.ok();
        let stranger = create(&drover, "stranger", &[]).await;
        let stranger = token(&drover, &stranger).await;
        assert_eq!(drover.logistics.get(&path).bearer(&stranger).send().await.error(403), "forbidden");
    }

    async fn services_accept_tokens_of_a_new_key_at_once(backend) {
        let drover = Drover::start(backend).await;
        let account = create(&drover, "grain", &[]).await;
        let mut tokens = Vec::new();
        for _ in 0..3 {
            tokens.push(token(&drover, &account).await);
            for token in &tokens {
                for (app, path) in [(&drover.logistics, "/v1/loads"), (&drover.livestock, "/v1/listings")] {
                    app.get(path).bearer(token).send().await.ok();
                }
            }
            let clear = json!({"secrets": true});
            drover.system.post("/v1/cache").by(&User::admin()).json(&clear).send().await.ok();
        }
    }

    async fn oauth_clients_work_unchanged(backend) {
        let drover = Drover::start(backend).await;
        create_load(&drover).await;
        let account = create(&drover, "grain", &["viewer"]).await;
        for (program, source) in [("python3", "client.py"), ("node", "client.mjs")] {
            let mut command = Command::new(tools::find(program).unwrap());
            command.arg(format!("{}/oauth/{source}", env!("CARGO_MANIFEST_DIR")));
            command.env("SYSTEM", &drover.system.url).env("LOGISTICS", &drover.logistics.url);
            for (variable, name) in [("CLIENT_ID", "clientId"), ("CLIENT_SECRET", "clientSecret")] {
                command.env(variable, account[name].as_str().unwrap());
            }
            let printed = tokio::task::spawn_blocking(move || output(&mut command)).await.unwrap().unwrap();
            assert!(printed.contains("client_secret_basic loads 1"), "{source}: {printed}");
        }
    }
}
