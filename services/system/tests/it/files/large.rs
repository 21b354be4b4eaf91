//! Large answers, and clients that do not read them.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Backend, User};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Files, start};

/// Files with an answer of 4 MB.
async fn make(files: &Files, user: &User) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..25 {
        ids.push(files.make(user, "misc", b"x").await);
    }
    ids
}

fn long_names() -> Vec<String> {
    (0..200).map(|i| format!("{i:03}{}", "\u{20000}".repeat(197))).collect()
}

/// Reads the status of an answer and no more.
async fn ask(files: &Files, user: &User, body: &Value) -> (TcpStream, String) {
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

testkit::on_both! {
    async fn only_a_few_large_answers_are_held(backend) {
        let files = start(backend).await;
        let farms = ["farm", "mart", "haulier", "mill"].map(User::of);
        let mut large = Vec::new();
        for farm in &farms {
            large.push(json!({"ids": make(&files, farm).await}));
        }
        let late = User::of("late");
        let late_large = json!({"ids": make(&files, &late).await});
        files.set_organisations(backend, &long_names());
        let whole = files.resolve(&late, late_large.clone()).await.ok();
        assert_eq!(whole[24]["organisations"], json!(long_names()));
        let mut held = Vec::new();
        for (farm, large) in farms.iter().zip(&large) {
            for _ in 0..2 {
                let (stream, status) = ask(&files, farm, large).await;
                assert_eq!(status, "200");
                held.push(stream);
            }
        }
        let reply = files.resolve(&late, late_large.clone()).await;
        assert!(reply.text().contains("with fewer ids"), "{}", reply.text());
        assert_eq!(reply.header("retry-after"), "2");
        assert_eq!(reply.error(503), "dependency_unavailable");
        // Nothing is changed then.
        let ids = &late_large["ids"];
        let unshare = json!({"ids": ids, "unshareWith": [long_names()[7]]});
        assert_eq!(files.resolve(&late, unshare).await.error(503), "dependency_unavailable");
        assert_eq!(files.info(&late, ids[0].as_str().unwrap()).await.ok()["organisations"], json!(long_names()));
        // Small answers need no permit.
        let one = files.resolve(&late, json!({"ids": [ids[0]]})).await.ok();
        assert_eq!(one[0], whole[0]);
        let brief = files.resolve(&late, json!({"ids": ids, "brief": true})).await.ok();
        assert_eq!(brief.as_array().unwrap().len(), 25);
        // An answer that is given up, or read, makes room.
        let waiting = ask(&files, &late, &late_large);
        let dropping = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            held.pop();
        };
        let ((mut stream, status), ()) = tokio::join!(waiting, dropping);
        assert_eq!(status, "200");
        let mut read = 0;
        while read < 3_970_000 {
            let mut buffer = vec![0; 65_536];
            read += stream.read(&mut buffer).await.unwrap();
        }
        assert_eq!(files.resolve(&late, late_large).await.ok(), whole);
    }

    async fn one_caller_holds_two_large_answers(backend) {
        let files = start(backend).await;
        let (farm, colleague) = (User::of("farm"), User::of("farm").with("sub", "colleague"));
        let alone = [User::individual("a"), User::individual("b")];
        let mut ids = Vec::new();
        for user in [&farm, &alone[0], &alone[1]] {
            ids.push(json!({"ids": make(&files, user).await}));
        }
        files.set_organisations(backend, &long_names());
        let mut held = Vec::new();
        // An organisation is one caller, whoever acts for it; a user without one is one too.
        for (user, other, large) in [(&farm, &colleague, &ids[0]), (&alone[0], &alone[0], &ids[1])] {
            for user in [user, other] {
                let (stream, status) = ask(&files, user, large).await;
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
        assert_eq!(files.resolve(&colleague, ids[0].clone()).await.status, 200);
    }

    async fn files_are_loaded_with_a_permit(backend) {
        let files = start(backend).await;
        let farm = User::of("farm");
        let large = json!({"ids": make(&files, &farm).await});
        files.set_organisations(backend, &long_names());
        let mut held = Vec::new();
        for _ in 0..2 {
            held.push(ask(&files, &farm, &large).await);
        }
        // Rows that cannot be read: 500 if they are loaded. Those of a brief answer are.
        let table = if backend == Backend::Postgres { "system.files" } else { "files" };
        let wrong = format!("UPDATE {table} SET organisations = '[5, \"{}\"]'", "x".repeat(60_000));
        files.app.database.execute(&wrong);
        let unshare = json!({"ids": large["ids"], "unshareWith": ["x"]});
        for body in [&large, &unshare] {
            assert_eq!(files.resolve(&farm, body.clone()).await.error(429), "rate_limited");
        }
        let brief = json!({"ids": large["ids"], "brief": true});
        assert_eq!(files.resolve(&farm, brief).await.error(500), "internal");
        held.clear();
        assert_eq!(files.resolve(&farm, large).await.error(500), "internal");
    }

    async fn brief_answers_have_no_organisations(backend) {
        let files = start(backend).await;
        let farm = User::of("farm");
        let id = files.make(&farm, "misc", b"x").await;
        let body = json!({"ids": [id], "shareWith": ["mart"], "brief": true});
        let mut brief = files.resolve(&farm, body).await.ok();
        assert_eq!(brief[0]["organisations"], json!([]));
        assert_eq!(files.resolve(&farm, json!({"ids": [id], "brief": true})).await.ok(), brief);
        brief[0]["organisations"] = json!(["mart"]);
        assert_eq!(files.resolve(&farm, json!({"ids": [id], "brief": false})).await.ok(), brief);
        let wrong = files.resolve(&farm, json!({"ids": [id], "brief": "yes"})).await;
        assert_eq!(wrong.errors(), ["brief type"]);
    }
}

#[test]
fn a_tenant_resolves_two_lists_at_a_time() {
    testkit::block_on(async {
        let files = start(Backend::Postgres).await;
        let (farm, other) = (User::of("farm"), User::of("mart"));
        let body = json!({"ids": [files.make(&farm, "misc", b"x").await], "brief": true});
        let locked = "BEGIN; LOCK TABLE system.files IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(2); COMMIT";
        let url = files.app.database.url.clone();
        let lock = std::thread::spawn(move || testkit::execute(&url, locked));
        tokio::time::sleep(Duration::from_millis(300)).await;
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
