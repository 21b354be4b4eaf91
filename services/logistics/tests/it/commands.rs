//! The program's commands, each as somebody types it: what it prints and how it ends.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use testkit::{CommandOutput, Process, TestDatabase, execute_on_server};

use super::*;

const PROGRAM: &str = env!("CARGO_BIN_EXE_logistics");
const COMMANDS: [&str; 7] =
    ["serve", "migrate", "check-config", "healthcheck", "openapi", "backup", "redeliver"];

fn given(settings: &[(&str, &str)], arguments: &[&str]) -> CommandOutput {
    testkit::run_command(PROGRAM, settings, arguments)
}

/// It ended in failure, and said why in one line that has this in it.
fn failed(ended: &CommandOutput, part: &str) {
    assert_eq!(ended.exit_code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains(part) && ended.stderr.trim_end().lines().count() == 1, "{part}: {ended:?}");
}

#[test]
fn each_says_what_it_needs_and_how_it_ends() {
    let all = given(&[], &["--help"]);
    assert_eq!(all.exit_code, Some(0));
    for command in COMMANDS {
        assert!(all.stdout.contains(&format!("\n  {command} ")), "{command}: {}", all.stdout);
        let help = given(&[], &[command, "--help"]);
        assert_eq!(help.exit_code, Some(0), "{help:?}");
        for part in ["Usage: logistics ", "Needs: ", "Exit code: 0 ", "Example: "] {
            assert!(help.stdout.contains(part), "{command} lacks {part}: {}", help.stdout);
        }
        let wrong = given(&[], &[command, "--nonsense"]);
        assert_eq!((wrong.exit_code, wrong.stderr.contains("--nonsense")), (Some(2), true), "{wrong:?}");
    }
    for wrong in [&["nonsense"][..], &["backup"], &["backup", "a", "b"], &["migrate", "now"], &["redeliver"]]
    {
        assert_eq!(given(&[], wrong).exit_code, Some(2), "{wrong:?}");
    }
}

#[test]
fn openapi_is_the_document_that_is_checked_in() {
    let printed: Value = serde_json::from_str(&given(&[], &["openapi"]).stdout).unwrap();
    let checked_in = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json")).unwrap();
    assert_eq!(printed, serde_json::from_str::<Value>(&checked_in).unwrap());
}

#[test]
fn check_config_shows_what_holds_and_says_what_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("a.sqlite").display());
    let well = given(&[("DATABASE__URL", &url)], &["check-config"]);
    assert_eq!(well.exit_code, Some(0), "{well:?}");
    assert!(
        well.stdout.contains("DROVER_DATABASE__MIGRATE=true")
            && well.stdout.contains("the configuration is valid"),
        "{well:?}"
    );
    failed(
        &given(&[("DATABASE__URL", &url), ("SERVICE__SYSTEM_URL", "nonsense")], &["check-config"]),
        "system_url",
    );
    failed(&given(&[("DATABASE__UR", &url)], &["check-config"]), "ur");
    let days = "service.notification_retention_days (DROVER_SERVICE__NOTIFICATION_RETENTION_DAYS)";
    for number in ["0", "-1", "36501", "1000000000", "1e9"] {
        let settings = [("DATABASE__URL", &*url), ("SERVICE__NOTIFICATION_RETENTION_DAYS", number)];
        let message = format!("{days} is {number}: set it to a whole number, 1 to 36500");
        failed(&given(&settings, &["check-config"]), &message);
        failed(&given(&settings, &["serve"]), &message);
    }
    let settings = [("DATABASE__URL", &*url), ("SERVICE__NOTIFICATION_RETENTION_DAYS", "abc")];
    let message = format!("{days} must be a whole number, 1 to 36500");
    failed(&given(&settings, &["check-config"]), &message);
    let settings = [("DATABASE__URL", &*url), ("SERVICE__WEBHOOK_TIMEOUT_MS", "-1")];
    failed(&given(&settings, &["check-config"]), "is -1: set it to a whole number, 1 to 300000");
    failed(&given(&[("DATABASE__URL", "sqlite:///no/such/folder/a")], &["check-config"]), "/no/such/folder");
}

