//! Limits of large responses to clients that do not read them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Backend, TestResponse, User};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Files, start};

/// Creates 25 files, whose resolve response has 4 MB with [`long_names`].
async fn make_large(files: &Files, user: &User) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..25 {
        ids.push(files.make(user, "misc", b"x").await);
    }
    ids
}

fn long_names() -> Vec<String> {
    (0..200).map(|i| format!("{i:03}{}", "\u{20000}".repeat(197))).collect()
}

/// Sends a resolve request and reads only the status of the response.
async fn resolve_without_reading(files: &Files, user: &User, body: &Value) -> (TcpStream, String) {
    let body = body.to_string();
    let mut stream = TcpStream::connect(files.app.url.trim_start_matches("http://")).await.unwrap();
    let request = format!(
        "POST /v1/files/resolve HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\
         content-type: application/json\r\n\r\n{body}",
        user.token(),
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut status = [0; 12];
    stream.read_exact(&mut status).await.unwrap();
    (stream, String::from_utf8_lossy(&status[9..]).into_owned())
}

/// Resolves files again and again until there is a permit, at most ten times. An aborted or completely read response
/// releases its permit when the server notices that, which on a busy machine takes longer than a request waits.
async fn resolve_when_permitted(files: &Files, user: &User, body: &Value) -> TestResponse {
    for _ in 0..10 {
        let reply = files.resolve(user, body.clone()).await;
        if ![429, 503].contains(&reply.status) {
            return reply;
        }
    }
    panic!("the permit is not released");
}

testkit::on_both! {
    async fn limits_large_responses_in_memory(backend) {
        let files = start(backend).await;
        let farms = ["farm", "mart", "haulier", "mill"].map(User::of);
        let mut large = Vec::new();
        for farm in &farms {
            large.push(json!({"ids": make_large(&files, farm).await}));
        }
        let other = User::of("other");
        let other_large = json!({"ids": make_large(&files, &other).await});
        files.set_organisations(backend, &long_names());
        let whole = files.resolve(&other, other_large.clone()).await.ok();
        assert_eq!(whole[24]["organisations"], json!(long_names()));
        let mut held = Vec::new();
        for (farm, large) in farms.iter().zip(&large) {
            for _ in 0..2 {
                let (stream, status) = resolve_without_reading(&files, farm, large).await;
                assert_eq!(status, "200");
                held.push(stream);
            }
        }
        let reply = files.resolve(&other, other_large.clone()).await;
        assert!(reply.text().contains("with fewer ids"), "{}", reply.text());
        assert_eq!(reply.header("retry-after"), "2");
        assert_eq!(reply.error(503), "dependency_unavailable");
        // A refused call changes nothing.
        let ids = &other_large["ids"];
        let unshare = json!({"ids": ids, "unshareWith": [long_names()[7]]});
        assert_eq!(files.resolve(&other, unshare).await.error(503), "dependency_unavailable");
        assert_eq!(files.info(&other, ids[0].as_str().unwrap()).await.ok()["organisations"], json!(long_names()));
        // Small responses need no permit.
        let one = files.resolve(&other, json!({"ids": [ids[0]]})).await.ok();
        assert_eq!(one[0], whole[0]);
        let brief = files.resolve(&other, json!({"ids": ids, "brief": true})).await.ok();
        assert_eq!(brief.as_array().unwrap().len(), 25);
        // An aborted or completely read response releases its permit.
        held.pop();
        assert_eq!(resolve_when_permitted(&files, &other, &other_large).await.ok(), whole);
        let (mut stream, mut status) = resolve_without_reading(&files, &other, &other_large).await;
        for _ in 0..10 {
            if status == "200" {
                break;
            }
            (stream, status) = resolve_without_reading(&files, &other, &other_large).await;
        }
        assert_eq!(status, "200");
        let mut read = 0;
        while read < 3_970_000 {
            let mut buffer = vec![0; 65_536];
            read += stream.read(&mut buffer).await.unwrap();
        }
        assert_eq!(resolve_when_permitted(&files, &other, &other_large).await.ok(), whole);
    }

    async fn limits_large_responses_per_tenant(backend) {
        let files = start(backend).await;
        let (farm, colleague) = (User::of("farm"), User::of("farm").with("sub", "colleague"));
        let alone = [User::individual("a"), User::individual("b")];
        let mut ids = Vec::new();
        for user in [&farm, &alone[0], &alone[1]] {
            ids.push(json!({"ids": make_large(&files, user).await}));
        }
        files.set_organisations(backend, &long_names());
        let mut held = Vec::new();
        // A tenant is an organisation, or a user without an organisation.
        for (user, second, large) in [(&farm, &colleague, &ids[0]), (&alone[0], &alone[0], &ids[1])] {
            for user in [user, second] {
                let (stream, status) = resolve_without_reading(&files, user, large).await;
                assert_eq!(status, "200");
                held.push(stream);
            }
            let reply = files.resolve(user, large.clone()).await;
            assert!(reply.text().contains("with fewer ids"), "{}", reply.text());
            assert_eq!(reply.error(429), "rate_limited");
        }
        let next = files.resolve(&alone[1], ids[2].clone()).await.ok();
        assert_eq!(next.as_array().unwrap().len(), 25);
        held.remove(0);
        assert_eq!(resolve_when_permitted(&files, &colleague, &ids[0]).await.status, 200);
    }

    async fn loads_files_only_with_a_permit(backend) {
        let files = start(backend).await;
        let farm = User::of("farm");
        let large = json!({"ids": make_large(&files, &farm).await});
        files.set_organisations(backend, &long_names());
        let mut held = Vec::new();
        for _ in 0..2 {
            held.push(resolve_without_reading(&files, &farm, &large).await);
        }
        // Makes the rows invalid: loading them is 500. A brief response loads them without a permit.
        let update = format!("UPDATE files SET organisations = '[5, \"{}\"]'", "x".repeat(60_000));
        files.app.database.execute(&update);
        let unshare = json!({"ids": large["ids"], "unshareWith": ["x"]});
        for body in [&large, &unshare] {
            assert_eq!(files.resolve(&farm, body.clone()).await.error(429), "rate_limited");
        }
        let brief = json!({"ids": large["ids"], "brief": true});
        assert_eq!(files.resolve(&farm, brief).await.error(500), "internal");
        held.clear();
        assert_eq!(resolve_when_permitted(&files, &farm, &large).await.error(500), "internal");
    }

    async fn brief_responses_have_no_organisations(backend) {
        let files = start(backend).await;
        let farm = User::of("farm");
        let id = files.make(&farm, "misc", b"x").await;
        let body = json!({"ids": [id], "shareWith": ["mart"], "brief": true});
        let mut brief = files.resolve(&farm, body).await.ok();
        assert_eq!(brief[0]["organisations"], json!([]));
        assert_eq!(files.resolve(&farm, json!({"ids": [id], "brief": true})).await.ok(), brief);
        brief[0]["organisations"] = json!(["mart"]);
        assert_eq!(files.resolve(&farm, json!({"ids": [id], "brief": false})).await.ok(), brief);
        let invalid = files.resolve(&farm, json!({"ids": [id], "brief": "yes"})).await;
        assert_eq!(invalid.errors(), ["brief type"]);
    }
}

#[test]
fn limits_concurrent_resolve_calls_per_tenant_on_postgres() {
    testkit::block_on(async {
        let files = start(Backend::Postgres).await;
        let (farm, other) = (User::of("farm"), User::of("mart"));
        let body = json!({"ids": [files.make(&farm, "misc", b"x").await], "brief": true});
        let locked = "BEGIN; LOCK TABLE system.files IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(4); COMMIT";
        let url = files.app.database.url.clone();
        let lock = std::thread::spawn(move || testkit::execute(&url, locked));
        let is_locked = "pg_locks WHERE granted AND mode = 'AccessExclusiveLock' \
                         AND relation = 'system.files'::regclass";
        let begun = Instant::now();
        while files.app.database.count(is_locked) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(10), "the table is not locked");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let resolve = |user| files.resolve(user, body.clone());
        let (a, b, c, others) = tokio::join!(resolve(&farm), resolve(&farm), resolve(&farm), resolve(&other));
        let replies = [a, b, c];
        let mut statuses = replies.each_ref().map(|reply| reply.status);
        statuses.sort_unstable();
        assert_eq!((statuses, others.status), ([200, 200, 429], 200));
        let busy = replies.iter().find(|reply| reply.status == 429).unwrap();
        assert_eq!((busy.header("retry-after"), &busy.json()["code"]), ("1", &json!("rate_limited")));
        lock.join().unwrap();
    });
}
