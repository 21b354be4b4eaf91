//! The feed of events and its stream.

use std::collections::BTreeSet;

use livestock::{Livestock, Settings};
use serde_json::{Value, json};
use testkit::{
    App, FollowedResource, User, assert_feed_beside_writers, assert_feed_streams, assert_feed_waits,
    read_until,
};

use crate::lifecycle::{draft, events, patch, read, revision, to};
use crate::sample::{create, full, plain, start};
use crate::saved_searches::save;

/// Returns a page of the feed, once all events are in it: transactions of other tests on the same server delay them.
async fn page(app: &App, user: &User, query: &str) -> Value {
    let changes = app.database.count("listing_events WHERE to_status <> 'draft'");
    testkit::wait_until(async || {
        let found = request(app, &User::admin(), "limit=500").await;
        let types = types(found["events"].as_array().unwrap()).into_iter();
        i64::try_from(types.filter(|name| *name != "listing.matched").count()).unwrap() >= changes
    })
    .await;
    request(app, user, query).await
}

/// Returns what a page of the feed has at the moment.
async fn request(app: &App, user: &User, query: &str) -> Value {
    app.get(&format!("/v1/events?{query}")).by(user).send().await.ok()
}

/// Returns all events of a user, read page by page.
pub async fn all(app: &App, user: &User, query: &str) -> Vec<Value> {
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

/// Returns all matches of a user, once there are so many.
async fn matches(app: &App, user: &User, count: usize) -> Vec<Value> {
    testkit::wait_until(async || all(app, user, "f:type=listing.matched").await.len() >= count).await;
    all(app, user, "f:type=listing.matched").await
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

fn values<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().map(|event| &event[name]).collect()
}

/// Creates a draft, edits, publishes and edits it, and closes it. Returns its id.
pub async fn whole_life(app: &App, farm: &User) -> String {
    let id = draft(app, farm).await;
    patch(app, farm, &id, &json!({"description": "secret", "tags": ["secret"]})).await.ok();
    patch(app, farm, &id, &json!({"description": "Quiet.", "tags": ["a"]})).await.ok();
    to(app, farm, &id, "active").send().await.ok();
    patch(app, farm, &id, &json!({"tags": ["b"]})).await.ok();
    to(app, farm, &id, "sold").send().await.ok();
    id
}

struct Listings;

impl FollowedResource for Listings {
    const ID: &'static str = "listingId";
    const CREATED: &'static str = "listing.published";
    const CHANGED: &'static str = "listing.updated";
    const ADDED: &'static str = "listing.matched";

    fn follower(&self) -> User {
        User::of("farm")
    }

    fn bystander(&self) -> (User, &str) {
        (User::individual("eve"), "scope=market")
    }

    async fn create(&self, app: &App) -> String {
        create(app, &User::of("farm"), &full()).await
    }

    async fn create_unseen(&self, app: &App) {
        create(app, &User::of("other"), &full()).await;
        draft(app, &User::of("farm")).await;
    }

    async fn change(&self, app: &App, id: &str, to: usize) {
        patch(app, &User::of("farm"), id, &json!({"tags": [to.to_string()]})).await.ok();
    }

    async fn revision(&self, app: &App, id: &str) -> i64 {
        revision(app, id).await
    }
}

testkit::on_both! {
    async fn organisations_follow_their_listings(backend) {
        let app = start(backend).await;
        let (farm, admin) = (User::of("farm"), User::admin());
        let id = whole_life(&app, &farm).await;
        let cancelled = draft(&app, &farm).await;
        to(&app, &farm, &cancelled, "cancelled").send().await.ok();
        let other = create(&app, &User::of("other"), &full()).await;

        let seen = all(&app, &farm, "").await;
        assert_eq!(types(&seen), ["listing.published", "listing.updated", "listing.closed", "listing.closed"]);
        assert_eq!(values(&seen, "revision"), [4, 5, 6, 2]);
        assert_eq!(values(&seen, "listingId"), [&id, &id, &id, &cancelled]);
        assert_eq!(seen[1], json!({
            "id": seen[1]["id"], "type": "listing.updated", "atUTC": seen[1]["atUTC"], "listingId": id, "revision": 5,
            "userId": farm.claims["sub"], "userName": farm.claims["name"], "organisationId": "farm",
            "changes": {"tags": {"from": ["a"], "to": ["b"]}},
        }));
        assert_eq!((&seen[2]["reason"], &seen[3]["reason"]), (&json!("sold"), &json!("cancelled")));
        // The history has the same events with the same ids.
        let history = events(&app, &id).await;
        assert_eq!(values(&seen[..3], "id"), values(&history[3..], "id"));
        for stranger in [User::of("stranger"), User::individual("user-of-farm")] {
            assert_eq!(all(&app, &stranger, "").await, Vec::<Value>::new());
        }
        for query in ["f:organisationId=farm", "scope=market&f:organisationId=farm"] {
            assert_eq!(all(&app, &User::of("other"), query).await, Vec::<Value>::new(), "{query}");
        }
        assert_eq!(all(&app, &farm, "f:organisationId=farm&scope=own").await, seen);
        assert_eq!(all(&app, &admin, "f:organisationId=farm").await, seen);
        let everything = all(&app, &admin, "").await;
        assert_eq!((&everything[..4], &everything[4]["listingId"]), (&seen[..], &json!(other)));

        let some = all(&app, &farm, "f:type=listing.published&f:type=listing.updated").await;
        assert_eq!(some, seen[..2]);
        let found = page(&app, &farm, "include=resource&limit=1").await;
        assert_eq!((&found["events"][0]["listing"], &found["more"]), (&read(&app, &farm, &id).await, &json!(true)));
        let now = page(&app, &farm, "after=now&wait=30").await;
        assert_eq!((&now["events"], &now["more"]), (&json!([]), &json!(false)));
        let later = page(&app, &admin, &format!("scope=market&after={}", now["cursor"].as_str().unwrap())).await;
        assert_eq!(later["events"], json!([]), "a cursor holds for every caller and scope");
    }

    async fn everybody_follows_the_market(backend) {
        let app = start(backend).await;
        let farm = User::of("farm");
        let id = whole_life(&app, &farm).await;
        let cancelled = draft(&app, &farm).await;
        to(&app, &farm, &cancelled, "cancelled").send().await.ok();
        let hidden = draft(&app, &farm).await;
        let reported = create(&app, &farm, &full()).await;
        let stranger = User::of("stranger");
        let report = json!({"reason": "misleading", "message": null});
        app.post(&format!("/v1/listings/{reported}/report")).by(&stranger).json(&report).send().await.ok();
        let reports = app.get(&format!("/v1/listings/{reported}/reports")).by(&User::admin()).send().await.ok();
        let removal = json!({"outcome": "listing_removed", "note": null});
        let path = format!("/v1/reports/{}/resolve", reports[0]["id"].as_str().unwrap());
        app.post(&path).by(&User::admin()).json(&removal).send().await.ok();

        let market = all(&app, &stranger, "scope=market").await;
        assert_eq!(types(&market), ["listing.published", "listing.updated", "listing.closed", "listing.published", "listing.closed"]);
        assert_eq!(values(&market, "listingId"), [&id, &id, &id, &reported, &reported]);
        assert_eq!(market[1], json!({
            "id": market[1]["id"], "type": "listing.updated", "atUTC": market[1]["atUTC"], "listingId": id, "revision": 5,
            "changes": {"tags": {"from": ["a"], "to": ["b"]}},
        }));
        assert_eq!(market[4]["reason"], "cancelled", "others do not learn of the report");
        let text = json!(market).to_string();
        for secret in ["secret", "moderation", "user-of-farm", "admin", &cancelled, &hidden] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        for user in [User::individual("eve"), User::admin(), farm.clone()] {
            assert_eq!(all(&app, &user, "scope=market").await, market);
        }
        assert_eq!(all(&app, &farm, "scope=market&f:organisationId=farm").await, market);
        assert_eq!(all(&app, &farm, "").await.last().unwrap()["reason"], "moderation");
        let closed = page(&app, &stranger, "scope=market&include=resource&f:type=listing.closed").await;
        assert_eq!(closed["events"][0]["listing"], read(&app, &stranger, &id).await);
    }

    async fn an_organisation_reads_the_matches_of_its_users(backend) {
        let app = start(backend).await;
        let (ann, ben) = (User::of("buyers").with("sub", "ann"), User::of("buyers").with("sub", "ben"));
        let seller = User::of("seller");
        let mut saved = BTreeSet::new();
        for (user, parameters) in [
            (&ann, json!({"f:commodityBreed": ["hereford"]})), (&ann, json!({})), (&ben, json!({})),
        ] {
            let path = save(&app, user, parameters, true).await;
            saved.insert(path.rsplit('/').next().unwrap().to_owned());
        }
        let alone = save(&app, &User::individual("eve"), json!({}), true).await;
        let first = create(&app, &seller, &full()).await;
        let second = create(&app, &seller, &plain(&json!({"breed": "Texel"}))).await;
        let found = matches(&app, &ann, 5).await;
        let of = |id: &String| found.iter().filter(|event| event["listingId"] == **id).collect::<Vec<_>>();
        let searches: BTreeSet<_> = of(&first).iter().map(|event| event["savedSearchId"].as_str().unwrap().to_owned()).collect();
        assert_eq!((searches, of(&second).len(), found.len()), (saved, 2, 5));
        let ids: BTreeSet<_> = found.iter().map(|event| event["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), 5);
        let by_ben = *of(&first).iter().find(|event| event["userId"] == "ben").unwrap();
        assert_eq!(by_ben, &json!({
            "id": by_ben["id"], "type": "listing.matched", "atUTC": by_ben["atUTC"], "listingId": first, "revision": 1,
            "userId": "ben", "organisationId": "buyers", "savedSearchId": by_ben["savedSearchId"],
        }));
        assert_eq!(all(&app, &ben, "").await, found);
        // The seller does not learn who searches; neither does the market.
        assert_eq!(types(&all(&app, &seller, "").await), ["listing.published"; 2]);
        assert_eq!(types(&all(&app, &ann, "scope=market").await), ["listing.published"; 2]);
        assert_eq!(all(&app, &ann, "scope=market&f:type=listing.matched").await, Vec::<Value>::new());
        // Matches of users without an organisation are read by admin only.
        assert_eq!(all(&app, &User::individual("eve"), "").await, Vec::<Value>::new());
        let everything = matches(&app, &User::admin(), 7).await;
        let of_eve = everything.iter().filter(|event| event["userId"] == "eve");
        assert!(of_eve.clone().all(|event| alone.ends_with(event["savedSearchId"].as_str().unwrap())), "{everything:?}");
        assert_eq!((everything.len(), of_eve.count()), (7, 2));
        assert_eq!(matches(&app, &User::admin().with("org", "x"), 7).await, everything);
        let included = page(&app, &ann, "include=resource&limit=1").await;
        assert_eq!(included["events"][0]["listing"], read(&app, &ann, &first).await);
        // A match is in the order of the revisions of its listing.
        patch(&app, &seller, &first, &json!({"tags": ["b"]})).await.ok();
        save(&app, &ann, json!({"f:commodityType": "cattle"}), true).await;
        patch(&app, &seller, &first, &json!({"tags": ["c"]})).await.ok();
        let last = matches(&app, &ann, 6).await.pop().unwrap();
        assert!(last["revision"] == 3 && last["listingId"] == first, "{last}");
        // The event of a deleted search stays, without its user.
        for path in app.get("/v1/saved-searches").by(&ben).send().await.ok().as_array().unwrap() {
            let path = format!("/v1/saved-searches/{}", path["id"].as_str().unwrap());
            app.call("DELETE", &path).by(&ben).send().await.ok();
        }
        let found = all(&app, &ann, "f:type=listing.matched").await;
        assert_eq!((found.len(), found.iter().filter(|event| event.get("userId").is_none()).count()), (6, 2));
    }

    async fn matches_leave_the_feed_after_thirty_days(backend) {
        let app = start(backend).await;
        save(&app, &User::of("buyers"), json!({}), true).await;
        create(&app, &User::of("seller"), &full()).await;
        let buyers = User::of("buyers");
        assert_eq!(matches(&app, &buyers, 1).await.len(), 1);
        let cursor = request(&app, &buyers, "").await["cursor"].as_str().unwrap().to_owned();
        let old = backend.hours_ago(31 * 24);
        app.database.execute(&format!("UPDATE match_events SET at = {old}"));
        let app = App::start_on::<Livestock>(app.stop().await, Settings::default()).await;
        testkit::wait_until(async || all(&app, &buyers, "f:type=listing.matched").await.is_empty()).await;
        // Its cursor is still one of the feed.
        assert_eq!(request(&app, &buyers, &format!("after={cursor}")).await["events"], json!([]));
    }

    async fn invalid_parameters_are_named(backend) {
        let app = start(backend).await;
        let farm = User::of("farm");
        for path in ["/v1/events", "/v1/events/stream"] {
            for (query, name) in [
                ("after=x", "after"), ("f:type=listing.eaten", "f:type"), ("f:type=load.created", "f:type"),
                ("include=all", "include"), ("scope=all", "scope"), ("f:x=1", "f:x"), ("f:driverId=me", "f:driverId"),
            ] {
                let errors = app.get(&format!("{path}?{query}")).by(&farm).send().await.errors();
                assert!(errors.iter().all(|error| error.starts_with(name)) && !errors.is_empty(), "{query}: {errors:?}");
            }
        }
        for (query, name) in [("limit=0", "limit"), ("limit=501", "limit"), ("wait=31", "wait")] {
            let errors = app.get(&format!("/v1/events?{query}")).by(&farm).send().await.errors();
            assert!(errors.iter().all(|error| error.starts_with(name)) && !errors.is_empty(), "{query}: {errors:?}");
        }
        create(&app, &farm, &full()).await;
        let reply = app.get("/v1/events?after=1.500000000").by(&farm).send().await;
        assert_eq!(reply.error(410), "not_found");
    }

    async fn a_waiting_request_is_answered_by_the_next_event(backend) {
        assert_feed_waits(&start(backend).await, &Listings).await;
    }

    async fn a_stream_sends_what_happens(backend) {
        assert_feed_streams(start(backend).await, &Listings).await;
    }

    async fn a_stream_of_the_market_is_filtered(backend) {
        let app = start(backend).await;
        let (farm, stranger) = (User::of("farm"), User::individual("eve"));
        let mut market = app.get("/v1/events/stream?scope=market&f:type=listing.updated&include=resource").by(&stranger).open().await;
        read_until(&mut market, ": open").await;
        let id = create(&app, &farm, &full()).await;
        patch(&app, &farm, &id, &json!({"tags": ["b"]})).await.ok();
        let text = read_until(&mut market, "\"tags\":[\"b\"]").await;
        assert!(text.contains("event: listing.updated") && !text.contains("listing.published"), "{text}");
        let errors = app.get("/v1/events/stream").by(&farm).header("Last-Event-ID", "x").send().await.errors();
        assert!(errors[0].starts_with("Last-Event-ID"), "{errors:?}");
    }

    async fn nothing_is_missed_beside_writers(backend) {
        let app = start(backend).await;
        // Each listing matches, once, while it is edited.
        save(&app, &User::of("farm"), json!({}), true).await;
        assert_feed_beside_writers(&app, &Listings).await;
    }
}
