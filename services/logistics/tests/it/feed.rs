//! The feed of events and its stream.

use std::collections::BTreeSet;

use testkit::{FollowedResource, assert_feed_beside_writers, assert_feed_streams, assert_feed_waits};

use super::*;

/// Returns a page of the feed, once all events are in it: transactions of other tests on the same server delay them.
pub async fn page(app: &App, user: &User, query: &str) -> Value {
    let stored = app.database.count("load_events");
    testkit::wait_until(async || {
        let found = read(app, &User::admin(), "limit=500").await;
        i64::try_from(found["events"].as_array().unwrap().len()).unwrap() >= stored
    })
    .await;
    read(app, user, query).await
}

/// Returns what a page of the feed has at the moment.
async fn read(app: &App, user: &User, query: &str) -> Value {
    app.get(&format!("/v1/events?{query}")).by(user).send().await.ok()
}

/// Returns all events of a user, read page by page.
async fn all(app: &App, user: &User, query: &str) -> Vec<Value> {
    let (mut events, mut after) = (Vec::new(), String::new());
    loop {
        let page = page(app, user, &format!("limit=2&{query}{after}")).await;
        events.extend(page["events"].as_array().unwrap().clone());
        after = format!("&after={}", page["cursor"].as_str().unwrap());
        if page["more"] == false {
            return events;
        }
    }
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

async fn send_to(app: &App, user: &User, id: &str, kind: &str, to: &str) {
    let sent = json!({"loadId": id, (format!("{kind}Id")): to});
    app.post(&format!("/v1/loads/send-to-{kind}")).by(user).json(&sent).send().await.ok();
}

struct Loads;

impl FollowedResource for Loads {
    const ID: &'static str = "loadId";
    const CREATED: &'static str = "load.created";
    const CHANGED: &'static str = "load.updated";
    const ADDED: &'static str = "";

    fn follower(&self) -> User {
        User::of("grain")
    }

    fn bystander(&self) -> (User, &str) {
        (User::of("other"), "")
    }

    async fn create(&self, app: &App) -> String {
        create_load(app).await
    }

    async fn create_unseen(&self, app: &App) {
        let form = with(organiser_form(), "organiserId", json!("other"));
        app.post("/v1/loads/organiser").by(&User::admin()).json(&form).send().await.ok();
    }

    async fn change(&self, app: &App, id: &str, to: usize) {
        patch(app, &User::of("grain"), id, &json!({ "weight": to })).await.ok();
    }

    async fn revision(&self, app: &App, id: &str) -> i64 {
        revision(app, id).await
    }
}

testkit::on_both! {
    async fn the_newest_events_come_first(backend) {
        let app = app(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        let (id, _) = (create_load(&app).await, create_load(&app).await);
        accept(&app, &id).await;
        send_to(&app, &haul, &id, "driver", "dai").await;
        patch(&app, &grain, &id, &json!({"weight": 30})).await.ok();
        let all = page(&app, &grain, "").await;
        let mut newest = all["events"].as_array().unwrap().clone();
        newest.reverse();
        for (query, expected) in [
            ("newest=20", &newest[..]),
            ("newest=2&limit=1&wait=30", &newest[..2]),
            ("newest=20&f:type=load.created", &newest[3..]),
            ("newest=1&f:type=load.created", &newest[3..4]),
        ] {
            for user in [&grain, &haul, &User::admin()] {
                let found = read(&app, user, query).await;
                assert_eq!((&found["events"], &found["more"]), (&json!(expected), &json!(false)), "{query}");
            }
        }
        let found = read(&app, &User::individual("dai"), "newest=20&f:driverId=me").await;
        assert_eq!(types(found["events"].as_array().unwrap()), ["load.updated", "load.sent_to_driver"]);
        assert_eq!(read(&app, &User::of("other"), "newest=20").await["events"], json!([]));
        assert_eq!(read(&app, &grain, "newest=1&include=resource").await["events"][0]["load"]["id"], id);
        // The cursor leads to what follows.
        let cursor = found["cursor"].as_str().unwrap();
        patch(&app, &grain, &id, &json!({"weight": 31})).await.ok();
        let next = page(&app, &grain, &format!("after={cursor}")).await;
        assert_eq!(types(next["events"].as_array().unwrap()), ["load.updated"]);
        for (query, error) in [("newest=0", "newest range"), ("newest=21", "newest range"), ("newest=5&after=now", "newest inconsistent")] {
            assert_eq!(app.get(&format!("/v1/events?{query}")).by(&grain).send().await.errors(), [error]);
        }
    }

    async fn organisations_follow_their_loads(backend) {
        let app = app(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        let id = create_load(&app).await;
        accept(&app, &id).await;
        patch(&app, &grain, &id, &json!({"weight": 30, "reference": "X"})).await.ok();
        send_to(&app, &haul, &id, "driver", "dai").await;
        send_to(&app, &grain, &id, "carrier", "haul").await;
        app.call("DELETE", &format!("/v1/loads/{id}/drivers/dai")).by(&haul).send().await.ok();
        prove(&app, &grain, &id, &proof_form()).await.ok();
        let correction = json!({"weightNet": 28, "reason": "misread"});
        app.post(&format!("/v1/loads/{id}/proof-of-delivery/corrections")).by(&grain).json(&correction).send().await.ok();

        let seen = all(&app, &grain, "").await;
        let expected = [
            "load.created", "load.accepted", "load.updated", "load.sent_to_driver", "load.sent_to_carrier",
            "load.driver_revoked", "load.completed", "load.corrected",
        ];
        assert_eq!(types(&seen), expected);
        let revisions: Vec<_> = seen.iter().map(|event| event["revision"].as_i64().unwrap()).collect();
        assert!(revisions.is_sorted() && revisions[0] == 1, "{revisions:?}");
        assert_eq!(revisions.last(), Some(&revision(&app, &id).await));
        assert_eq!(seen[0]["reference"], "HH-1");
        assert_eq!(seen[2], json!({
            "id": seen[2]["id"], "type": "load.updated", "atUTC": seen[2]["atUTC"], "loadId": id, "reference": "X",
            "revision": 3, "userId": grain.claims["sub"], "userName": grain.claims["name"], "organisationId": "grain",
            "changes": {"reference": {"from": "HH-1", "to": "X"}, "weight": {"to": 30}},
        }));
        assert_eq!((&seen[3]["driverId"], &seen[5]["driverId"]), (&json!("dai"), &json!("dai")));
        assert_eq!(seen[4]["carrierId"], "haul");
        assert_eq!(seen[7]["reason"], "misread");
        assert_eq!(all(&app, &haul, "").await, seen);
        assert_eq!(all(&app, &User::admin(), "").await, seen);
        assert_eq!(all(&app, &User::admin(), "f:organisationId=haul").await, seen);
        for stranger in [User::of("other"), User::individual("eve")] {
            assert_eq!(all(&app, &stranger, "").await, Vec::<Value>::new());
        }
        assert_eq!(all(&app, &User::of("other"), "f:organisationId=grain").await, Vec::<Value>::new());
        // The history has the same events with the same ids.
        let history = super::events(&app, &id).await;
        let ids = |events: &[Value]| events.iter().map(|event| event["id"].clone()).collect::<Vec<_>>();
        assert_eq!(ids(&history), ids(&seen));

        let some = all(&app, &grain, "f:type=load.completed,load.created&f:type=load.updated").await;
        assert_eq!(types(&some), ["load.created", "load.updated", "load.completed"]);
        let found = page(&app, &grain, "include=resource&limit=1").await;
        let load = app.get(&format!("/v1/loads/{id}")).by(&grain).send().await.ok();
        assert_eq!((&found["events"][0]["load"], &found["more"]), (&load, &json!(true)));
        assert_eq!(seen[0].get("load"), None);
        let now = page(&app, &grain, "after=now&wait=30").await;
        assert_eq!((&now["events"], &now["more"]), (&json!([]), &json!(false)));
        assert_eq!(page(&app, &haul, &format!("after={}", now["cursor"].as_str().unwrap())).await["events"], json!([]));
    }

    async fn a_carrier_that_loses_a_load_is_told_only_that(backend) {
        let app = app(backend).await;
        let (grain, haul, next) = (User::of("grain"), User::of("haul"), User::of("next"));
        let load = app.post("/v1/loads/organiser").by(&grain).json(&organiser_form()).send().await.ok();
        let id = load["id"].as_str().unwrap();
        send_to(&app, &grain, id, "carrier", "haul").await;
        send_to(&app, &haul, id, "driver", "dai").await;
        let dai = User::individual("dai");
        assert_eq!(types(&all(&app, &dai, "f:driverId=me").await), ["load.sent_to_driver"]);
        patch(&app, &grain, id, &json!({"carrierId": "next", "carrierName": "Next"})).await.ok();
        patch(&app, &grain, id, &json!({"weight": 12})).await.ok();

        let lost = all(&app, &haul, "").await;
        assert_eq!(types(&lost), ["load.sent_to_carrier", "load.sent_to_driver", "load.driver_revoked", "load.released"]);
        let released = &lost[3];
        let members: BTreeSet<_> = released.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, BTreeSet::from(["atUTC", "id", "loadId", "reference", "revision", "type"]), "{released}");
        let gained = all(&app, &next, "").await;
        assert_eq!(types(&gained), ["load.updated", "load.updated"]);
        assert!(!json!(gained).to_string().contains("haul"), "{gained:?}");
        let own = all(&app, &grain, "").await;
        assert_eq!(types(&own), [
            "load.created", "load.sent_to_carrier", "load.sent_to_driver", "load.driver_revoked", "load.updated", "load.updated",
        ]);
        let driven = all(&app, &dai, "f:driverId=me").await;
        assert_eq!(types(&driven), ["load.sent_to_driver", "load.driver_revoked"]);
        assert!(driven.iter().all(|event| event.get("changes").is_none() && event["driverId"] == "dai"), "{driven:?}");
        assert_eq!(all(&app, &User::individual("eve"), "f:driverId=me").await, Vec::<Value>::new());
        assert_eq!(all(&app, &dai, "f:driverId=me&f:organisationId=grain").await, Vec::<Value>::new());
        // The load as it is now is no longer the old carrier's.
        let found = page(&app, &haul, "include=resource").await;
        assert!(found["events"].as_array().unwrap().iter().all(|event| event.get("load").is_none()), "{found}");
    }

    async fn drivers_of_the_organiser_do_not_read_what_the_old_carrier_is_told(backend) {
        let app = app(backend).await;
        let grain = User::of("grain");
        let id = create_load(&app).await;
        send_to(&app, &grain, &id, "driver", "eli").await;
        patch(&app, &grain, &id, &json!({"carrierId": "next", "carrierName": "Next"})).await.ok();
        let driven = all(&app, &User::individual("eli"), "f:driverId=me").await;
        assert_eq!(types(&driven), ["load.sent_to_driver", "load.updated"]);
    }

    async fn a_creator_that_loses_a_load_goes_on_reading(backend) {
        let app = app(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        let id = create_load(&app).await;
        patch(&app, &grain, &id, &json!({"carrierId": "next", "carrierName": "Next"})).await.ok();
        patch(&app, &grain, &id, &json!({"weight": 12})).await.ok();
        assert_eq!(types(&all(&app, &haul, "").await), ["load.created", "load.updated", "load.updated"]);
    }

    async fn batches_are_in_the_feed(backend) {
        let app = app(backend).await;
        let rows = "organiserId,commodityId,reference,deliveryDateISO,weight\ngrain,1,A,2026-03-01,20\ngrain,1,B,2026-03-01,20\n";
        let form = reqwest::multipart::Form::new()
            .part("file", reqwest::multipart::Part::text(rows).file_name("a.csv").mime_str("text/csv").unwrap());
        app.post("/v1/loads/batch").by(&User::of("grain")).form(form).send().await.ok();
        let seen = all(&app, &User::of("grain"), "").await;
        assert_eq!(types(&seen), ["load.created", "load.created"]);
        assert_eq!((&seen[0]["reference"], &seen[1]["reference"]), (&json!("A"), &json!("B")));
    }

    async fn invalid_parameters_are_named(backend) {
        let app = app(backend).await;
        let grain = User::of("grain");
        for (query, path) in [
            ("after=x", "after"), ("after=1.-1", "after"), ("limit=0", "limit"), ("limit=501", "limit"), ("wait=31", "wait"),
            ("f:type=load.eaten", "f:type"), ("include=all", "include"), ("f:driverId=dai", "f:driverId"), ("f:x=1", "f:x"),
        ] {
            let errors = app.get(&format!("/v1/events?{query}")).by(&grain).send().await.errors();
            assert!(errors.iter().all(|error| error.starts_with(path)) && !errors.is_empty(), "{query}: {errors:?}");
        }
        create_load(&app).await;
        let reply = app.get("/v1/events?after=1.5000").by(&grain).send().await;
        assert_eq!(reply.error(410), "not_found");
    }

    async fn a_waiting_request_is_answered_by_the_next_event(backend) {
        assert_feed_waits(&app(backend).await, &Loads).await;
    }

    async fn a_stream_sends_what_happens(backend) {
        assert_feed_streams(app(backend).await, &Loads).await;
    }

    async fn nothing_is_missed_beside_writers(backend) {
        assert_feed_beside_writers(&app(backend).await, &Loads).await;
    }
}
