//! The sweep removes orphaned contents and no others.

use std::process::{Command, Output};
use std::time::Duration;

use system::System;
use testkit::{App, Process, User};

use super::store_fixture::StoreFixture;
use super::{Files, Storage, hash, on_all, start};

const ID: &str = "0198c0de-0000-7000-8000-000000000000";

/// Starts a service with the default grace period of an hour. The command [`sweep`] has one of 4 s.
async fn start_with_short_grace(storage: impl Into<Storage>) -> Files {
    let mut files = start(storage).await;
    files.settings.sweep_grace_seconds = 4;
    files
}

/// Runs the command `sweep-files` while the service runs. Returns its output.
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
    async fn removes_orphans_after_the_grace_period(storage) {
        let files = start_with_short_grace(storage).await;
        let user = User::of("farm");
        let active = files.make(&user, "misc", b"active").await;
        let archived = files.make(&user, "misc", b"archived").await;
        files.archive(&user, &archived).await.ok();
        let orphans = [hash(b"abandoned"), format!("{}-{ID}", hash(b"active"))];
        for name in &orphans {
            files.store.put_orphan(name, b"abandoned").await;
        }
        files.store.put_orphan("not-ours.txt", b"not ours").await;
        if matches!(files.store, StoreFixture::Bucket(..)) {
            assert!(sweep(&files, &[]).await.starts_with("4 contents checked, 0 of them removed: 0 bytes\n"));
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        let output = sweep(&files, &["--dry-run"]).await;
        assert!(output.ends_with("4 contents checked, 2 of them would be removed: 18 bytes\n"), "{output}");
        assert!(orphans.iter().all(|name| output.contains(&format!("{name} 9\n"))), "{output}");
        assert_eq!(files.stored().await.len(), 5);
        let output = sweep(&files, &[]).await;
        assert!(output.contains("4 contents checked, 2 of them removed: 18 bytes\n"), "{output}");
        assert_eq!(files.stored().await.len(), 3);
        assert_eq!(files.get(&user, &active).await.bytes, b"active");
        assert_eq!(files.get(&User::admin(), &archived).await.bytes, b"archived");
        assert!(sweep(&files, &[]).await.contains("2 contents checked, 0 of them removed"));
    }

    async fn concurrent_sweeps_and_uploads_of_equal_content_lose_nothing(storage) {
        let files = start_with_short_grace(storage).await;
        let user = User::of("farm");
        let mut made = Vec::new();
        for round in 0..6 {
            // Each content exists as an orphan, which is removed while the content is uploaded.
            let contents: Vec<_> = (0..8).map(|i| format!("{round} {i}").into_bytes()).collect();
            for content in &contents {
                files.store.put_orphan(&format!("{}-{ID}", hash(content)), content).await;
            }
            if round == 0 && matches!(files.store, StoreFixture::Bucket(..)) {
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
            let uploads = async {
                for content in contents {
                    made.push((files.make(&user, "misc", &content).await, content));
                }
            };
            tokio::join!(uploads, sweep(&files, &[]), sweep(&files, &[]));
        }
        if matches!(files.store, StoreFixture::Bucket(..)) {
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
    async fn service_sweeps_when_it_starts(backend) {
        let files = start(backend).await;
        let user = User::of("farm");
        let id = files.make(&user, "misc", b"active").await;
        files.store.put_orphan(&hash(b"abandoned"), b"abandoned").await;
        let beside = App::start_replica::<System>(&files.app, files.settings.clone()).await;
        files.wait_for_stored(1).await;
        assert_eq!(files.get(&user, &id).await.bytes, b"active");
        beside.stop().await;
    }

    async fn service_removes_nothing_with_an_empty_database(backend) {
        let files = start(backend).await;
        files.store.put_orphan(&hash(b"abandoned"), b"abandoned").await;
        let beside = App::start_replica::<System>(&files.app, files.settings.clone()).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(files.stored().await.len(), 1);
        // The command removes it.
        sweep(&files, &[]).await;
        assert_eq!(files.stored().await.len(), 0);
        beside.stop().await;
    }

    async fn removes_many_orphans_in_batches(backend) {
        let files = start_with_short_grace(backend).await;
        let user = User::of("farm");
        let id = files.make(&user, "misc", b"active").await;
        for i in 0..2500 {
            files.store.put_orphan(&hash(format!("{i}").as_bytes()), b"x").await;
        }
        let output = sweep(&files, &[]).await;
        assert!(output.contains("\n2501 contents checked, 2500 of them removed: 2500 bytes\n"), "{output}");
        assert_eq!(files.get(&user, &id).await.bytes, b"active");
    }

    async fn service_leaves_many_orphans_to_the_command(backend) {
        let files = start(backend).await;
        files.make(&User::of("farm"), "misc", b"active").await;
        for i in 0..21 {
            files.store.put_orphan(&hash(format!("{i}").as_bytes()), b"x").await;
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
fn first_start_logs_no_warnings() {
    for seconds in [1, 5, 20] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display();
        let (database, store) = (format!("sqlite://{path}/system.sqlite"), format!("file://{path}/files"));
        let settings = [("DATABASE__URL", database.as_str()), ("SERVICE__STORE_URL", &store)];
        let process = Process::start(env!("CARGO_BIN_EXE_system"), &settings);
        // The log can only be read after the end of the process, so the test waits until the sweep has probably run.
        std::thread::sleep(Duration::from_secs(seconds));
        let log = process.log();
        if log.contains("orphaned contents of files were removed") {
            assert!(!log.contains(r#""level":"WARN""#), "{log}");
            return;
        }
    }
    panic!("no sweep within 20 s");
}
