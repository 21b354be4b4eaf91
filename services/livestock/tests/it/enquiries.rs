//! Enquiries: of whom, to whom, how many, and what remains of them.

use livestock::{Livestock, Settings};
use serde_json::{Value, json};
use testkit::{App, TestRequest, User};

use crate::feed::all;
use crate::lifecycle::{draft, to};
use crate::sample::{create, full, start};

fn enquire(app: &App, user: &User, listing: &str) -> TestRequest {
    let form = json!({"message": "Still for sale?", "name": "Tom", "phone": "01432 123456"});
    app.post(&format!("/v1/listings/{listing}/enquiries")).by(user).json(&form)
}

fn conflict(reply: testkit::TestResponse) -> String {
    assert_eq!(reply.status, 409);
    reply.json()["body"]["reason"].as_str().unwrap().to_owned()
}

async fn list(app: &App, user: &User, query: &str) -> Vec<Value> {
    let found = app.get(&format!("/v1/enquiries{query}")).by(user).send().await.ok();
    found.as_array().unwrap().clone()
}

testkit::on_both! {
    async fn the_seller_gets_and_answers_enquiries(backend) {
        let (app, farm, buyer) = (start(backend).await, User::of("farm"), User::individual("tom"));
        let (one, other) = (create(&app, &farm, &full()).await, create(&app, &farm, &full()).await);
        let form = json!({"message": "Still for sale?\nCan I\u{200b} come?", "name": " Tom Price ", "email": "tom@example.com", "phone": null});
        let path = format!("/v1/listings/{one}/enquiries");
        let sent = app.post(&path).by(&buyer).json(&form).send().await.ok();
        let id = sent["id"].as_str().unwrap();
        enquire(&app, &User::of("mill"), &other).send().await.ok();

        let received = list(&app, &User::of("farm").with("sub", "ann"), "").await;
        assert_eq!(received.len(), 2);
        let mut first = received[1].clone();
        assert!(first.as_object_mut().unwrap().remove("createdAtUTC").is_some());
        assert_eq!(first, json!({"id": id, "listingId": one, "message": "Still for sale?\nCan I\u{200b} come?", "name": "Tom Price",
            "email": "tom@example.com", "status": "open"}));
        assert_eq!(list(&app, &farm, &format!("?f:listingId={other}")).await, [received[0].clone()]);
        assert_eq!(list(&app, &farm, "?f:listingId=x").await, Vec::<Value>::new());
        assert_eq!(list(&app, &buyer, "?scope=sent").await, [received[1].clone()]);
        assert_eq!(list(&app, &User::admin(), "?count=true").await, received);
        // Colleagues of the sender, other users and the seller's own sent ones.
        for (user, query) in [(User::of("mill").with("sub", "x"), "?scope=sent"), (User::of("mill"), ""), (buyer.clone(), ""), (farm.clone(), "?scope=sent")] {
            assert_eq!(list(&app, &user, query).await, Vec::<Value>::new());
        }

        let answered = format!("/v1/enquiries/{id}/answered");
        for user in [&buyer, &User::of("mill")] {
            assert_eq!(app.post(&answered).by(user).send().await.error(403), "forbidden");
        }
        for replayed in ["", "true"] {
            let reply = app.post(&answered).by(&farm).header("idempotency-key", "k").send().await;
            assert_eq!((reply.status, reply.header("idempotency-replayed")), (200, replayed));
        }
        let after = list(&app, &farm, "?f:status=answered").await;
        assert_eq!((after.len(), after[0]["id"].as_str()), (1, Some(id)));
        assert!(after[0]["answeredAtUTC"].is_string());
        app.post(&answered).by(&User::admin()).send().await.ok();
        assert_eq!(list(&app, &farm, "?f:status=answered").await, after);
        assert_eq!(list(&app, &farm, "?f:status=open").await.len(), 1);
        let unknown = "/v1/enquiries/0190f5fe-0000-7000-8000-000000000000/answered";
        assert_eq!(app.post(unknown).by(&farm).send().await.error(404), "not_found");
    }

    async fn events_go_to_the_seller_only(backend) {
        let (app, farm, buyer) = (start(backend).await, User::of("farm"), User::of("mill"));
        for user in [&farm, &buyer] {
            let hook = json!({"url": "https://127-0-0-1.invalid/", "events": ["listing.enquiry"]});
            app.post("/v1/webhooks").by(user).json(&hook).send().await.ok();
        }
        let id = create(&app, &farm, &full()).await;
        let enquiry = enquire(&app, &buyer, &id).send().await.ok()["id"].clone();
        let query = "f:type=listing.enquiry&include=resource";
        testkit::wait_until(async || !all(&app, &farm, query).await.is_empty()).await;
        let events = all(&app, &farm, query).await;
        assert_eq!((&events[0]["id"], &events[0]["listingId"], &events[0]["listing"]["id"]), (&enquiry, &json!(id), &json!(id)));
        assert_eq!((&events[0]["enquiry"]["id"], &events[0]["enquiry"]["status"]), (&enquiry, &json!("open")));
        assert!(events.len() == 1 && events[0].get("userId").is_none(), "{events:?}");
        let types: Vec<_> = all(&app, &farm, "").await.iter().map(|event| event["type"].clone()).collect();
        assert_eq!(types, ["listing.published", "listing.enquiry"]);
        for (user, query) in [(&buyer, ""), (&buyer, "scope=market&f:type=listing.enquiry"), (&farm, "scope=market&f:type=listing.enquiry")] {
            assert_eq!(all(&app, user, query).await, Vec::<Value>::new());
        }
        let deliveries = app.database.count("webhook_deliveries WHERE event = 'listing.enquiry'");
        assert_eq!(deliveries, 1);
    }

    async fn refuses_what_no_seller_could_answer(backend) {
        let (app, farm, buyer) = (start(backend).await, User::of("farm"), User::of("mill"));
        let (id, secret) = (create(&app, &farm, &full()).await, draft(&app, &farm).await);
        let path = format!("/v1/listings/{id}/enquiries");
        for (form, errors) in [
            (json!({}), vec!["email required", "message required", "name required", "phone required"]),
            (json!({"message": " ", "name": "", "phone": " "}), vec!["email required", "message length", "name length", "phone required"]),
            (json!({"message": "x".repeat(2_001), "name": "Tom", "phone": "12"}), vec!["message length", "phone format"]),
            (json!({"message": "x", "name": "Tom", "phone": "+44 7700 900123", "email": "Tom <tom@example.com>"}), vec!["email format"]),
            (json!({"message": "a\u{0}b", "name": 5, "email": "tom@example.com"}), vec!["message format", "name type"]),
        ] {
            assert_eq!(app.post(&path).by(&buyer).json(&form).send().await.errors(), errors, "{form}");
        }
        assert_eq!(conflict(enquire(&app, &farm, &id).send().await), "own_listing");
        assert_eq!(enquire(&app, &buyer, &secret).send().await.error(403), "forbidden");
        assert_eq!(conflict(enquire(&app, &User::admin(), &secret).send().await), "listing_draft");
        to(&app, &farm, &id, "sold").send().await.ok();
        assert_eq!(conflict(enquire(&app, &buyer, &id).send().await), "listing_closed");
        assert_eq!(list(&app, &farm, "").await, Vec::<Value>::new());
    }

    async fn a_user_enquires_once_a_day_about_a_listing_and_twenty_times(backend) {
        let (app, farm, buyer) = (start(backend).await, User::of("farm"), User::individual("tom"));
        let mut listings = Vec::new();
        for _ in 0..21 {
            listings.push(create(&app, &farm, &full()).await);
        }
        enquire(&app, &buyer, &listings[0]).send().await.ok();
        for _ in 0..3 {
            assert_eq!(conflict(enquire(&app, &buyer, &listings[0]).send().await), "limit_reached");
        }
        let concurrent = listings.iter().skip(1).map(|id| enquire(&app, &buyer, id).send());
        let replies = futures_util::future::join_all(concurrent).await;
        let refused: Vec<_> = replies.into_iter().filter(|reply| reply.status != 200).collect();
        assert_eq!(refused.len(), 1);
        for reply in refused {
            let tomorrow = 24 * 60 * 60;
            assert!((1..=tomorrow).contains(&reply.header("retry-after").parse().unwrap()));
            assert_eq!(reply.error(429), "rate_limited");
        }
        enquire(&app, &User::individual("ann"), &listings[20]).send().await.ok();
        assert_eq!(list(&app, &farm, "?limit=100").await.len(), 21);
        // Yesterday's do not count.
        app.database.execute("UPDATE enquiries SET day = day - 1");
        enquire(&app, &buyer, &listings[0]).send().await.ok();
    }

    async fn old_enquiries_are_deleted(backend) {
        let app = App::start::<Livestock>(backend, Settings { enquiry_retention_days: 1, ..Settings::default() }).await;
        let farm = User::of("farm");
        let id = create(&app, &farm, &full()).await;
        for user in ["ann", "tom"] {
            enquire(&app, &User::individual(user), &id).send().await.ok();
        }
        let database = app.stop().await;
        let old = backend.hours_ago(25);
        database.execute(&format!("UPDATE enquiries SET created_at = {old} WHERE user_id = 'ann'"));
        let settings = Settings { enquiry_retention_days: 1, ..Settings::default() };
        let app = App::start_on::<Livestock>(database, settings).await;
        testkit::wait_until(async || list(&app, &farm, "").await.len() == 1).await;
    }
}
