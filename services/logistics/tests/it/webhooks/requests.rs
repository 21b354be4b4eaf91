//! What receivers get.

use super::*;

testkit::on_both! {
    async fn both_secrets_sign_for_a_day_after_a_rotation(backend) {
        let (app, receiver, grain) = (start(backend).await, receiver().await, User::of("grain"));
        let webhook = register(&app, "grain", &receiver.url(), &["load.created"]).await;
        let first = webhook["secret"].as_str().unwrap();
        let test = async || app.post(&format!("{}/test", path(&webhook))).by(&grain).send().await.ok();
        let sent = test().await;
        let request = receiver.wait_for(1).await.remove(0);
        assert_eq!(header(&request, "webhook-id"), sent["id"]);
        assert_eq!(header(&request, "content-type"), "application/json");
        assert_eq!(header(&request, "webhook-signature"), testkit::webhook_signature(&request, first));
        let message = body(&request);
        assert_eq!(message, json!({
            "id": sent["id"], "type": "webhook.test", "timestamp": message["timestamp"], "data": {"webhookId": webhook["id"]},
        }));
        let rotate = async || app.post(&format!("{}/rotate-secret", path(&webhook))).by(&grain).send().await.ok();
        let rotated = rotate().await;
        let second = rotated["secret"].as_str().unwrap();
        assert_ne!(first, second);
        assert_eq!(without(rotated.clone(), "secret"), without(webhook.clone(), "secret"));
        test().await;
        let request = receiver.wait_for(2).await.remove(1);
        let both = [second, first].map(|secret| testkit::webhook_signature(&request, secret)).join(" ");
        assert_eq!(header(&request, "webhook-signature"), both);
        let past = backend.hours_ago(1);
        app.database.execute(&format!("UPDATE webhooks SET previous_secret_until = {past}"));
        test().await;
        let request = receiver.wait_for(3).await.remove(2);
        assert_eq!(header(&request, "webhook-signature"), testkit::webhook_signature(&request, second));
    }

    async fn private_addresses_are_not_reached_after_the_setting_changed(backend) {
        let receiver = receiver().await;
        let app = start(backend).await;
        let webhook = register(&app, "grain", &receiver.url(), &["load.created"]).await;
        let localhost = receiver.url().replace("http://127.0.0.1", "https://localhost");
        let named = register(&app, "grain", &localhost, &["load.created"]).await;
        let strict = Settings { webhook_retry_seconds: 0, ..Settings::default() };
        let app = App::start_on::<Logistics>(app.stop().await, strict).await;
        for (webhook, part) in [(&webhook, "name"), (&named, "name")] {
            app.post(&format!("{}/test", path(webhook))).by(&User::of("grain")).send().await.ok();
            let failed = wait_for(&app, webhook, 1, "failed").await;
            assert_eq!(failed[0]["lastError"], part);
            assert_eq!(failed[0]["attempts"], 10);
        }
        assert!(receiver.requests().await.is_empty());
    }
}
