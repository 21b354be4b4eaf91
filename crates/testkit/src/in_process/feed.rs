//! Checks of the feed of events (docs/api/events.md), which hold for the resources of every service.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::sleep;

use super::app::{App, read_until};
use super::receiver::wait_until;
use super::user::User;

/// Resources whose events a feed contains.
#[expect(async_fn_in_trait, reason = "each test runs on one thread")]
pub trait FollowedResource {
    /// The member of an event that has the id of its resource.
    const ID: &'static str;
    /// The type of the first event of a resource.
    const CREATED: &'static str;
    /// The type of the event of a change.
    const CHANGED: &'static str;
    /// The type of an event that follows each creation once, without a change. Empty if there is none.
    const ADDED: &'static str;

    /// Returns the user who follows the resources.
    fn follower(&self) -> User;

    /// Returns a user who gets no event of the follower's resources without a query, and the query with which this user
    /// gets those of [`create_unseen`](Self::create_unseen).
    fn bystander(&self) -> (User, &str);

    /// Creates a resource that the follower sees. Returns its id.
    async fn create(&self, app: &App) -> String;

    /// Creates resources of which the follower gets no event.
    async fn create_unseen(&self, app: &App);

    /// Sets a member of a resource to a value that depends on this number.
    async fn change(&self, app: &App, id: &str, to: usize);

    /// Returns the present revision of a resource.
    async fn revision(&self, app: &App, id: &str) -> i64;
}

async fn page(app: &App, user: &User, query: &str) -> Value {
    app.get(&format!("/v1/events?{query}")).by(user).send().await.ok()
}

