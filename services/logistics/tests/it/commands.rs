//! Commands of the program: output and exit codes.

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

fn execute(settings: &[(&str, &str)], arguments: &[&str]) -> CommandOutput {
    testkit::run_command(PROGRAM, settings, arguments)
}

/// Asserts that a command fails with exit code 1 and one line on standard error that contains `part`.
fn assert_fails(output: &CommandOutput, part: &str) {
    assert_eq!(output.exit_code, Some(1), "{output:?}");
    assert!(
        output.stderr.contains(part) && output.stderr.trim_end().lines().count() == 1,
        "{part}: {output:?}"
    );
}

#[test]
fn help_of_each_command_states_requirements_and_exit_codes() {
    let help = execute(&[], &["--help"]);
    assert_eq!(help.exit_code, Some(0));
    for command in COMMANDS {
        assert!(help.stdout.contains(&format!("\n  {command} ")), "{command}: {}", help.stdout);
        let help = execute(&[], &[command, "--help"]);
        assert_eq!(help.exit_code, Some(0), "{help:?}");
        for part in ["Usage: logistics ", "Needs: ", "Exit code: 0 ", "Example: "] {
            assert!(help.stdout.contains(part), "{command} lacks {part}: {}", help.stdout);
        }
        let unknown = execute(&[], &[command, "--nonsense"]);
        assert_eq!(
            (unknown.exit_code, unknown.stderr.contains("--nonsense")),
            (Some(2), true),
            "{unknown:?}"
        );
    }
    for arguments in
        [&["nonsense"][..], &["backup"], &["backup", "a", "b"], &["migrate", "now"], &["redeliver"]]
    {
        assert_eq!(execute(&[], arguments).exit_code, Some(2), "{arguments:?}");
    }
}

#[test]
fn check_config_shows_settings_and_rejects_invalid_ones() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", directory.path().join("a.sqlite").display());
    let valid = execute(&[("DATABASE__URL", &url)], &["check-config", "--offline"]);
    assert_eq!(valid.exit_code, Some(0), "{valid:?}");
    assert!(
        valid.stdout.contains("DROVER_DATABASE__MIGRATE=true")
            && valid.stdout.contains("the configuration is valid"),
        "{valid:?}"
    );
    let system_url = |system_url: &str| {
        execute(&[("DATABASE__URL", &url), ("SERVICE__SYSTEM_URL", system_url)], &["check-config"])
    };
    assert_fails(&system_url("nonsense"), "system_url");
    assert_fails(&system_url("http://nowhere.invalid"), "the host nowhere.invalid cannot be resolved");
    // Another service.
    let other = testkit::block_on(TestDatabase::empty(Backend::Sqlite));
    let other = Process::start(PROGRAM, &[("DATABASE__URL", &other.url)]);
    assert_fails(&system_url(&other.url), " is not Drover system");
    assert_fails(&execute(&[("DATABASE__UR", &url)], &["check-config"]), "ur");
    let days = "service.notification_retention_days (DROVER_SERVICE__NOTIFICATION_RETENTION_DAYS)";
    for number in ["0", "-1", "36501", "1000000000", "1e9"] {
        let settings = [("DATABASE__URL", &*url), ("SERVICE__NOTIFICATION_RETENTION_DAYS", number)];
        let message = format!("{days} is {number}: set it to a whole number, 1 to 36500");
        assert_fails(&execute(&settings, &["check-config"]), &message);
        assert_fails(&execute(&settings, &["serve"]), &message);
    }
    let settings = [("DATABASE__URL", &*url), ("SERVICE__NOTIFICATION_RETENTION_DAYS", "abc")];
    let message = format!("{days} must be a whole number, 1 to 36500");
    assert_fails(&execute(&settings, &["check-config"]), &message);
    let settings = [("DATABASE__URL", &*url), ("SERVICE__WEBHOOK_TIMEOUT_MS", "-1")];
    assert_fails(&execute(&settings, &["check-config"]), "is -1: set it to a whole number, 1 to 300000");
    assert_fails(
        &execute(&[("DATABASE__URL", "sqlite:///no/such/folder/a")], &["check-config"]),
        "/no/such/folder",
    );
}

/// A migration that `migrate --pending` must list.
const LAST: &str = "20261122110000_index_pairs";

testkit::on_both! {
    async fn migrate_lists_and_applies_pending_migrations(backend) {
        let test = TestDatabase::empty(backend).await;
        let settings = [("DATABASE__URL", &*test.url), ("DATABASE__MIGRATE", "false")];
        let pending = execute(&settings, &["migrate", "--pending"]);
        assert_eq!(pending.exit_code, Some(3), "{pending:?}");
        assert!(pending.stdout.contains(" migrations to be applied\n") && pending.stdout.contains(LAST), "{pending:?}");
        assert_fails(&execute(&settings, &["serve"]), "run `logistics migrate` first");

        let applied = execute(&settings, &["migrate"]);
        assert_eq!(applied.exit_code, Some(0), "{applied:?}");
        assert_eq!(applied.stdout, pending.stdout.replace("to be applied", "applied"));
        assert_eq!(execute(&settings, &["migrate"]).stdout, "0 migrations applied\n");
        assert_eq!(execute(&settings, &["migrate", "--pending"]).exit_code, Some(0));

        // An older version ignores migrations that a newer one applied.
        let table = if backend == Backend::Sqlite { "" } else { "logistics." };
        test.execute(&format!("INSERT INTO {table}__diesel_schema_migrations (version) VALUES ('20991231000000')"));
        assert_eq!(execute(&settings, &["migrate", "--pending"]).exit_code, Some(0));
        let service = Process::start(PROGRAM, &settings);
        service.call("POST", "/v1/loads/carrier").by(&User::of("haul")).json(&carrier_form()).send().await.ok();
    }

    async fn concurrent_starts_apply_each_migration_once(backend) {
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
        assert_eq!(execute(&[("DATABASE__URL", &test.url)], &["migrate", "--pending"]).exit_code, Some(0));
    }
}

