//! One slow receiver delays nobody else's deliveries.

use std::time::{Duration, Instant};

use super::*;

testkit::on_both! {
    async fn hanging_receivers_delay_no_others(backend) {
        let hanging = WebhookReceiver::start(respond_with(200).set_delay(Duration::from_secs(3600))).await;
        let prompt = receiver().await;
        let app = App::start::<Logistics>(backend, Settings { webhook_timeout_ms: 300_000, ..settings() }).await;
        for organisation in ["a", "b", "c"] {
            for _ in 0..3 {
                register(&app, organisation, &hanging.url(), &["load.created"]).await;
            }
        }
        let create = async |organisation: &str| {
            let form = with(without(carrier_form(), "organisationId"), "carrierId", json!(organisation));
            app.post("/v1/loads/carrier").by(&User::of(organisation)).json(&form).send().await.ok();
        };
        for organisation in ["a", "b", "c"] {
            for _ in 0..12 {
                create(organisation).await;
            }
        }
        // 16 for each organisation, although its three webhooks could hold 24.
        hanging.wait_for(48).await;
        let webhook = register(&app, "haul", &prompt.url(), &["load.created"]).await;
        let same = register(&app, "d", &prompt.url(), &["load.created"]).await;
        register(&app, "d", &hanging.url(), &["load.created"]).await;
        let started = Instant::now();
        for _ in 0..20 {
            create("haul").await;
            create("d").await;
        }
        wait_for(&app, &webhook, 20, "delivered").await;
        // A webhook of an organisation does not wait for another one of it.
        wait_for(&app, &same, 20, "delivered").await;
        assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
        let hanging = hanging.requests().await.len();
        assert_eq!(hanging, 48 + 8, "16 for an organisation, 8 for a webhook");
    }

    async fn a_failing_webhook_holds_one_slot(backend) {
        let app = start(backend).await;
        let receiver = WebhookReceiver::start(respond_with(500).set_delay(Duration::from_secs(2))).await;
        let slow = Settings { webhook_retry_seconds: 3600, ..settings() };
        let app = App::start_on::<Logistics>(app.stop().await, slow).await;
        let webhook = register(&app, "haul", &receiver.url(), &["load.created"]).await;
        create_load(&app).await;
        wait_until(async || deliveries(&app, &webhook).await[0].get("lastError").is_some()).await;
        for _ in 0..10 {
            create_load(&app).await;
        }
        receiver.wait_for(2).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(receiver.requests().await.len() <= 3, "one delivery at a time");
    }
}
