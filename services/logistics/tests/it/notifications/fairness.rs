//! Organisations take turns in delivery.

use super::*;

/// Sends a load of this organisation to this driver.
fn sending(app: &App, organisation: &str, load: &str, driver: &str) -> impl Future<Output = ()> + use<> {
    let form = json!({"loadId": load, "driverId": driver});
    let call = app.post("/v1/loads/send-to-driver").by(&User::of(organisation)).json(&form);
    async move { drop(call.send().await.ok()) }
}

/// A load that this organisation carries for itself.
async fn load_of(app: &App, organisation: &str) -> String {
    let form = with(without(carrier_form(), "organisationId"), "carrierId", json!(organisation));
    let load = app.post("/v1/loads/carrier").by(&User::of(organisation)).json(&form).send().await.ok();
    load["id"].as_str().unwrap().to_owned()
}

testkit::on_both! {
    async fn many_of_one_organisation_delay_anothers_by_one_slot(backend) {
        let receiver = Receiver::start(answer(200).set_delay(Duration::from_millis(300))).await;
        let app = App::start::<Logistics>(backend, receiver.settings()).await;
        let (many, one) = (load_of(&app, "many").await, load_of(&app, "one").await);
        let mut sends = tokio::task::JoinSet::new();
        for n in 0..400 {
            if sends.len() >= 16 {
                sends.join_next().await.unwrap().unwrap();
            }
            sends.spawn(sending(&app, "many", &many, &format!("driver-{n}")));
        }
        sends.join_all().await;
        let before = receiver.requests().await.len();
        sending(&app, "one", &one, "dai").await;
        settled_of(&app, "one", &one, "delivered").await;
        let requests = receiver.requests().await;
        let of_one = |request: &Request| String::from_utf8_lossy(&request.body).contains("\"dai\"");
        let place = requests.iter().position(of_one).unwrap();
        assert!(place <= before + 40, "{before} before, and it was number {place}");
        assert!(requests.len() < 401, "the many were all delivered before");
    }

    async fn a_receiver_that_hangs_for_one_organisation_holds_its_slots_only(backend) {
        let receiver = Receiver::start(|request: &Request| {
            let hangs = String::from_utf8_lossy(&request.body).contains("\"recipientId\":\"slow-");
            answer(200).set_delay(if hangs { Duration::from_secs(3600) } else { Duration::ZERO })
        });
        let receiver = receiver.await;
        let settings = Settings { webhook_timeout_ms: 300_000, ..receiver.settings() };
        let app = App::start::<Logistics>(backend, settings).await;
        let (many, one) = (load_of(&app, "many").await, load_of(&app, "one").await);
        for n in 0..40 {
            sending(&app, "many", &many, &format!("slow-{n}")).await;
        }
        receiver.has(16).await;
        let begun = Instant::now();
        sending(&app, "one", &one, "dai").await;
        settled_of(&app, "one", &one, "delivered").await;
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        assert_eq!(receiver.requests().await.len(), 17);
    }
}
