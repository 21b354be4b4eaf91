//! Fair delivery across organisations.

use super::*;

/// Returns a future that sends a load of this organisation to this driver.
fn sending(app: &App, organisation: &str, load: &str, driver: &str) -> impl Future<Output = ()> + use<> {
    let form = json!({"loadId": load, "driverId": driver});
    let call = app.post("/v1/loads/send-to-driver").by(&User::of(organisation)).json(&form);
    async move { drop(call.send().await.ok()) }
}

/// Creates loads of this organisation, for sendings to this many drivers.
async fn create_loads_of(app: &App, organisation: &str, drivers: usize) -> Vec<String> {
    let mut loads = Vec::new();
    for _ in 0..drivers.div_ceil(20) {
        loads.push(create_load_of(app, organisation).await);
    }
    loads
}

/// Creates a load whose carrier is this organisation.
async fn create_load_of(app: &App, organisation: &str) -> String {
    let form = with(without(carrier_form(), "organisationId"), "carrierId", json!(organisation));
    let load = app.post("/v1/loads/carrier").by(&User::of(organisation)).json(&form).send().await.ok();
    load["id"].as_str().unwrap().to_owned()
}

testkit::on_both! {
    async fn a_backlog_of_one_organisation_delays_others_by_one_rotation(backend) {
        // 16 slots deliver eight notifications per second, fewer than the slowest machine sends.
        let receiver = Receiver::start(respond_with(200).set_delay(Duration::from_secs(2))).await;
        let app = App::start::<Logistics>(backend, receiver.settings()).await;
        let (many, one) = (create_loads_of(&app, "many", 400).await, create_load_of(&app, "one").await);
        let mut sends = tokio::task::JoinSet::new();
        for n in 0..400 {
            if sends.len() >= 16 {
                sends.join_next().await.unwrap().unwrap();
            }
            sends.spawn(sending(&app, "many", &many[n / 20], &format!("driver-{n}")));
        }
        sends.join_all().await;
        let before = receiver.requests().await.len();
        sending(&app, "one", &one, "dai").await;
        wait_for_status_as(&app, "one", &one, "delivered").await;
        let requests = receiver.requests().await;
        let of_one = |request: &Request| String::from_utf8_lossy(&request.body).contains("\"dai\"");
        let place = requests.iter().position(of_one).unwrap();
        assert!(place <= before + 40, "{before} before, and it was number {place}");
        assert!(requests.len() < 401, "the whole backlog was delivered first");
    }

    async fn hanging_deliveries_of_one_organisation_leave_slots_for_others(backend) {
        let receiver = Receiver::start(|request: &Request| {
            let hangs = String::from_utf8_lossy(&request.body).contains("\"recipientId\":\"slow-");
            respond_with(200).set_delay(if hangs { Duration::from_secs(3600) } else { Duration::ZERO })
        });
        let receiver = receiver.await;
        let settings = Settings { webhook_timeout_ms: 300_000, ..receiver.settings() };
        let app = App::start::<Logistics>(backend, settings).await;
        let (many, one) = (create_loads_of(&app, "many", 40).await, create_load_of(&app, "one").await);
        for n in 0..40 {
            sending(&app, "many", &many[n / 20], &format!("slow-{n}")).await;
        }
        receiver.wait_for(16).await;
        let started = Instant::now();
        sending(&app, "one", &one, "dai").await;
        wait_for_status_as(&app, "one", &one, "delivered").await;
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
        assert_eq!(receiver.requests().await.len(), 17);
    }
}