#[test]
fn commands_without_database_url_create_no_database() {
    let id = "01890a5d-ac96-774b-bcce-b302099a8057";
    for arguments in [&["migrate"][..], &["migrate", "--pending"], &["backup", "copy"], &["redeliver", id]] {
        assert_fails(&execute(&[], arguments), "database.url is not set");
    }
    assert!(!Path::new("logistics.sqlite").exists());
}

#[test]
fn serves_with_a_postgres_role_that_cannot_change_the_schema() {
    testkit::block_on(async {
        let owned = TestDatabase::empty(Backend::Postgres).await;
        let role = format!("role_{}", owned.name());
        // As in docs/operations/install.md: another role owns the schema and migrates it.
        execute_on_server(&format!(
            "CREATE ROLE {role} LOGIN PASSWORD 'own'; ALTER ROLE {role} SET lc_messages = 'C';
             REVOKE ALL ON DATABASE {} FROM PUBLIC; GRANT CONNECT ON DATABASE {0} TO {role}",
            owned.name()
        ));
        let (_, host) = owned.url.rsplit_once('@').unwrap();
        let url = format!("postgres://{role}:own@{host}");
        let settings = [("DATABASE__URL", &*url), ("DATABASE__MIGRATE", "false")];
        owned.execute("CREATE SCHEMA logistics");
        assert_fails(&execute(&settings[..1], &["migrate", "--pending"]), "GRANT USAGE ON SCHEMA logistics");
        owned.execute(&format!(
            "GRANT USAGE ON SCHEMA logistics TO {role};
             ALTER DEFAULT PRIVILEGES IN SCHEMA logistics GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role};
             ALTER DEFAULT PRIVILEGES IN SCHEMA logistics GRANT USAGE ON SEQUENCES TO {role}"
        ));
        assert_fails(&execute(&settings, &["check-config"]), "run `logistics migrate` first");
        assert_eq!(execute(&[("DATABASE__URL", &owned.url)], &["migrate"]).exit_code, Some(0));
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
        assert_fails(&execute(&settings[..1], &["migrate"]), "permission denied");
        drop(service);
        owned.execute(&format!("DROP OWNED BY {role}"));
        execute_on_server(&format!("REVOKE ALL ON DATABASE {} FROM {role}; DROP ROLE {role}", owned.name()));
    });
}

#[test]
fn healthcheck_distinguishes_liveness_and_readiness_and_times_out() {
    let test = testkit::block_on(TestDatabase::empty(Backend::Sqlite));
    let service = Process::start(PROGRAM, &[("DATABASE__URL", &test.url)]);
    let port = &service.url.rsplit(':').next().unwrap().to_owned();
    let ready = execute(&[("SERVER__PORT", port), ("SERVER__HOST", "0.0.0.0")], &["healthcheck"]);
    assert!(ready.exit_code == Some(0) && ready.stdout.contains("\"database\":\"ok\""), "{ready:?}");
    assert_eq!(execute(&[("SERVER__PORT", port)], &["healthcheck", "--live"]).exit_code, Some(0));
    drop(service);
    assert_fails(&execute(&[("SERVER__PORT", port)], &["healthcheck", "--live"]), port);
    // A server that accepts the connection and does not respond.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, started) = (silent.local_addr().unwrap().port().to_string(), Instant::now());
    assert_fails(&execute(&[("SERVER__PORT", &port)], &["healthcheck"]), &port);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn another_service_starts_from_a_backup_of_a_running_one() {
    testkit::block_on(async {
        let test = TestDatabase::empty(Backend::Sqlite).await;
        let settings = [("DATABASE__URL", &*test.url)];
        let service = Process::start(PROGRAM, &settings);
        let haul = User::of("haul");
        let load =
            service.call("POST", "/v1/loads/carrier").by(&haul).json(&carrier_form()).send().await.ok();
        let directory = tempfile::tempdir().unwrap();
        let to = directory.path().join("copy.sqlite");
        let to = to.to_str().unwrap();
        let backup = execute(&settings, &["backup", to]);
        assert!(backup.exit_code == Some(0) && backup.stdout.contains(to), "{backup:?}");
        assert_fails(&execute(&settings, &["backup", to]), "already exists");
        let other = Process::start(PROGRAM, &[("DATABASE__URL", &format!("sqlite://{to}"))]);
        let found = other.call("GET", "/v1/loads?query=hh-1").by(&haul).send().await.ok();
        assert_eq!(found[0]["id"], load["id"]);

        // A full disk, simulated by a limit on file size, and a directory that cannot be written to.
        let part = format!("{to}.part");
        let script = "trap '' XFSZ; ulimit -f 64; exec \"$0\" backup \"$1\"";
        let mut full = Command::new("sh");
        full.args(["-c", script, PROGRAM, &part]).env("DROVER_DATABASE__URL", &test.url);
        let full = full.output().unwrap();
        assert_eq!(full.status.code(), Some(1), "{full:?}");
        assert!(String::from_utf8_lossy(&full.stderr).contains("cannot be copied to"), "{full:?}");
        assert_fails(&execute(&settings, &["backup", "/proc/copy.sqlite"]), "/proc/copy.sqlite");
        drop(other);
        let files: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(files.iter().all(|name| name.to_str().unwrap().starts_with("copy.sqlite")), "{files:?}");
    });
}
