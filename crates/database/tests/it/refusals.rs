//! A configuration that cannot work is refused with one sentence, and leaves no file behind.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use database::{Database, Error, Options};
use testkit::{Backend, TestDatabase, block_on};

use crate::support::{migrations, options};

async fn refusal(url: &str) -> String {
    let short = Options { wait: Duration::from_secs(2), ..options(url) };
    match Database::open(short, migrations).await.err() {
        Some(Error::Setup(sentence)) => {
            assert!(!sentence.contains('\n'), "{sentence}");
            sentence
        }
        other => panic!("{url}: {other:?}"),
    }
}

#[test]
fn postgres() {
    block_on(async {
        let test = TestDatabase::empty(Backend::Postgres).await;
        let (login, host) = test.url.trim_start_matches("postgres://").split_once('@').unwrap();
        let user = login.split(':').next().unwrap();
        let wrong = refusal(&format!("postgres://{user}:wr0ng@{host}")).await;
        assert!(wrong.contains("password authentication failed"), "{wrong}");
        assert!(!wrong.contains("wr0ng"), "{wrong}");
        let missing = refusal(&format!("{}_missing", test.url)).await;
        assert!(missing.contains("does not exist"), "{missing}");
        let started = Instant::now();
        let closed = refusal("postgres://u:p@127.0.0.1:1/x").await;
        assert!(closed.contains("postgres://u:…@127.0.0.1:1/x") && closed.contains("refused"), "{closed}");
        let unknown = refusal("postgres://u:p@no-such-host.invalid/x").await;
        let begin = "the host no-such-host.invalid of database.url (DROVER_DATABASE__URL) cannot be resolved";
        assert!(unknown.starts_with(begin), "{unknown}");
        for url in
            ["postgres://u:p@s3cret@no-such-host.invalid/x", "postgres://u:p@s3cret/x@no-such-host.invalid/x"]
        {
            let garbled = refusal(url).await;
            assert!(!garbled.contains("s3cret") && garbled.contains("percent-encod"), "{garbled}");
        }
        assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
        assert!(refusal("postgres://u:p@127.0.0.1:1/x?nonsense=1").await.contains("nonsense"));
    });
}

#[test]
fn sqlite() {
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| format!("sqlite://{}", folder.path().join(name).display());
        std::fs::write(
            folder.path().join("notes.txt"),
            "this is no database, but a text that is long enough".repeat(30),
        )
        .unwrap();
        let other = refusal(&path("notes.txt")).await;
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
            let sentence = refusal(&url).await;
            assert!(sentence.contains(part) && !sentence.contains("secret"), "{url}: {sentence}");
        }
        let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["notes.txt"]);
    });
}

#[test]
fn a_folder_that_cannot_be_written() {
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o555)).unwrap();
        let url = format!("sqlite://{}/x.sqlite", folder.path().display());
        // Root may write everywhere but into a file system that takes nothing.
        let root = std::fs::File::create(folder.path().join("probe")).is_ok();
        let url = if root { "sqlite:///proc/x.sqlite".to_owned() } else { url };
        let sentence = refusal(&url).await;
        assert!(sentence.contains("can be written"), "{sentence}");
    });
}
