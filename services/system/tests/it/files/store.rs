//! Stores that are out of reach, and what is said of them.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use system::{Settings, System};
use testkit::{App, Backend, S3, TestDatabase, User};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::stored::{Store, bucket};
use super::{Files, form, noise, on_all, part, start, start_with};

async fn is_refused(files: &Files, content: &[u8]) {
    let form = form("files", "misc", "x").part("file", part(content));
    let reply = files.upload(&User::of("farm"), form).await;
    assert_eq!(reply.header("retry-after"), "2");
    assert_eq!(reply.error(503), "dependency_unavailable");
}

testkit::on_both! {
    async fn a_folder_that_is_gone(backend) {
        let files = start(backend).await;
        let user = User::of("farm");
        let kept = files.make(&user, "misc", b"kept").await;
        assert_eq!(files.app.get("/readyz").send().await.ok()["store"], "ok");
        let Store::Folder(folder) = &files.store else { panic!() };
        let (store, aside) = (folder.path().join("store"), folder.path().join("aside"));
        fs::rename(&store, &aside).unwrap();
        // The second time an empty folder is there, as where a disk was unmounted.
        for _ in 0..2 {
            assert_eq!(files.app.get("/readyz").send().await.ok()["store"], "degraded");
            is_refused(&files, b"x").await;
            let reply = files.get(&user, &kept).await;
            assert_eq!(reply.header("retry-after"), "2");
            assert_eq!(reply.error(503), "dependency_unavailable");
            assert_eq!(files.info(&user, &kept).await.status, 200);
            fs::create_dir_all(&store).unwrap();
        }
        fs::remove_dir(&store).unwrap();
        fs::rename(&aside, &store).unwrap();
        assert_eq!(files.get(&user, &kept).await.bytes, b"kept");
        files.store.lose(&files.stored().await[0]).await;
        assert_eq!(files.get(&user, &kept).await.error(500), "internal");
    }
}

on_all! {
    async fn content_that_the_store_lost_is_mended(place) {
        let files = start(place).await;
        let user = User::of("farm");
        let content = noise(300_000);
        let first = files.make(&user, "misc", &content).await;
        files.store.lose(&files.stored().await[0]).await;
        assert_eq!(files.get(&user, &first).await.error(500), "internal");
        files.make(&user, "misc", &content).await;
        assert!(files.get(&user, &first).await.bytes == content);
        assert_eq!(files.stored().await.len(), 1);
    }

    async fn the_same_content_at_once_is_found_once(place) {
        let files = start(place).await;
        let user = User::of("farm");
        let content = noise(20_000);
        let make = || files.make(&user, "misc", &content);
        let (a, b, c, d) = tokio::join!(make(), make(), make(), make());
        for id in [a, b, c, d] {
            assert!(files.get(&user, &id).await.bytes == content);
        }
    }
}

/// A store at this address, which may be none.
async fn at(endpoint: &str) -> Files {
    let s3 = S3 { endpoint: endpoint.to_owned(), ..S3::with_unique_prefix() };
    let settings = bucket(&s3, Settings::default());
    let app = App::start::<System>(Backend::Sqlite, settings.clone()).await;
    Files { app, store: Store::of(&s3), settings }
}

#[test]
fn a_bucket_that_is_down_or_silent_is_waited_for() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let small = Duration::from_secs(6);
    testkit::block_on(async {
        for address in [closed, silent.local_addr().unwrap()] {
            let began = Instant::now();
            let files = at(&format!("http://{address}")).await;
            assert!(began.elapsed() < small, "start took {:?}", began.elapsed());
            let began = Instant::now();
            assert_eq!(files.app.get("/readyz").send().await.ok()["store"], "degraded");
            assert!(began.elapsed() < Duration::from_millis(900));
            let began = Instant::now();
            is_refused(&files, b"x").await;
            assert!(began.elapsed() < small, "{:?}", began.elapsed());
            is_refused(&files, &noise(6 << 20)).await;
            let key = files.app.post("/v1/files/resolve").by(&User::of("farm"));
            let none = key.json(&serde_json::json!({"ids": ["0198c0de-0000-7000-8000-000000000000"]}));
            assert_eq!(none.send().await.ok(), serde_json::json!([]));
        }
    });
}

/// The way to a server, which takes so many bytes and then none.
#[derive(Clone)]
struct Gate(Arc<AtomicI64>);

impl Gate {
    fn set(&self, bytes: i64) {
        self.0.store(bytes, Relaxed);
    }

