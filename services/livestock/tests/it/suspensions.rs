//! Suspended organisations: what others do not see meanwhile, and what these may not do.

use livestock::Livestock;
use serde_json::{Value, json};
use testkit::{App, Backend, Process, TestDatabase, User};

use crate::feed::all;
use crate::lifecycle::{draft, patch, read, to};
use crate::sample::{CATTLE, create, full, start_with};

async fn suspend(app: &App, action: &str) {
    let path = format!("/v1/organisations/farm/{action}");
    app.post(&path)
        .by(&User::admin())
        .json(&json!({"reason": "The animals do not exist."}))
        .send()
        .await
        .ok();
}

async fn found(app: &App, user: &User, query: &str) -> Vec<Value> {
    app.get(&format!("/v1/listings?{query}")).by(user).send().await.ok().as_array().unwrap().clone()
}

async fn total(app: &App, user: &User) -> Value {
    app.get("/v1/listings?docs=false").by(user).send().await.ok()["total"].clone()
}

async fn start(backend: Backend) -> App {
    start_with(backend, |settings| settings.public_listings = true).await
}

testkit::on_both! {
    async fn nobody_else_finds_the_active_listings(backend) {
        let (app, farm, other, admin) = (start(backend).await, User::of("farm"), User::of("other"), User::admin());
        let (id, sold) = (create(&app, &farm, &full()).await, create(&app, &farm, &full()).await);
        let of_other = create(&app, &other, &full()).await;
        to(&app, &farm, &sold, "sold").send().await.ok();
        assert_eq!(total(&app, &other).await, 2);
        suspend(&app, "suspend").await;
        suspend(&app, "suspend").await;

        for user in [&other, &User::individual("ann"), &admin] {
            for query in ["", "query=hereford", "query=h", "f:organisationId=farm", "sortBy=price", "f:status=active-selling",
                "latitude=51.9&longitude=-3.4&distanceKm=500", "bbox=-8,49,2,61"] {
                let ids: Vec<_> = found(&app, user, query).await.iter().map(|listing| listing["id"].clone()).collect();
                assert!(!ids.contains(&json!(id)), "{query}");
            }
            assert_eq!(total(&app, user).await, 1);
            assert!(found(&app, user, "f:status=sold").await.iter().any(|listing| listing["id"] == sold.as_str()));
        }
        assert_eq!(app.get(&format!("/v1/listings/{id}")).by(&other).send().await.error(404), "not_found");
        assert_eq!(read(&app, &admin, &id).await["suspended"], true);
        let public = app.get("/v1/public/listings").send().await.ok();
        let ids: Vec<_> = public.as_array().unwrap().iter().map(|listing| listing["id"].clone()).collect();
        assert_eq!(ids, [json!(of_other)]);
        assert_eq!(app.get(&format!("/v1/public/listings/{id}")).send().await.error(404), "not_found");

        // Its own callers see them, marked.
        assert_eq!(read(&app, &farm, &id).await["suspended"], true);
        let edited = patch(&app, &farm, &id, &json!({"description": "Edited meanwhile."})).await.ok();
        assert_eq!((&edited["suspended"], &edited["description"]), (&json!(true), &json!("Edited meanwhile.")));
        assert_eq!(read(&app, &farm, &sold).await.get("suspended"), None);
        let own = found(&app, &farm, "f:organisationId=farm").await;
        assert_eq!((own.len(), &own[0]["suspended"]), (1, &json!(true)));
        assert_eq!(found(&app, &farm, "query=h&f:organisationId=farm").await.len(), 1);
        assert_eq!(total(&app, &farm).await, 2);
        assert!(found(&app, &farm, "f:organisationId=other").await[0].get("suspended").is_none());

        suspend(&app, "reinstate").await;
        suspend(&app, "reinstate").await;
        assert_eq!(total(&app, &other).await, 2);
        assert_eq!(read(&app, &other, &id).await.get("suspended"), None);
        assert_eq!(found(&app, &other, "f:organisationId=farm").await.len(), 1);
    }

    async fn a_suspended_organisation_publishes_nothing_and_does_not_enquire(backend) {
        let (app, farm, other) = (start(backend).await, User::of("farm"), User::of("other"));
        let (id, secret) = (create(&app, &farm, &full()).await, draft(&app, &farm).await);
        let of_other = create(&app, &other, &full()).await;
        suspend(&app, "suspend").await;
        let enquiry = json!({"message": "?", "name": "Tom", "phone": "01432 123456"});
        let enquire = |user: &User, listing: &str| {
            app.post(&format!("/v1/listings/{listing}/enquiries")).by(user).json(&enquiry)
        };
        for request in [
            app.post(CATTLE).by(&farm).json(&full()),
            app.post(&format!("/v1/listings/{secret}/publish")).by(&farm),
            enquire(&farm, &of_other),
        ] {
            let reply = request.send().await;
            assert_eq!((reply.status, &reply.json()["body"]["reason"]), (403, &json!("suspended")));
        }
        for user in [&other, &User::admin()] {
            let reply = enquire(user, &id).send().await;
            assert_eq!((reply.status, &reply.json()["body"]["reason"]), (409, &json!("listing_closed")));
        }
        patch(&app, &farm, &id, &json!({"description": "Edited."})).await;
        to(&app, &farm, &id, "sold").send().await.ok();
        let listed = app.get("/v1/organisations?f:status=suspended&count=true").by(&User::admin()).send().await.ok();
        assert_eq!((&listed[0]["id"], &listed[0]["reason"]), (&json!("farm"), &json!("The animals do not exist.")));
        assert!(listed[0]["suspendedAtUTC"].is_string() && listed.as_array().unwrap().len() == 1);
        suspend(&app, "reinstate").await;
        app.post(&format!("/v1/listings/{secret}/publish")).by(&farm).send().await.ok();
        let none = app.get("/v1/organisations?f:status=suspended").by(&User::admin()).send().await.ok();
        assert_eq!(none, json!([]));
    }

    async fn the_market_feed_leaves_out_what_happens_meanwhile(backend) {
        let (app, farm, other) = (start(backend).await, User::of("farm"), User::of("other"));
        let id = create(&app, &farm, &full()).await;
        let market = async || {
            let events = all(&app, &other, "scope=market").await;
            events.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(market().await, ["listing.published"]);
        suspend(&app, "suspend").await;
        patch(&app, &farm, &id, &json!({"description": "Edited."})).await;
        assert_eq!(market().await, [""; 0]);
        assert_eq!(all(&app, &farm, "").await.len(), 2);
        // The listing in own events and that found by ids is marked alike.
        let marked = async |user: &User| {
            let by_ids = app.get(&format!("/v1/listings/by-ids?ids={id}")).by(user).send().await.ok();
            let events = all(&app, user, "include=resource").await.into_iter();
            let listings = events.map(|event| event["listing"].clone()).chain([by_ids[0].clone()]);
            listings.map(|listing| listing.get("suspended").cloned()).collect::<Vec<_>>()
        };
        for user in [&farm, &User::admin()] {
            assert_eq!(marked(user).await, [Some(json!(true)), Some(json!(true)), Some(json!(true))]);
        }
        suspend(&app, "reinstate").await;
        assert_eq!(marked(&farm).await, [None, None, None]);
        assert_eq!(market().await, ["listing.published"]);
        to(&app, &farm, &id, "sold").send().await.ok();
        assert_eq!(market().await, ["listing.published", "listing.closed"]);
    }

    async fn a_repeat_with_the_same_key_changes_nothing(backend) {
        let (app, admin) = (start(backend).await, User::admin());
        let call = async |action: &str, key: &str| {
            let call = app.post(&format!("/v1/organisations/farm/{action}")).by(&admin);
            call.header("idempotency-key", key).json(&json!({"reason": "The animals do not exist."})).send().await
        };
        let is_suspended = async || {
            let list = app.get("/v1/organisations?f:status=suspended").by(&admin).send().await.ok();
            !list.as_array().unwrap().is_empty()
        };
        call("suspend", "k").await.ok();
        call("reinstate", "k").await.ok();
        assert_eq!(call("suspend", "k").await.header("idempotency-replayed"), "true");
        assert!(!is_suspended().await);
        call("suspend", "l").await.ok();
        assert_eq!(call("reinstate", "k").await.header("idempotency-replayed"), "true");
        assert!(is_suspended().await);
    }

    async fn suspensions_are_security_events(backend) {
        let database = TestDatabase::new::<Livestock>(backend).await;
        let service = Process::start(env!("CARGO_BIN_EXE_livestock"), &[("DATABASE__URL", &database.url)]);
        for action in ["suspend", "reinstate"] {
            for _ in 0..2 {
                let call = service.call("POST", &format!("/v1/organisations/farm/{action}")).by(&User::admin());
                call.json(&json!({"reason": "The animals do not exist."})).send().await.ok();
            }
        }
        let events: Vec<_> = service
            .security_events()
            .into_iter()
            .map(|event| json!([event["event"], event["organisation"]]))
            .collect();
        let expected = json!([["organisation_suspended", "farm"], ["organisation_reinstated", "farm"]]);
        assert_eq!(json!(events), expected);
    }
}
