//! Delivery across replicas, restarts and outages.

use std::collections::HashSet;

use futures_util::future::join_all;
use testkit::{Process, TestDatabase};

use super::*;

const SENDS: usize = 300;

#[test]
fn two_replicas_on_postgres_deliver_each_notification_once() {
    testkit::block_on(async {
        let receiver = Receiver::start(respond_with(200).set_delay(Duration::from_millis(20))).await;
        let settings = |which| Settings {
            webhook_secrets: vec![secret(which).into()],
            // An attempt that takes long on a busy machine is not made again.
            webhook_timeout_ms: 120_000,
            ..receiver.settings()
        };
        let first = App::start::<Logistics>(Backend::Postgres, settings(1)).await;
        let second = App::start_replica::<Logistics>(&first, settings(2)).await;
        let mut loads = Vec::new();
        for _ in 0..SENDS.div_ceil(20) {
            loads.push(create_load(&first).await);
        }
        // Sendings at the same time are of different loads. A busy service refuses some, which are repeated.
        let send = async |n: usize| {
            let app = if n.is_multiple_of(2) { &first } else { &second };
            let form = json!({"loadId": loads[n % loads.len()], "driverId": format!("driver-{n}")});
            wait_until(async || {
                let sent =
                    app.post("/v1/loads/send-to-driver").by(&User::of("haul")).json(&form).send().await;
                assert!([200, 503].contains(&sent.status), "{}", sent.text());
                sent.status == 200
            })
            .await;
        };
        for round in 0..SENDS.div_ceil(loads.len()) {
            let numbers = round * loads.len()..((round + 1) * loads.len()).min(SENDS);
            join_all(numbers.map(&send)).await;
        }
        let mut entries = Vec::new();
        wait_until(async || {
            entries.clear();
            for load in &loads {
                entries.extend(delivery_log(&first, load).await);
            }
            entries.iter().all(|entry| entry["status"] == "delivered")
        })
        .await;
        assert_eq!(entries.len(), SENDS);
        assert!(entries.iter().all(|entry| entry["attempts"] == 1));
        let requests = receiver.requests().await;
        let ids: HashSet<_> = requests.iter().map(|request| header(request, "webhook-id")).collect();
        assert_eq!((requests.len(), ids.len()), (SENDS, SENDS));
        let signed =
            |which| requests.iter().filter(|r| header(r, "webhook-signature") == signature(r, which)).count();
        let shares = (signed(1), signed(2));
        assert_eq!(shares.0 + shares.1, SENDS);
        assert!(shares.0 > 0 && shares.1 > 0, "both replicas deliver: {shares:?}");
    });
}

#[test]
fn delivers_after_an_outage_of_postgres() {
    testkit::block_on(async {
        let receiver = Receiver::start(respond_with(200)).await;
        let app = App::start::<Logistics>(Backend::Postgres, receiver.settings()).await;
        let load = create_load(&app).await;
        let name = app.database.name();
        testkit::execute_on_server(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"));
        // Repeated, because a connection that began before the statement above may not be listed yet.
        let terminate =
            format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
        wait_until(async || {
            testkit::execute_on_server(&terminate);
            app.get("/readyz").send().await.status == 503
        })
        .await;
        testkit::execute_on_server(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true"));
        wait_until(async || app.get("/readyz").send().await.status == 200).await;
        send(&app, &load).await;
        wait_for_status(&app, &load, "delivered").await;
        assert_eq!(receiver.requests().await.len(), 1);
    });
}

testkit::on_both! {
    async fn pending_notifications_are_delivered_after_a_restart(backend) {
        let failing = Receiver::start(respond_with(503)).await;
        let settings = Settings { webhook_retry_seconds: 2, ..failing.settings() };
        let app = App::start::<Logistics>(backend, settings).await;
        let load = create_load(&app).await;
        let id = send(&app, &load).await;
        failing.wait_for(1).await;
        let database = app.stop().await;
        let receiver = Receiver::start(respond_with(200)).await;
        let app = App::start_on::<Logistics>(database, receiver.settings()).await;
        let entry = wait_for_status(&app, &load, "delivered").await;
        assert!(entry["attempts"].as_u64() > Some(1), "{entry}");
        assert_eq!(header(&receiver.requests().await[0], "webhook-id"), id);
    }

    async fn shutdown_waits_for_running_deliveries(backend) {
        let receiver = Receiver::start(respond_with(200).set_delay(Duration::from_millis(700))).await;
        let app = App::start::<Logistics>(backend, receiver.settings()).await;
        let load = create_load(&app).await;
        send(&app, &load).await;
        receiver.wait_for(1).await;
        let database = app.stop().await;
        let app = App::start_on::<Logistics>(database, receiver.settings()).await;
        let entry = &delivery_log(&app, &load).await[0];
        assert_eq!((&entry["status"], &entry["attempts"]), (&json!("delivered"), &json!(1)));
        assert_eq!(receiver.requests().await.len(), 1);
    }

    async fn shutdown_does_not_wait_longer_than_shutdown_seconds(backend) {
        let receiver = Receiver::start(respond_with(200).set_delay(Duration::from_secs(3600))).await;
        let settings = Settings { webhook_timeout_ms: 300_000, ..receiver.settings() };
        let database = testkit::TestDatabase::new::<Logistics>(backend).await;
        let mut config = testkit::config::<Logistics>(&database, settings);
        config.server.shutdown_seconds = 1;
        let app = App::start_with::<Logistics>(database, config).await;
        send(&app, &create_load(&app).await).await;
        receiver.wait_for(1).await;
        let started = Instant::now();
        app.stop().await;
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }
}

#[test]
fn every_replica_on_postgres_reports_the_backlog() {
    testkit::block_on(async {
        let receiver = Receiver::start(respond_with(200).set_delay(Duration::from_secs(3600))).await;
        let database = TestDatabase::new::<Logistics>(Backend::Postgres).await;
        let (url, secret) = (receiver.settings().webhook_url.unwrap().to_string(), secret(1));
        let start = || {
            let settings = [
                ("DATABASE__URL", &*database.url),
                ("SERVICE__WEBHOOK_URL", &url),
                ("SERVICE__WEBHOOK_SECRETS", &secret),
                ("SERVICE__WEBHOOK_ALLOW_PRIVATE", "true"),
                ("SERVICE__WEBHOOK_TIMEOUT_MS", "300000"),
            ];
            Process::start(env!("CARGO_BIN_EXE_logistics"), &settings)
        };
        let replicas = [start(), start()];
        let first = |path| replicas[0].call("POST", path).by(&User::of("haul"));
        let load = first("/v1/loads/carrier").json(&carrier_form()).send().await.ok();
        for n in 0..3 {
            let form = json!({"loadId": load["id"], "driverId": format!("driver-{n}")});
            first("/v1/loads/send-to-driver").json(&form).send().await.ok();
        }
        // One replica holds the leases and waits for the receiver. The other has nothing to deliver.
        for replica in &replicas {
            wait_until(async || {
                let metrics = replica.call("GET", "/metrics").send().await.text();
                let of = |name: &str| {
                    metrics.lines().find_map(|line| line.strip_prefix(name)?.parse::<f64>().ok())
                };
                of("drover_notifications_pending ") == Some(3.0)
                    && of("drover_notifications_oldest_pending_seconds ").is_some_and(|age| age > 0.0)
            })
            .await;
        }
    });
}