/// A migration that is there for good.
const LAST: &str = "20261122110000_index_pairs";

testkit::on_both! {
    async fn migrations_are_listed_applied_and_waited_for(backend) {
        let test = TestDatabase::empty(backend).await;
        let settings = [("DATABASE__URL", &*test.url), ("DATABASE__MIGRATE", "false")];
        let pending = given(&settings, &["migrate", "--pending"]);
        assert_eq!(pending.exit_code, Some(3), "{pending:?}");
        assert!(pending.stdout.contains(" migrations to be applied\n") && pending.stdout.contains(LAST), "{pending:?}");
        failed(&given(&settings, &["serve"]), "run `logistics migrate` first");

        let applied = given(&settings, &["migrate"]);
        assert_eq!(applied.exit_code, Some(0), "{applied:?}");
        assert_eq!(applied.stdout, pending.stdout.replace("to be applied", "applied"));
        assert_eq!(given(&settings, &["migrate"]).stdout, "0 migrations applied\n");
        assert_eq!(given(&settings, &["migrate", "--pending"]).exit_code, Some(0));

        // What a newer version has added is nothing to an older one that runs beside it.
        let table = if backend == Backend::Sqlite { "" } else { "logistics." };
        test.execute(&format!("INSERT INTO {table}__diesel_schema_migrations (version) VALUES ('20991231000000')"));
        assert_eq!(given(&settings, &["migrate", "--pending"]).exit_code, Some(0));
        let service = Process::start(PROGRAM, &settings);
        service.call("POST", "/v1/loads/carrier").by(&User::of("haul")).json(&carrier_form()).send().await.ok();
    }

    async fn replicas_that_start_at_once_apply_each_migration_once(backend) {
        let test = TestDatabase::empty(backend).await;
        let replicas: Vec<_> = std::thread::scope(|scope| {
            let start = || Process::start(PROGRAM, &[("DATABASE__URL", &test.url)]);
            let starting: Vec<_> = (0..3).map(|_| scope.spawn(start)).collect();
            starting.into_iter().map(|replica| replica.join().unwrap()).collect()
        });
        for replica in &replicas {
            replica.call("POST", "/v1/loads/carrier").by(&User::of("haul")).json(&carrier_form()).send().await.ok();
        }
        let found = replicas[0].call("GET", "/v1/loads").by(&User::of("haul")).send().await;
        assert_eq!(found.ok().as_array().unwrap().len(), 3);
        assert_eq!(given(&[("DATABASE__URL", &test.url)], &["migrate", "--pending"]).exit_code, Some(0));
    }
}

#[test]
fn a_command_that_is_told_of_no_database_makes_none() {
    let id = "01890a5d-ac96-774b-bcce-b302099a8057";
    for arguments in [&["migrate"][..], &["migrate", "--pending"], &["backup", "copy"], &["redeliver", id]] {
        failed(&given(&[], arguments), "database.url is not set");
    }
    assert!(!Path::new("logistics.sqlite").exists());
}