    async fn closed(&self) {
        while self.0.load(Relaxed) > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn pass(&self, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(size @ 1..) = from.read(&mut buffer).await {
            let left = self.0.fetch_sub(i64::try_from(size).unwrap(), Relaxed);
            if left <= 0 || to.write_all(&buffer[..size]).await.is_err() {
                return;
            }
        }
    }

    async fn open(&self, server: String) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, gate) = (listener.local_addr().unwrap(), self.clone());
        tokio::spawn(async move {
            while let Ok((from, _)) = listener.accept().await {
                let to = tokio::net::TcpStream::connect(&server).await.unwrap();
                let gate = gate.clone();
                tokio::spawn(async move {
                    let ((read, write), (answer, ask)) = (from.into_split(), to.into_split());
                    tokio::select! {
                        () = gate.pass(read, ask) => {}
                        () = gate.pass(answer, write) => {}
                        () = gate.closed() => {}
                    }
                });
            }
        });
        format!("http://{address}")
    }
}

#[test]
fn a_bucket_that_dies_and_comes_back() {
    testkit::block_on(async {
        let gate = Gate(Arc::new(AtomicI64::new(i64::MAX)));
        let server = S3::with_unique_prefix().endpoint.strip_prefix("http://").unwrap().to_owned();
        let files = at(&gate.open(server).await).await;
        let user = User::of("farm");
        let content = noise(12 << 20);
        let kept = files.make(&user, "misc", &content).await;
        gate.set(0);
        assert_eq!(files.app.get("/readyz").send().await.ok()["store"], "degraded");
        is_refused(&files, b"new").await;
        assert_eq!(files.get(&user, &kept).await.error(503), "dependency_unavailable");
        assert_eq!(files.info(&user, &kept).await.status, 200);
        gate.set(i64::MAX);
        assert_eq!(files.app.get("/readyz").send().await.ok()["store"], "ok");
        assert!(files.get(&user, &kept).await.bytes == content);
        // It dies while the third of five parts is on its way, and while a download is.
        gate.set(12 << 20);
        is_refused(&files, &noise(25 << 20)).await;
        gate.set(6 << 20);
        let call = reqwest::Client::new().get(format!("{}/v1/files/{kept}", files.app.url));
        let answer = call.bearer_auth(user.token()).send().await.unwrap();
        assert!(answer.bytes().await.is_err(), "a client can tell that it is not all");
        gate.set(i64::MAX);
        assert_eq!(files.stored().await.len(), 1);
        assert!(files.get(&user, &kept).await.bytes == content);
    });
}

#[test]
fn a_bucket_that_is_not_there_or_not_ours_is_no_start() {
    testkit::block_on(async {
        let (s3, database) = (S3::with_unique_prefix(), TestDatabase::empty(Backend::Sqlite).await);
        let right = bucket(&s3, Settings::default());
        for wrong in [
            Settings { store_url: "s3://drover-nowhere/x".into(), ..right.clone() },
            Settings { store_secret_key: Some("guess".to_owned().into()), ..right.clone() },
            Settings { store_access_key: Some("nobody".into()), ..right },
        ] {
            let config = testkit::config::<System>(&database, wrong);
            let error = format!("{:#}", common::start::<System>(config).await.err().unwrap());
            assert!(error.starts_with("the bucket of service.store_url (s3://drover-"), "{error}");
            assert!(error.contains("service.store_secret_key") && !error.contains('\n'), "{error}");
            assert!(!error.contains(&s3.secret) && !error.contains("guess"), "{error}");
        }
    });
}

#[test]
fn a_download_that_nobody_reads_does_not_time_out() {
    testkit::block_on(async {
        let files = start_with(super::Place::Bucket, Settings::default()).await;
        let user = User::of("farm");
        let content = noise(25 << 20);
        let kept = files.make(&user, "misc", &content).await;
        let mut client =
            std::net::TcpStream::connect(files.app.url.strip_prefix("http://").unwrap()).unwrap();
        let head = format!(
            "GET /v1/files/{kept} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\r\n",
            user.token()
        );
        client.write_all(head.as_bytes()).unwrap();
        tokio::time::sleep(Duration::from_secs(7)).await;
        let read = tokio::task::spawn_blocking(move || {
            let mut read = Vec::new();
            client.read_to_end(&mut read).map(|_| read)
        });
        assert!(read.await.unwrap().unwrap().ends_with(&content));
    });
}
