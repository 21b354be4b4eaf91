//! Uploads that are too slow or have no end.

use std::time::Duration;

use common::config::Server;
use system::System;
use testkit::{App, Backend, TestDatabase, User};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Settings;

const PART: &str = "--x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n";

/// Sends the beginning of a form, and then the same chunk again and again with a pause. Returns the status of the
/// response.
async fn upload(beginning: &str, chunk: &[u8], pause: Duration) -> String {
    let folder = tempfile::tempdir().unwrap();
    let store_url = format!("file://{}", folder.path().display());
    let database = TestDatabase::new::<System>(Backend::Sqlite).await;
    let settings = Settings { store_url, file_bytes: 100_000, file_count: 1, ..Settings::default() };
    let mut config = testkit::config::<System>(&database, settings);
    config.server = Server { workers: 1, stalled_seconds: 1, ..Server::default() };
    let app = App::start_with::<System>(database, config).await;
    let stream = TcpStream::connect(app.url.trim_start_matches("http://")).await.unwrap();
    let (mut read, mut write) = stream.into_split();
    let head = format!(
        "POST /v1/files HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {}\r\ncontent-length: 1000000000\r\n\
         content-type: multipart/form-data; boundary=x\r\n\r\n{beginning}",
        User::of("farm").token()
    );
    write.write_all(head.as_bytes()).await.unwrap();
    let sending = async {
        while write.write_all(chunk).await.is_ok() {
            tokio::time::sleep(pause).await;
        }
        std::future::pending::<()>().await;
    };
    let mut status = [0; 12];
    tokio::select! {
        result = read.read_exact(&mut status) => { result.unwrap(); }
        () = sending => {}
        () = tokio::time::sleep(Duration::from_secs(20)) => panic!("no response"),
    }
    String::from_utf8_lossy(&status[9..]).into_owned()
}

#[test]
fn aborts_uploads_that_are_too_slow() {
    testkit::block_on(async {
        // Sends bytes in every second, but less than 16 KiB.
        assert_eq!(upload(PART, b"a", Duration::from_millis(50)).await, "400");
        assert_eq!(upload("", b"no boundary\r\n", Duration::from_millis(50)).await, "400");
    });
}

#[test]
fn refuses_endless_forms() {
    testkit::block_on(async {
        assert_eq!(upload("", &b"no boundary\r\n".repeat(1000), Duration::ZERO).await, "413");
    });
}
