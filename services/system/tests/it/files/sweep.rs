//! Content that no file has goes, and none that a file has.

use std::process::{Command, Output};
use std::time::Duration;

use system::System;
use testkit::{App, Process, User};

use super::stored::Store;
use super::{Files, Place, hash, on_all, start};

const ID: &str = "0198c0de-0000-7000-8000-000000000000";

/// A service that sweeps after an hour, and a command that does so after seconds.
async fn start_soon(place: impl Into<Place>) -> Files {
    let mut files = start(place).await;
    files.settings.sweep_grace_seconds = 4;
    files
}

/// Runs `system sweep-files` beside the service.
async fn sweep(files: &Files, arguments: &'static [&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_system"));
    let settings = files.settings.clone();
    command
        .arg("sweep-files")
        .args(arguments)
        .env("DROVER_DATABASE__URL", &files.app.database.url)
        .env("DROVER_SERVICE__STORE_URL", settings.store_url)
        .env("DROVER_SERVICE__SWEEP_GRACE_SECONDS", settings.sweep_grace_seconds.to_string());
    if let Some(endpoint) = settings.store_endpoint {
        use secrecy::ExposeSecret;
        command.env("DROVER_SERVICE__STORE_ENDPOINT", endpoint.as_str());
        command.env("DROVER_SERVICE__STORE_ACCESS_KEY", settings.store_access_key.unwrap());
        command.env("DROVER_SERVICE__STORE_SECRET_KEY", settings.store_secret_key.unwrap().expose_secret());
    }
    let run = tokio::task::spawn_blocking(move || command.output().unwrap());
    let Output { status, stdout, stderr } = run.await.unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

on_all! {
    async fn what_a_crash_left_is_swept_after_its_grace(place) {
        let files = start_soon(place).await;
        let user = User::of("farm");
        let active = files.make(&user, "misc", b"active").await;
        let archived = files.make(&user, "misc", b"archived").await;
        files.archive(&user, &archived).await.ok();
        let forgotten = [hash(b"forgotten"), format!("{}-{ID}", hash(b"active"))];
        for name in &forgotten {
            files.store.forget(name, b"forgotten").await;
        }
        files.store.forget("somebody-elses.txt", b"not ours").await;
        if matches!(files.store, Store::Bucket(..)) {
            assert!(sweep(&files, &[]).await.starts_with("4 contents looked at, 0 of them removed: 0 bytes\n"));
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        let dry = sweep(&files, &["--dry-run"]).await;
        assert!(dry.ends_with("4 contents looked at, 2 of them would be removed: 18 bytes\n"), "{dry}");
        assert!(forgotten.iter().all(|name| dry.contains(&format!("{name} 9\n"))), "{dry}");
        assert_eq!(files.stored().await.len(), 5);
        let done = sweep(&files, &[]).await;
        assert!(done.contains("4 contents looked at, 2 of them removed: 18 bytes\n"), "{done}");
        assert_eq!(files.stored().await.len(), 3);
        assert_eq!(files.get(&user, &active).await.bytes, b"active");
        assert_eq!(files.get(&User::admin(), &archived).await.bytes, b"archived");
        assert!(sweep(&files, &[]).await.contains("2 contents looked at, 0 of them removed"));
    }

    async fn sweeping_and_uploading_the_same_content_loses_nothing(place) {
        let files = start_soon(place).await;
        let user = User::of("farm");
        let mut made = Vec::new();
        for round in 0..6 {
            // Each content lies there already, forgotten, and is taken away while it comes back.
            let contents: Vec<_> = (0..8).map(|i| format!("{round} {i}").into_bytes()).collect();
            for content in &contents {
                files.store.forget(&format!("{}-{ID}", hash(content)), content).await;
            }
            if round == 0 && matches!(files.store, Store::Bucket(..)) {
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
            let uploads = async {
                for content in contents {
                    made.push((files.make(&user, "misc", &content).await, content));
                }
            };
            tokio::join!(uploads, sweep(&files, &[]), sweep(&files, &[]));
        }
        if matches!(files.store, Store::Bucket(..)) {
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        sweep(&files, &[]).await;
        for (id, content) in &made {
            assert_eq!(&files.get(&user, id).await.bytes, content);
        }
        assert_eq!(files.stored().await.len(), made.len());
    }
}

testkit::on_both! {
    async fn a_start_sweeps(backend) {
        let files = start(backend).await;
        let user = User::of("farm");
        let id = files.make(&user, "misc", b"active").await;
        files.store.forget(&hash(b"forgotten"), b"forgotten").await;
        let beside = App::start_replica::<System>(&files.app, files.settings.clone()).await;
        files.wait_for(1).await;
        assert_eq!(files.get(&user, &id).await.bytes, b"active");
        beside.stop().await;
    }

    async fn a_start_with_an_empty_database_removes_nothing(backend) {
        let files = start(backend).await;
        files.store.forget(&hash(b"forgotten"), b"forgotten").await;
        let beside = App::start_replica::<System>(&files.app, files.settings.clone()).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(files.stored().await.len(), 1);
        // Who says so himself means it.
        sweep(&files, &[]).await;
        assert_eq!(files.stored().await.len(), 0);
        beside.stop().await;
    }

    async fn many_are_swept_in_batches(backend) {
        let files = start_soon(backend).await;
        let user = User::of("farm");
        let kept = files.make(&user, "misc", b"kept").await;
        for i in 0..2500 {
            files.store.forget(&hash(format!("{i}").as_bytes()), b"x").await;
        }
        let done = sweep(&files, &[]).await;
        assert!(done.contains("\n2501 contents looked at, 2500 of them removed: 2500 bytes\n"), "{done}");
        assert_eq!(files.get(&user, &kept).await.bytes, b"kept");
    }

    async fn a_start_leaves_much_to_somebody_who_says_so(backend) {
        let files = start(backend).await;
        files.make(&User::of("farm"), "misc", b"kept").await;
        for i in 0..21 {
            files.store.forget(&hash(format!("{i}").as_bytes()), b"x").await;
        }
        let beside = App::start_replica::<System>(&files.app, files.settings.clone()).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(files.stored().await.len(), 22);
        sweep(&files, &[]).await;
        assert_eq!(files.stored().await.len(), 1);
        beside.stop().await;
    }
}

#[test]
fn a_first_start_warns_of_nothing() {
    for seconds in [1, 5, 20] {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().display();
        let (database, store) = (format!("sqlite://{place}/system.sqlite"), format!("file://{place}/files"));
        let settings = [("DATABASE__URL", database.as_str()), ("SERVICE__STORE_URL", &store)];
        let process = Process::start(env!("CARGO_BIN_EXE_system"), &settings);
        // Its log is read at the end: has it swept by then?
        std::thread::sleep(Duration::from_secs(seconds));
        let log = process.log();
        if log.contains("file contents without a file are removed") {
            assert!(!log.contains(r#""level":"WARN""#), "{log}");
            return;
        }
    }
    panic!("it does not sweep");
}
