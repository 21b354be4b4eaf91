//! Requests that change a load while another one is being carried out.

use std::time::Duration;

use super::*;
use logistics::ToleranceAction;

/// Makes a request whose file is looked up, and `other` meanwhile. Returns the response of the first one.
async fn during_look_up(
    system: &SystemStub,
    request: impl Future<Output = TestResponse>,
    other: impl AsyncFnOnce(),
) -> TestResponse {
    let calls = system.calls().await.len();
    // The look-up is repeated after two seconds.
    system.delay(1, Duration::from_secs(30));
    let changes = async {
        while system.calls().await.len() == calls {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        other().await;
        system.delay(1, Duration::ZERO);
    };
    tokio::join!(request, changes).0
}

fn with_file(form: Value, file: &str) -> Value {
    with(form, "files", json!([{ "id": file }]))
}

/// Creates a load of 29 tonnes that `haul` enters for `grain`.
async fn create(app: &App) -> String {
    let form = with(with(carrier_form(), "weight", json!(29)), "deliveryDateISO", json!("2020-01-01"));
    let load = app.post("/v1/loads/carrier").by(&User::of("haul")).json(&form).send().await.ok();
    load["id"].as_str().unwrap().to_owned()
}

testkit::on_both! {
    async fn concurrent_corrections_leave_consistent_weights(backend) {
        let (app, system) = app_with_files(backend).await;
        let (id, haul) = (create(&app).await, User::of("haul"));
        let file = system.add("ticket.jpg", &haul);
        prove(&app, &haul, &id, &proof_form()).await.ok();
        let correct = async |form: Value| {
            let path = format!("/v1/loads/{id}/proof-of-delivery/corrections");
            app.post(&path).by(&haul).json(&form).send().await
        };
        let gross = with_file(json!({"weightGross": 44, "reason": "r"}), &file);
        let reply = during_look_up(&system, correct(gross), async || {
            correct(json!({"weightTare": 10, "reason": "r"})).await.ok();
        }).await;
        assert_eq!(reply.errors(), ["weightNet inconsistent"]);
        let load = app.get(&format!("/v1/loads/{id}")).by(&haul).send().await.ok();
        assert_eq!((load.get("weightGross"), &load["weightTare"]["weight"]), (None, &json!(10)));
        assert!(system.shares().await.is_empty());
    }

    async fn proofs_are_checked_against_the_load_as_it_is_then(backend) {
        let system = SystemStub::start().await;
        let settings = Settings {
            system_url: system.url(), weight_tolerance: ToleranceAction::Refuse, ..Settings::default()
        };
        let app = App::start::<Logistics>(backend, settings).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        let form = with(with_file(proof_form(), &system.add("t.jpg", &haul)), "capturedAtUTC", json!("2019-06-01"));
        for (members, expected) in [
            (json!({"weight": 20}), Some("weightNet inconsistent")),
            (json!({"deliveryDateISO": "2026-03-01"}), Some("capturedAtUTC range")),
            // The carrier that proves is replaced.
            (json!({"carrierId": "fast"}), None),
        ] {
            let id = create(&app).await;
            let reply = during_look_up(&system, prove(&app, &haul, &id, &form), async || {
                patch(&app, &grain, &id, &members).await.ok();
            }).await;
            match expected {
                Some(error) => assert_eq!(reply.errors(), [error]),
                None => assert_eq!(reply.error(403), "forbidden"),
            }
            let load = app.get(&format!("/v1/loads/{id}")).by(&grain).send().await.ok();
            assert_eq!((&load["status"], revision(&app, &id).await), (&json!("upcoming"), 2));
        }
        assert!(system.shares().await.is_empty());
    }

    async fn no_load_is_sent_after_it_was_cancelled(backend) {
        let app = app(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        for _ in 0..12 {
            let id = create_load(&app).await;
            let mut calls = tokio::task::JoinSet::new();
            for n in 0..4 {
                let form = json!({"loadId": id, "driverId": format!("driver-{n}")});
                calls.spawn(app.post("/v1/loads/send-to-driver").by(&haul).json(&form).send());
            }
            calls.spawn(app.post(&format!("/v1/loads/{id}/cancel")).by(&grain).send());
            let sent = calls.join_all().await.iter().filter(|reply| reply.status == 200).count() - 1;
            let history = events(&app, &id).await;
            let types: Vec<_> = history.iter().map(|event| event["type"].as_str().unwrap()).collect();
            assert_eq!((types.len(), types.last()), (sent + 2, Some(&"cancelled")), "{types:?}");
        }
    }
}
