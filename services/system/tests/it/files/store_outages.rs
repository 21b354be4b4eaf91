//! Stores that are unavailable, incomplete or wrongly configured.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use system::{Settings, System};
use testkit::{App, Backend, BadResponse, S3, TestDatabase, User};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::store_fixture::{StoreFixture, bucket};
use super::{Files, form, noise, on_all, part, start, start_with};

async fn assert_unavailable(files: &Files, content: &[u8]) {
    let form = form("files", "misc", "x").part("file", part(content));
    let reply = files.upload(&User::of("farm"), form).await;
    assert_eq!(reply.header("retry-after"), "2");
    assert_eq!(reply.error(503), "dependency_unavailable");
}

testkit::on_both! {
    async fn missing_folder_is_unavailable_and_recovers(backend) {
        let files = start(backend).await;
        let user = User::of("farm");
        let id = files.make(&user, "misc", b"stored").await;
        files.app.wait_for_readiness("store", "ok").await;
        let StoreFixture::Folder(folder) = &files.store else { panic!() };
        let (store, aside) = (folder.path().join("store"), folder.path().join("aside"));
        fs::rename(&store, &aside).unwrap();
        // In the second round the folder is empty, like the mount point of an unmounted disk.
        for _ in 0..2 {
            files.app.wait_for_readiness("store", "degraded").await;
            assert_unavailable(&files, b"x").await;
            let reply = files.get(&user, &id).await;
            assert_eq!(reply.header("retry-after"), "2");
            assert_eq!(reply.error(503), "dependency_unavailable");
            assert_eq!(files.info(&user, &id).await.status, 200);
            fs::create_dir_all(&store).unwrap();
        }
        fs::remove_dir(&store).unwrap();
        fs::rename(&aside, &store).unwrap();
        assert_eq!(files.get(&user, &id).await.bytes, b"stored");
        files.store.remove(&files.stored().await[0]).await;
        assert_eq!(files.get(&user, &id).await.error(500), "internal");
    }
}

on_all! {
    async fn uploading_lost_content_again_restores_it(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let content = noise(300_000);
        let first = files.make(&user, "misc", &content).await;
        files.store.remove(&files.stored().await[0]).await;
        assert_eq!(files.get(&user, &first).await.error(500), "internal");
        files.make(&user, "misc", &content).await;
        assert!(files.get(&user, &first).await.bytes == content);
        assert_eq!(files.stored().await.len(), 1);
    }

    async fn concurrent_uploads_of_equal_content_are_all_readable(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let content = noise(20_000);
        let make = || files.make(&user, "misc", &content);
        let (a, b, c, d) = tokio::join!(make(), make(), make(), make());
        for id in [a, b, c, d] {
            assert!(files.get(&user, &id).await.bytes == content);
        }
    }
}

/// Starts a service whose S3 endpoint is this address.
async fn start_at(endpoint: &str) -> Files {
    let s3 = S3 { endpoint: endpoint.to_owned(), ..S3::with_unique_prefix() };
    let settings = bucket(&s3, Settings::default());
    let app = App::start::<System>(Backend::Sqlite, settings.clone()).await;
    Files { app, store: StoreFixture::of(&s3), settings }
}

#[test]
fn starts_without_s3_and_times_out_calls() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    // Retries of the S3 client take four seconds, and a call without a timeout takes at least 30.
    let limit = Duration::from_secs(20);
    testkit::block_on(async {
        for address in [closed, silent.local_addr().unwrap()] {
            let began = Instant::now();
            let files = start_at(&format!("http://{address}")).await;
            assert!(began.elapsed() < limit, "start took {:?}", began.elapsed());
            files.assert_soon_degraded("store").await;
            let began = Instant::now();
            assert_unavailable(&files, b"x").await;
            assert!(began.elapsed() < limit, "{:?}", began.elapsed());
            assert_unavailable(&files, &noise(6 << 20)).await;
            let key = files.app.post("/v1/files/resolve").by(&User::of("farm"));
            let none = key.json(&serde_json::json!({"ids": ["0198c0de-0000-7000-8000-000000000000"]}));
            assert_eq!(none.send().await.ok(), serde_json::json!([]));
        }
    });
}

#[test]
fn s3_that_sends_nonsense_is_unavailable() {
    use BadResponse::{HalfThenClose, HalfThenStall, InternalError, NotHttp};
    testkit::block_on(async {
        let uploads = [InternalError, NotHttp, HalfThenStall, HalfThenClose].map(|response| async move {
            let files = start_at(&response.serve()).await;
            let began = Instant::now();
            assert_unavailable(&files, b"x").await;
            assert!(began.elapsed() < Duration::from_secs(20), "{response:?}: {:?}", began.elapsed());
        });
        futures_util::future::join_all(uploads).await;
    });
}