#[test]
fn a_role_that_may_not_change_the_schema_serves() {
    testkit::block_on(async {
        let owned = TestDatabase::empty(Backend::Postgres).await;
        let role = format!("role_{}", owned.name());
        // As docs/operations.md has it: the schema belongs to somebody else, who migrates.
        execute_on_server(&format!(
            "CREATE ROLE {role} LOGIN PASSWORD 'own'; REVOKE ALL ON DATABASE {} FROM PUBLIC; GRANT CONNECT ON DATABASE {0} TO {role}",
            owned.name()
        ));
        let (_, host) = owned.url.rsplit_once('@').unwrap();
        let url = format!("postgres://{role}:own@{host}");
        let settings = [("DATABASE__URL", &*url), ("DATABASE__MIGRATE", "false")];
        owned.execute("CREATE SCHEMA logistics");
        failed(&given(&settings[..1], &["migrate", "--pending"]), "GRANT USAGE ON SCHEMA logistics");
        owned.execute(&format!(
            "GRANT USAGE ON SCHEMA logistics TO {role};
             ALTER DEFAULT PRIVILEGES IN SCHEMA logistics GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role};
             ALTER DEFAULT PRIVILEGES IN SCHEMA logistics GRANT USAGE ON SEQUENCES TO {role}"
        ));
        failed(&given(&settings, &["check-config"]), "run `logistics migrate` first");
        assert_eq!(given(&[("DATABASE__URL", &owned.url)], &["migrate"]).exit_code, Some(0));
        let service = Process::start(PROGRAM, &settings);
        let load = service
            .call("POST", "/v1/loads/carrier")
            .by(&User::of("haul"))
            .json(&carrier_form())
            .send()
            .await
            .ok();
        let found = service.call("GET", "/v1/loads?query=hh-1").by(&User::of("haul")).send().await.ok();
        assert_eq!(found[0]["id"], load["id"]);
        failed(&given(&settings[..1], &["migrate"]), "permission denied");
        drop(service);
        owned.execute(&format!("DROP OWNED BY {role}"));
        execute_on_server(&format!("REVOKE ALL ON DATABASE {} FROM {role}; DROP ROLE {role}", owned.name()));
    });
}

#[test]
fn healthcheck_is_bounded_and_tells_alive_from_ready() {
    let test = testkit::block_on(TestDatabase::empty(Backend::Sqlite));
    let service = Process::start(PROGRAM, &[("DATABASE__URL", &test.url)]);
    let port = &service.url.rsplit(':').next().unwrap().to_owned();
    let ready = given(&[("SERVER__PORT", port), ("SERVER__HOST", "0.0.0.0")], &["healthcheck"]);
    assert!(ready.exit_code == Some(0) && ready.stdout.contains("\"database\":\"ok\""), "{ready:?}");
    assert_eq!(given(&[("SERVER__PORT", port)], &["healthcheck", "--live"]).exit_code, Some(0));
    drop(service);
    failed(&given(&[("SERVER__PORT", port)], &["healthcheck", "--live"]), port);
    // It takes the connection and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, begun) = (silent.local_addr().unwrap().port().to_string(), Instant::now());
    failed(&given(&[("SERVER__PORT", &port)], &["healthcheck"]), &port);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn a_backup_of_a_running_service_is_found_whole_by_another() {
    testkit::block_on(async {
        let test = TestDatabase::empty(Backend::Sqlite).await;
        let settings = [("DATABASE__URL", &*test.url)];
        let service = Process::start(PROGRAM, &settings);
        let haul = User::of("haul");
        let load =
            service.call("POST", "/v1/loads/carrier").by(&haul).json(&carrier_form()).send().await.ok();
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("copy.sqlite");
        let to = to.to_str().unwrap();
        let made = given(&settings, &["backup", to]);
        assert!(made.exit_code == Some(0) && made.stdout.contains(to), "{made:?}");
        failed(&given(&settings, &["backup", to]), "already exists");
        let other = Process::start(PROGRAM, &[("DATABASE__URL", &format!("sqlite://{to}"))]);
        let found = other.call("GET", "/v1/loads?query=hh-1").by(&haul).send().await.ok();
        assert_eq!(found[0]["id"], load["id"]);

        // A disk that takes no more, as a process that may write no more of a file finds it; and nowhere to write.
        let part = format!("{to}.part");
        let script = "trap '' XFSZ; ulimit -f 64; exec \"$0\" backup \"$1\"";
        let mut full = Command::new("sh");
        full.args(["-c", script, PROGRAM, &part]).env("DROVER_DATABASE__URL", &test.url);
        let full = full.output().unwrap();
        assert_eq!(full.status.code(), Some(1), "{full:?}");
        assert!(String::from_utf8_lossy(&full.stderr).contains("cannot be copied to"), "{full:?}");
        failed(&given(&settings, &["backup", "/proc/copy.sqlite"]), "/proc/copy.sqlite");
        drop(other);
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| name.to_str().unwrap().starts_with("copy.sqlite")), "{left:?}");
    });
}