fn types(page: &Value) -> Vec<&str> {
    page["events"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// Asserts that a waiting request is answered by the next event that its user sees, and without one after its time.
///
/// # Panics
/// If it is not.
pub async fn assert_feed_waits<R: FollowedResource>(app: &App, resource: &R) {
    let (follower, begun) = (resource.follower(), Instant::now());
    let now = page(app, &follower, "after=now").await;
    let after = now["cursor"].as_str().unwrap();
    let wait = async |user: &User, query: &str| {
        let found = page(app, user, &format!("after={after}&wait=20&{query}")).await;
        assert_eq!(types(&found), [R::CREATED], "{query}");
        (begun.elapsed(), found["cursor"].as_str().unwrap().to_owned())
    };
    let act = async {
        sleep(Duration::from_millis(300)).await;
        resource.create_unseen(app).await;
        sleep(Duration::from_millis(700)).await;
        resource.create(app).await;
        begun.elapsed()
    };
    let (bystander, query) = resource.bystander();
    let ((own, cursor), (other, _), acted) = tokio::join!(wait(&follower, ""), wait(&bystander, query), act);
    assert!(own.max(other) < acted + Duration::from_secs(2), "{own:?} {other:?} {acted:?}");
    let begun = Instant::now();
    let found = page(app, &follower, &format!("wait=1&after={cursor}")).await;
    assert_eq!((&found["events"], &found["cursor"]), (&json!([]), &json!(cursor)));
    assert!(begun.elapsed() >= Duration::from_millis(900), "{:?}", begun.elapsed());
}

/// Asserts that a stream sends what happens from then on and, when it is continued, what happened meanwhile; that a
/// user has at most five; and that streams end when the service stops.
///
/// # Panics
/// If they do not.
pub async fn assert_feed_streams<R: FollowedResource>(app: App, resource: &R) {
    let (created, changed) = (format!("event: {}\ndata: {{", R::CREATED), format!("event: {}\n", R::CHANGED));
    let stream = |user: &User, query: &str| app.get(&format!("/v1/events/stream{query}")).by(user);
    let follower = resource.follower();
    let before = resource.create(&app).await;
    // Transactions of other tests on the same server may delay it.
    wait_until(async || page(&app, &follower, "").await.to_string().contains(&before)).await;
    let mut first = stream(&follower, "").header("Accept-Encoding", "gzip").open().await;
    assert_eq!(first.headers()["content-type"], "text/event-stream");
    assert!(first.headers().get("content-encoding").is_none());
    read_until(&mut first, ": open").await;
    let id = resource.create(&app).await;
    let text = read_until(&mut first, &id).await;
    assert!(text.contains(&created) && !text.contains(&before), "{text}");
    let cursor = text.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    resource.change(&app, &id, 12).await;
    read_until(&mut first, &changed).await;
    for (user, count) in [(&follower, 3), (&resource.bystander().0, 0)] {
        let all = stream(user, "?after=8000000000000000.0").send().await;
        assert_eq!((all.status, all.text().matches("event:").count()), (200, count), "{}", all.text());
    }
    // A stream that continues sends what happened meanwhile.
    let mut next = stream(&follower, "?after=now").header("Last-Event-ID", &cursor).open().await;
    let text = read_until(&mut next, &changed).await;
    assert!(!text.contains(R::CREATED), "{text}");
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(stream(&follower, "").open().await);
    }
    assert_eq!(stream(&follower, "").send().await.error(429), "rate_limited");
    drop(open);
    wait_until(async || stream(&follower, "").open().await.status() == 200).await;
    // Streams and waiting requests end when the service stops, instead of delaying it.
    let waiting = tokio::spawn(app.get("/v1/events?wait=30").by(&User::individual("nobody")).send());
    sleep(Duration::from_millis(300)).await;
    let begun = Instant::now();
    let waited = async { (waiting.await.unwrap().ok()["events"].clone(), begun.elapsed()) };
    let (_database, rest, (events, waited)) = tokio::join!(app.stop(), next.text(), waited);
    assert!(rest.is_ok() && begun.elapsed() < Duration::from_secs(10), "{rest:?} {:?}", begun.elapsed());
    assert_eq!((events, waited < Duration::from_secs(5)), (json!([]), true), "{waited:?}");
}

const WRITERS: usize = 4;
/// How often each writer changes a resource of its own, and how often the shared one.
const CHANGES: usize = 15;

/// Asserts that a reader gets each event of concurrent writers once, and those of a resource in the order of its
/// revisions.
///
/// # Panics
/// If the reader does not.
pub async fn assert_feed_beside_writers<R: FollowedResource>(app: &App, resource: &R) {
    let shared = resource.create(app).await;
    let write = async |writer: usize| {
        let id = resource.create(app).await;
        for n in 1..=CHANGES {
            resource.change(app, &id, n).await;
            resource.change(app, &shared, n * 10 + writer).await;
        }
    };
    let added = usize::from(!R::ADDED.is_empty());
    let expected = (1 + added) * (WRITERS + 1) + 2 * WRITERS * CHANGES;
    // Transactions of other tests on the same server may delay the last events for minutes.
    let until = Instant::now() + Duration::from_secs(300);
    let follow = async {
        let (mut seen, mut after) = (Vec::new(), String::new());
        while seen.len() < expected && Instant::now() < until {
            let found = page(app, &resource.follower(), &format!("limit=7{after}")).await;
            seen.extend(found["events"].as_array().unwrap().clone());
            after = format!("&after={}", found["cursor"].as_str().unwrap());
        }
        seen
    };
    let write_all = async {
        tokio::join!(write(0), write(1), write(2), write(3));
    };
    let (seen, ()) = tokio::join!(follow, write_all);
    let ids: BTreeSet<_> = seen.iter().map(|event| event["id"].as_str().unwrap()).collect();
    assert_eq!((ids.len(), seen.len()), (expected, expected), "events were missed or came twice");
    let mut by_resource: BTreeMap<&str, Vec<(i64, bool)>> = BTreeMap::new();
    for event in &seen {
        let entry = (event["revision"].as_i64().unwrap(), event["type"] == R::ADDED);
        by_resource.entry(event[R::ID].as_str().unwrap()).or_default().push(entry);
    }
    assert_eq!(by_resource.len(), WRITERS + 1);
    for (id, events) in by_resource {
        assert!(events.iter().map(|(revision, _)| revision).is_sorted(), "{id}: {events:?}");
        let changes: Vec<_> = events.iter().filter(|(_, is_added)| !is_added).map(|(n, _)| *n).collect();
        assert_eq!(changes, (1..=resource.revision(app, id).await).collect::<Vec<_>>(), "{id}");
    }
}