/// A TCP proxy that passes a number of bytes and then closes all connections.
#[derive(Clone)]
struct LimitedProxy(Arc<AtomicI64>);

impl LimitedProxy {
    fn set(&self, bytes: i64) {
        self.0.store(bytes, Relaxed);
    }

    async fn exhausted(&self) {
        while self.0.load(Relaxed) > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn forward(&self, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(size @ 1..) = from.read(&mut buffer).await {
            let left = self.0.fetch_sub(i64::try_from(size).unwrap(), Relaxed);
            if left <= 0 || to.write_all(&buffer[..size]).await.is_err() {
                return;
            }
        }
    }

    async fn start(&self, server: String) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, proxy) = (listener.local_addr().unwrap(), self.clone());
        tokio::spawn(async move {
            while let Ok((from, _)) = listener.accept().await {
                let to = tokio::net::TcpStream::connect(&server).await.unwrap();
                let proxy = proxy.clone();
                tokio::spawn(async move {
                    let ((client_read, client_write), (server_read, server_write)) =
                        (from.into_split(), to.into_split());
                    tokio::select! {
                        () = proxy.forward(client_read, server_write) => {}
                        () = proxy.forward(server_read, client_write) => {}
                        () = proxy.exhausted() => {}
                    }
                });
            }
        });
        format!("http://{address}")
    }
}

#[test]
fn outages_of_s3_store_nothing_and_recover() {
    testkit::block_on(async {
        let proxy = LimitedProxy(Arc::new(AtomicI64::new(i64::MAX)));
        let server = S3::with_unique_prefix().endpoint.strip_prefix("http://").unwrap().to_owned();
        let files = start_at(&proxy.start(server).await).await;
        let user = User::of("farm");
        let content = noise(12 << 20);
        let id = files.make(&user, "misc", &content).await;
        proxy.set(0);
        files.app.wait_for_readiness("store", "degraded").await;
        assert_unavailable(&files, b"new").await;
        assert_eq!(files.get(&user, &id).await.error(503), "dependency_unavailable");
        assert_eq!(files.info(&user, &id).await.status, 200);
        proxy.set(i64::MAX);
        files.app.wait_for_readiness("store", "ok").await;
        assert!(files.get(&user, &id).await.bytes == content);
        // Connections break while the third of five parts is sent, and during a download.
        proxy.set(12 << 20);
        assert_unavailable(&files, &noise(25 << 20)).await;
        proxy.set(6 << 20);
        let call = reqwest::Client::new().get(format!("{}/v1/files/{id}", files.app.url));
        let response = call.bearer_auth(user.token()).send().await.unwrap();
        assert!(response.bytes().await.is_err(), "the client detects the truncation");
        proxy.set(i64::MAX);
        assert_eq!(files.stored().await.len(), 1);
        assert!(files.get(&user, &id).await.bytes == content);
    });
}

#[test]
fn refuses_to_start_with_a_missing_s3_bucket_or_wrong_credentials() {
    testkit::block_on(async {
        let (s3, database) = (S3::with_unique_prefix(), TestDatabase::empty(Backend::Sqlite).await);
        let valid = bucket(&s3, Settings::default());
        for invalid in [
            Settings { store_url: "s3://drover-nowhere/x".into(), ..valid.clone() },
            Settings { store_secret_key: Some("guess".to_owned().into()), ..valid.clone() },
            Settings { store_access_key: Some("nobody".into()), ..valid },
        ] {
            let config = testkit::config::<System>(&database, invalid);
            let error = format!("{:#}", common::start::<System>(config).await.err().unwrap());
            assert!(error.starts_with("the bucket s3://drover-"), "{error}");
            assert!(error.contains("service.store_url (DROVER_SERVICE__STORE_URL)"), "{error}");
            assert!(error.contains("service.store_secret_key") && !error.contains('\n'), "{error}");
            assert!(!error.contains(&s3.secret) && !error.contains("guess"), "{error}");
        }
    });
}

#[test]
fn slowly_read_downloads_from_s3_do_not_time_out() {
    testkit::block_on(async {
        let files = start_with(super::Storage::Bucket, Settings::default()).await;
        let user = User::of("farm");
        let content = noise(25 << 20);
        let id = files.make(&user, "misc", &content).await;
        let mut client =
            std::net::TcpStream::connect(files.app.url.strip_prefix("http://").unwrap()).unwrap();
        let head = format!(
            "GET /v1/files/{id} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\r\n",
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
