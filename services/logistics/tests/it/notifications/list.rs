//! The list of all notifications, and notifications of revoked drivers.

use super::*;

fn ids(found: &Value) -> Vec<&str> {
    found.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect()
}

testkit::on_both! {
    async fn lists_are_filtered_and_paged_newest_first(backend) {
        let receiver = Receiver::start(|_: &Request| respond_with(500)).await;
        let settings = Settings { webhook_retry_seconds: 3600, ..receiver.settings() };
        let app = App::start::<Logistics>(backend, settings).await;
        let (grain, haul, admin) = (User::of("grain"), User::of("haul"), User::admin());
        let (first, second) = (create_load(&app).await, create_load(&app).await);
        let mut sent = Vec::new();
        for (load, driver) in [(&first, "dai"), (&first, "eve"), (&second, "dai")] {
            sent.push(send_to(&app, load, driver).await);
        }
        let form = json!({"loadId": first, "carrierId": "haul"});
        let carrier = app.post("/v1/loads/send-to-carrier").by(&grain).json(&form).send().await.ok();
        sent.push(carrier["id"].as_str().unwrap().to_owned());
        let foreign = app.post("/v1/loads/organiser").by(&User::of("mill"))
            .json(&with(organiser_form(), "organiserId", json!("mill"))).send().await.ok();
        let form = json!({"loadId": foreign["id"], "driverId": "dai"});
        let foreign = app.post("/v1/loads/send-to-driver").by(&User::of("mill")).json(&form).send().await.ok();
        sent.push(foreign["id"].as_str().unwrap().to_owned());
        sent.reverse();
        // Each attempt is stored before its request. Later, an entry would change between two reads of it.
        receiver.wait_for(sent.len()).await;

        let list = async |user: &User, query: &str| app.get(&format!("/v1/notifications?{query}")).by(user).send().await;
        assert_eq!(ids(&list(&admin, "").await.ok()), sent);
        for user in [&grain, &haul] {
            assert_eq!(ids(&list(user, "").await.ok()), sent[1..]);
        }
        for user in [&User::individual("dai"), &User::of("other")] {
            assert_eq!(list(user, "").await.ok(), json!([]));
        }
        for (query, count) in [
            (format!("f:loadId={first}"), 3), ("f:loadId=nonsense".into(), 0), ("f:event=load.sent_to_carrier".into(), 1),
            ("f:event=load.sent_to_driver".into(), 4), ("f:status=pending".into(), 5), ("f:status=delivered".into(), 0),
            (format!("f:loadId={first}&f:event=load.sent_to_driver&f:status=pending"), 2),
        ] {
            let reply = list(&admin, &format!("{query}&count=true")).await;
            assert_eq!(reply.header("x-total-count"), count.to_string(), "{query}");
            assert_eq!(reply.ok().as_array().unwrap().len(), count, "{query}");
        }
        let faults = list(&admin, "f:status=open&f:event=x&limit=0").await.errors();
        assert_eq!(faults, ["f:event enum", "f:status enum", "limit range"]);

        let pages = app.pages(&admin, "/v1/notifications?limit=2").await;
        assert_eq!(ids(&json!(pages.into_iter().flat_map(TestResponse::entries).collect::<Vec<_>>())), sent);
        assert_eq!(ids(&list(&admin, "limit=2&offset=1").await.ok()), sent[1..3]);
        let of_load = delivery_log(&app, &first).await;
        assert!(of_load.iter().all(|entry| entry["loadId"] == first.as_str()), "{of_load:?}");
        let page = list(&grain, &format!("f:loadId={first}")).await.ok();
        assert_eq!(page.as_array().unwrap()[..], of_load);
    }

    async fn revoking_a_driver_drops_what_is_pending(backend) {
        let receiver = Receiver::start(|_: &Request| respond_with(500)).await;
        let settings = Settings { webhook_retry_seconds: 3600, ..receiver.settings() };
        let app = App::start::<Logistics>(backend, settings).await;
        let (load, other) = (create_load(&app).await, create_load(&app).await);
        for (load, driver) in [(&load, "dai"), (&load, "eve"), (&other, "dai")] {
            send_to(&app, load, driver).await;
        }
        receiver.wait_for(3).await;
        app.call("DELETE", &format!("/v1/loads/{load}/drivers/dai")).by(&User::of("haul")).send().await.ok();
        let left = delivery_log(&app, &load).await;
        assert_eq!((left.len(), &left[0]["recipientId"]), (1, &json!("eve")));
        assert_eq!(delivery_log(&app, &other).await.len(), 1);
    }
}
