//! The feed of events and its stream.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use livestock::{Livestock, Settings};
use serde_json::{Value, json};
use testkit::{App, Backend, User, read_until};

use crate::lifecycle::{draft, events, patch, read, revision, to};
use crate::sample::{create, full, plain, start};
use crate::saved_searches::save;

/// Returns a page of the feed, once all events are in it: transactions of other tests on the same server delay them.
async fn page(app: &App, user: &User, query: &str) -> Value {
    let schema = if app.database.url.starts_with("postgres") { "livestock." } else { "" };
    let changes = app.database.count(&format!("{schema}listing_events WHERE to_status <> 'draft'"));
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
        let schema = if backend == Backend::Postgres { "livestock." } else { "" };
        let old = backend.hours_ago(31 * 24);
        app.database.execute(&format!("UPDATE {schema}match_events SET at = {old}"));
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
        let app = start(backend).await;
        let (farm, begun) = (User::of("farm"), Instant::now());
        let now = page(&app, &farm, "after=now").await;
        let after = now["cursor"].as_str().unwrap();
        let wait = async |user: User, scope: &str, first: &str| {
            let found = request(&app, &user, &format!("scope={scope}&after={after}&wait=20")).await;
            assert_eq!(values(found["events"].as_array().unwrap(), "type"), [first], "{scope}");
            begun.elapsed()
        };
        let act = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            // Events of others do not end the wait of an organisation, nor do drafts.
            create(&app, &User::of("other"), &full()).await;
            let id = draft(&app, &farm).await;
            tokio::time::sleep(Duration::from_millis(700)).await;
            to(&app, &farm, &id, "cancelled").send().await.ok();
            begun.elapsed()
        };
        let (own, market, acted) = tokio::join!(
            wait(farm.clone(), "own", "listing.closed"),
            wait(User::individual("eve"), "market", "listing.published"),
            act,
        );
        assert!(own < acted + Duration::from_secs(2) && market < acted + Duration::from_secs(2), "{own:?} {market:?}");
        let cursor = page(&app, &farm, "").await["cursor"].as_str().unwrap().to_owned();
        let begun = Instant::now();
        let found = request(&app, &farm, &format!("wait=1&after={cursor}")).await;
        assert_eq!((&found["events"], &found["cursor"]), (&json!([]), &json!(cursor)));
        assert!(begun.elapsed() >= Duration::from_millis(900), "{:?}", begun.elapsed());
    }

    async fn a_stream_sends_what_happens(backend) {
        let app = start(backend).await;
        let (farm, stranger) = (User::of("farm"), User::individual("eve"));
        let before = create(&app, &farm, &full()).await;
        let mut stream = app.get("/v1/events/stream").by(&farm).open().await;
        let mut market = app.get("/v1/events/stream?scope=market&f:type=listing.updated&include=resource").by(&stranger).open().await;
        assert_eq!(stream.headers()["content-type"], "text/event-stream");
        read_until(&mut stream, ": open").await;
        read_until(&mut market, ": open").await;
        let id = create(&app, &farm, &full()).await;
        let text = read_until(&mut stream, &id).await;
        assert!(text.contains("event: listing.published\ndata: {") && !text.contains(&before), "{text}");
        let cursor = text.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
        patch(&app, &farm, &id, &json!({"tags": ["b"]})).await.ok();
        read_until(&mut stream, "listing.updated").await;
        let text = read_until(&mut market, "\"tags\":[\"b\"]").await;
        assert!(text.contains("event: listing.updated") && !text.contains("listing.published"), "{text}");
        // A stream that continues has what happened meanwhile.
        let mut next = app.get("/v1/events/stream?after=now").by(&farm).header("Last-Event-ID", &cursor).open().await;
        let text = read_until(&mut next, "listing.updated").await;
        assert!(!text.contains("listing.published"), "{text}");
        let errors = app.get("/v1/events/stream").by(&farm).header("Last-Event-ID", "x").send().await.errors();
        assert!(errors[0].starts_with("Last-Event-ID"), "{errors:?}");
    }

    async fn nothing_is_missed_beside_writers(backend) {
        const WRITERS: usize = 4;
        const CHANGES: usize = 15;
        let app = start(backend).await;
        let farm = User::of("farm");
        // Each listing matches, once, while it is edited.
        save(&app, &User::of("farm"), json!({}), true).await;
        let shared = create(&app, &farm, &full()).await;
        let write = async |writer: usize| {
            let id = create(&app, &farm, &full()).await;
            for n in 1..=CHANGES {
                patch(&app, &farm, &id, &json!({"tags": [n.to_string()]})).await.ok();
                patch(&app, &farm, &shared, &json!({"tags": [format!("{writer} {n}")]})).await.ok();
            }
        };
        let expected = 2 * (WRITERS + 1) + 2 * WRITERS * CHANGES;
        let until = Instant::now() + Duration::from_secs(60);
        let follow = async {
            let (mut seen, mut after) = (Vec::new(), String::new());
            // Transactions of other tests on the same server may delay the last events.
            loop {
                let found = request(&app, &farm, &format!("limit=7{after}")).await;
                seen.extend(found["events"].as_array().unwrap().clone());
                after = format!("&after={}", found["cursor"].as_str().unwrap());
                if seen.len() >= expected || Instant::now() > until {
                    return seen;
                }
            }
        };
        let write_all = async {
            tokio::join!(write(0), write(1), write(2), write(3));
        };
        let (seen, ()) = tokio::join!(follow, write_all);
        let ids: BTreeSet<_> = seen.iter().map(|event| event["id"].as_str().unwrap()).collect();
        assert_eq!((ids.len(), seen.len()), (expected, expected), "events were missed or came twice");
        let mut of_listing: BTreeMap<&str, Vec<(i64, bool)>> = BTreeMap::new();
        for event in &seen {
            let entry = (event["revision"].as_i64().unwrap(), event["type"] == "listing.matched");
            of_listing.entry(event["listingId"].as_str().unwrap()).or_default().push(entry);
        }
        assert_eq!(of_listing.len(), WRITERS + 1);
        for (id, events) in of_listing {
            assert!(events.iter().map(|(revision, _)| revision).is_sorted(), "{id}: {events:?}");
            let changes: Vec<_> = events.iter().filter(|(_, is_match)| !is_match).map(|(revision, _)| *revision).collect();
            assert_eq!(changes, (1..=revision(&app, id).await).collect::<Vec<_>>(), "{id}");
        }
    }
}

/// The ids of transactions on another server may be smaller.
#[test]
fn a_cursor_holds_after_a_move_to_another_server() {
    testkit::block_on(async {
        let app = start(Backend::Postgres).await;
        let farm = User::of("farm");
        create(&app, &farm, &full()).await;
        let cursor = page(&app, &farm, "").await["cursor"].as_str().unwrap().to_owned();
        let (position, n) = cursor.split_once('.').unwrap();
        let moved = i64::from_str_radix(position, 16).unwrap() + 1_000_000_000;
        let database = app.stop().await;
        // Citus takes ALTER TABLE only by itself.
        database.execute("ALTER TABLE livestock.listing_events DISABLE TRIGGER USER");
        database.execute("UPDATE livestock.listing_events SET position = position + 1000000000");
        database.execute("ALTER TABLE livestock.listing_events ENABLE TRIGGER USER");
        let app = App::start_on::<Livestock>(database, Settings::default()).await;
        let later = create(&app, &farm, &full()).await;
        assert_eq!(all(&app, &farm, "").await.len(), 2);
        let found = page(&app, &farm, &format!("after={moved:x}.{n}")).await;
        assert_eq!(values(found["events"].as_array().unwrap(), "listingId"), [&later]);
    });
}
