//! Unusable options fail with one sentence for the operator and create no file.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use database::{Database, Error, Options};
use testkit::{Backend, TestDatabase, block_on};

use crate::support::{migrations, options};

/// Opens a database and returns the text of its [`Error::Setup`].
async fn setup_error(url: &str) -> String {
    let short = Options { wait_timeout: Duration::from_secs(2), ..options(url) };
    match Database::open(short, migrations).await.err() {
        Some(Error::Setup(sentence)) => {
            assert!(!sentence.contains('\n'), "{sentence}");
            sentence
        }
        other => panic!("{url}: {other:?}"),
    }
}

#[test]
fn rejects_postgres_urls_without_showing_passwords() {
    block_on(async {
        let test = TestDatabase::empty(Backend::Postgres).await;
        let (login, host) = test.url.trim_start_matches("postgres://").split_once('@').unwrap();
        let user = login.split(':').next().unwrap();
        let wrong = setup_error(&format!("postgres://{user}:wr0ng@{host}")).await;
        // The server reports it in its language.
        assert!(wrong.contains("FATAL:  ") && wrong.to_lowercase().contains("pass"), "{wrong}");
        assert!(!wrong.contains("wr0ng"), "{wrong}");
        let missing = setup_error(&format!("{}_missing", test.url)).await;
        assert!(missing.contains(&format!("{}_missing", test.name())), "{missing}");
        let started = Instant::now();
        let closed = setup_error("postgres://u:p@127.0.0.1:1/x").await;
        assert!(closed.contains("postgres://u:…@127.0.0.1:1/x") && closed.contains("refused"), "{closed}");
        let unknown = setup_error("postgres://u:p@no-such-host.invalid/x").await;
        let begin = "the host no-such-host.invalid of database.url (DROVER_DATABASE__URL) cannot be resolved";
        assert!(unknown.starts_with(begin), "{unknown}");
        let two = "no-such-host.invalid,127.0.0.1:1";
        let one = setup_error(&format!("postgres://u:p@{two}/x")).await;
        let redacted = format!("postgres://u:…@{two}/x");
        let parts = [&*redacted, "no-such-host.invalid\" to address", "refused"];
        assert!(parts.iter().all(|part| one.contains(part)), "{one}");
        for url in [
            "postgres://u:p@s3cret@no-such-host.invalid/x",
            "postgres://u:p@s3cret/x@no-such-host.invalid/x",
            "postgres://u:p@s3cret@127.0.0.1:1,127.0.0.1:1/x",
        ] {
            let garbled = setup_error(url).await;
            assert!(!garbled.contains("s3cret") && garbled.contains("percent-encod"), "{garbled}");
        }
        assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
        assert!(setup_error("postgres://u:p@127.0.0.1:1/x?nonsense=1").await.contains("nonsense"));
    });
}

#[test]
fn rejects_sqlite_urls_and_creates_no_file() {
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| format!("sqlite://{}", folder.path().join(name).display());
        std::fs::write(
            folder.path().join("notes.txt"),
            "a text that is not a database and longer than a header".repeat(30),
        )
        .unwrap();
        let other = setup_error(&path("notes.txt")).await;
        assert!(other.contains("not a database"), "{other}");
        for (url, part) in [
            (path(""), "folder"),
            (path("no/such/folder.sqlite"), "does not exist"),
            (path("x.sqlite?mode=ro"), "must name a file"),
            (path("x.sqlite").replace("sqlite://", "sqlite:"), "must start with"),
            (path("x.sqlite").replace("sqlite://", ""), "must start with"),
            (path("x.sqlite").replace("sqlite", "sqllite"), "must start with"),
            ("postgress://u:secret@h/d".into(), "postgress"),
            (String::new(), "must start with"),
        ] {
            let sentence = setup_error(&url).await;
            assert!(sentence.contains(part) && !sentence.contains("secret"), "{url}: {sentence}");
        }
        let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(files, ["notes.txt"]);
    });
}

#[test]
fn rejects_unwritable_folders() {
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o555)).unwrap();
        let url = format!("sqlite://{}/x.sqlite", folder.path().display());
        // Root may write to every folder, but nobody may create files in /proc.
        let root = std::fs::File::create(folder.path().join("probe")).is_ok();
        let url = if root { "sqlite:///proc/x.sqlite".to_owned() } else { url };
        let sentence = setup_error(&url).await;
        assert!(sentence.contains("can be written"), "{sentence}");
    });
}
