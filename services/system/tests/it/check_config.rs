//! The command `check-config`: one line for each thing that it tries.

use std::net::TcpListener;

use testkit::{Backend, CommandOutput, Redis, S3, TestDatabase};

const PROGRAM: &str = env!("CARGO_BIN_EXE_system");

/// A name that no resolver knows (RFC 2606).
const UNKNOWN_HOST: &str = "nowhere.invalid";

/// Settings of a service in a folder of its own.
struct Deployment {
    folder: tempfile::TempDir,
    settings: Vec<(&'static str, String)>,
}

impl Deployment {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let settings = vec![
            ("DATABASE__URL", format!("sqlite://{}", path("system.sqlite"))),
            ("SERVICE__STORE_URL", format!("file://{}", path("files"))),
        ];
        Self { folder, settings }
    }

    /// Replaces or adds settings.
    fn with<const N: usize>(mut self, settings: [(&'static str, String); N]) -> Self {
        for (name, value) in settings {
            self.settings.retain(|(other, _)| *other != name);
            self.settings.push((name, value));
        }
        self
    }

    fn run(&self, arguments: &[&str]) -> CommandOutput {
        let settings: Vec<_> = self.settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        testkit::run_command(PROGRAM, &settings, &[&["check-config"], arguments].concat())
    }

    /// Asserts that exactly one check fails, whose line has these parts. Standard error has the same reason.
    fn assert_fails(&self, name: &str, parts: &[&str]) {
        let output = self.run(&[]);
        let failed: Vec<_> = output.stdout.lines().filter(|line| line.starts_with("failed ")).collect();
        let reason = format!("failed {name}: ");
        assert!(failed.len() == 1 && failed[0].starts_with(&reason), "{name}: {output:?}");
        for part in parts {
            assert!(failed[0].contains(part) && output.stderr.contains(part), "{part}: {output:?}");
        }
        assert_eq!((output.exit_code, output.stderr.lines().count()), (Some(1), 1), "{output:?}");
    }
}

/// Returns the address of a port of this machine on which nothing listens.
fn closed_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn s3(s3: &S3, url: String) -> [(&'static str, String); 5] {
    [
        ("SERVICE__STORE_URL", url),
        ("SERVICE__STORE_ENDPOINT", s3.endpoint.clone()),
        ("SERVICE__STORE_REGION", "us-east-1".into()),
        ("SERVICE__STORE_ACCESS_KEY", s3.key.clone()),
        ("SERVICE__STORE_SECRET_KEY", s3.secret.clone()),
    ]
}

#[test]
fn postgres_redis_and_s3_are_ok_and_left_as_they_were() {
    let (database, redis, bucket) =
        (testkit::block_on(TestDatabase::empty(Backend::Postgres)), Redis::start(), S3::with_unique_prefix());
    let deployment = Deployment::new()
        .with([("DATABASE__URL", database.url.clone()), ("SERVICE__CACHE_URL", redis.url())])
        .with(s3(&bucket, bucket.url.clone()));
    let output = deployment.run(&[]);
    assert_eq!(output.exit_code, Some(0), "{output:?}");
    for name in ["keys", "database", "store", "cache"] {
        let line = format!("ok {name}: ");
        assert_eq!(output.stdout.lines().filter(|l| l.starts_with(&line)).count(), 1, "{output:?}");
    }
    let secrets = [redis.url(), bucket.secret];
    assert!(!secrets.iter().any(|secret| output.stdout.contains(secret)), "{output:?}");

    let local = Deployment::new();
    assert_eq!(local.run(&[]).exit_code, Some(0));
    let shards = std::fs::read_dir(local.folder.path().join("files")).unwrap();
    let contents = shards.flat_map(|shard| std::fs::read_dir(shard.unwrap().path()).unwrap());
    assert_eq!(contents.count(), 0, "the probe was not removed");
}

#[test]
fn each_failure_of_redis_and_s3_names_its_setting() {
    let closed = closed_port();
    let settings = |pairs: [(&'static str, String); 1]| Deployment::new().with(pairs);
    let keys = |url: String| Deployment::new().with([("AUTH__JWKS_URL", url)]);
    let jwks_url = "auth.jwks_url (DROVER_AUTH__JWKS_URL)";
    keys(format!("http://{closed}/jwks")).assert_fails("keys", &[&closed, jwks_url]);
    let unresolved = format!("the host {UNKNOWN_HOST} cannot be resolved");
    keys(format!("https://{UNKNOWN_HOST}/jwks")).assert_fails("keys", &[&unresolved, jwks_url]);

    let cache = |url: String| settings([("SERVICE__CACHE_URL", url)]);
    let cache_url = "service.cache_url (DROVER_SERVICE__CACHE_URL)";
    cache(format!("redis://{closed}")).assert_fails("cache", &[cache_url]);
    cache(format!("redis://{UNKNOWN_HOST}:6379")).assert_fails("cache", &[&unresolved, cache_url]);
    let redis = Redis::start();
    let wrong_password = redis.url().replace("redis://:", "redis://:not-");
    cache(wrong_password).assert_fails("cache", &["Password authentication failed", cache_url]);
    let cluster = redis.url().replace("redis://", "redis+cluster://");
    cache(cluster).assert_fails("cache", &["no longer takes", "a managed Redis", cache_url]);

    let scanner = |url: String| settings([("SERVICE__SCAN_URL", url)]);
    scanner(format!("tcp://{closed}")).assert_fails("scanner", &[&closed, "service.scan_url"]);
    scanner(format!("tcp://{UNKNOWN_HOST}:3310")).assert_fails("scanner", &[&unresolved]);

    let store_url = "service.store_url (DROVER_SERVICE__STORE_URL)";
    settings([("SERVICE__STORE_URL", "file:///proc/no-such".into())]).assert_fails("store", &[store_url]);
    let bucket = S3::with_unique_prefix();
    let unknown = [("SERVICE__STORE_ENDPOINT", format!("http://{UNKNOWN_HOST}:9000"))];
    let unresolved = ["cannot be resolved", "service.store_endpoint"];
    Deployment::new().with(s3(&bucket, "s3://any".into())).with(unknown).assert_fails("store", &unresolved);
    let missing = s3(&bucket, "s3://drover-no-such-bucket".into());
    Deployment::new().with(missing).assert_fails("store", &["drover-no-such-bucket", store_url]);
}

/// Invalid settings fail like dependencies that do not answer, also without a network, and the other checks run.
#[test]
fn each_invalid_setting_is_named_with_its_variable() {
    let with = |pairs: &[(&'static str, &str)]| {
        let mut deployment = Deployment::new();
        deployment.settings.extend(pairs.iter().map(|(name, value)| (*name, (*value).to_owned())));
        deployment
    };
    for (check, name, settings) in [
        ("durations", "scan_seconds", &[("SERVICE__SCAN_SECONDS", "0")][..]),
        ("cache", "cache_seconds", &[("SERVICE__CACHE_SECONDS", "0")]),
        ("cache", "cache_prefix", &[("SERVICE__CACHE_PREFIX", " ")]),
        ("cache", "cache_url", &[("SERVICE__CACHE_URL", "http://redis")]),
        ("cache", "cache_url", &[("SERVICE__CACHE_URL", "redis+sentinel://sentinel/master")]),
        ("countries", "enabled_countries", &[("SERVICE__ENABLED_COUNTRIES", "GB,UK")]),
        ("countries", "countries_file", &[("SERVICE__COUNTRIES_FILE", "/no/such/file")]),
        ("words", "words_key", &[("SERVICE__WORDS_PROVIDER", "what3words")]),
        ("addresses", "address_url", &[("SERVICE__ADDRESS_PROVIDER", "photon")]),
        ("addresses", "address_key", &[("SERVICE__ADDRESS_PROVIDER", "loqate")]),
        ("scanner", "scan_url", &[("SERVICE__SCAN_URL", "http://clamd:3310")]),
    ] {
        let deployment = with(settings);
        let named = format!("service.{name} (DROVER_SERVICE__{})", name.to_uppercase());
        for arguments in [&[][..], &["--offline"]] {
            let output = deployment.run(arguments);
            let failed: Vec<_> = output.stdout.lines().filter(|l| l.starts_with("failed ")).collect();
            let begin = format!("failed {check}: ");
            assert!(failed.len() == 1 && failed[0].starts_with(&begin), "{name}: {output:?}");
            assert!(failed[0].contains(&named) && output.exit_code == Some(1), "{name}: {output:?}");
            assert!(output.stdout.contains("\nok store: "), "the other checks ran: {output:?}");
        }
    }
    let store =
        |url: &str| Deployment::new().with([("SERVICE__STORE_URL", url.to_owned())]).run(&["--offline"]);
    for url in ["files", "ftp://bucket", "s3://bucket?x", "file://"] {
        let output = store(url);
        let failed =
            output.stdout.lines().find(|line| line.starts_with("failed store: ")).unwrap_or_default();
        assert!(failed.contains("service.store_url (DROVER_SERVICE__STORE_URL)"), "{url}: {output:?}");
    }
    // Several at once.
    let invalid = [("SERVICE__SCAN_SECONDS", "0"), ("SERVICE__CACHE_SECONDS", "0"), ("AUTH__ISSUER", "")];
    let output = with(&invalid).run(&[]);
    for check in ["keys", "durations", "cache"] {
        assert!(output.stdout.contains(&format!("\nfailed {check}: ")), "{output:?}");
    }
    assert!(output.stderr.contains("DROVER_AUTH__ISSUER"), "{output:?}");
}

/// The settings of the keys fail like keys that cannot be read.
#[test]
fn invalid_settings_of_the_keys_fail_their_check() {
    let url = ("AUTH__JWKS_URL", "https://login.example/jwks".to_owned());
    let file_and_url = Deployment::new().with([url, ("AUTH__JWKS_FILE", "/keys.json".to_owned())]);
    let output = file_and_url.run(&["--offline"]);
    let failed: Vec<_> = output.stdout.lines().filter(|line| line.starts_with("failed ")).collect();
    assert!(failed.len() == 1 && failed[0].starts_with("failed keys: "), "{output:?}");
    assert!(failed[0].contains("not both") && failed[0].contains("DROVER_AUTH__JWKS_FILE"), "{output:?}");
    assert!(
        output.stdout.contains("\nok database: ") && output.stdout.contains("\nok store: "),
        "{output:?}"
    );
}

#[test]
fn each_failure_of_postgres_is_told() {
    let setting = "database.url (DROVER_DATABASE__URL";
    let database = testkit::block_on(TestDatabase::empty(Backend::Postgres));
    let with_url = |url: String| Deployment::new().with([("DATABASE__URL", url)]);
    let mut wrong: url::Url = database.url.parse().unwrap();
    wrong.set_username("drover-no-such-role").unwrap();
    with_url(wrong.to_string()).assert_fails("database", &["drover-no-such-role", setting]);
    let unknown = format!("postgres://user@{UNKNOWN_HOST}/db");
    with_url(unknown).assert_fails("database", &["cannot be resolved", setting]);
}

testkit::on_both! {
    async fn the_database_of_another_service_is_refused(backend) {
        let database = TestDatabase::empty(backend).await;
        let schema = if backend == Backend::Sqlite { "" } else { "system." };
        if backend == Backend::Postgres {
            database.execute("CREATE SCHEMA system");
        }
        database.execute(&format!(
            "CREATE TABLE {schema}__diesel_schema_migrations (version VARCHAR(50) PRIMARY KEY, run_on TIMESTAMP);
             INSERT INTO {schema}__diesel_schema_migrations (version) VALUES ('20200101000000')"
        ));
        let deployment = Deployment::new().with([("DATABASE__URL", database.url.clone())]);
        deployment.assert_fails("database", &["the database of another service", "database.url (DROVER_DATABASE__URL"]);
        let migrated = testkit::run_command(PROGRAM, &[("DATABASE__URL", &database.url)], &["migrate"]);
        assert_eq!(migrated.exit_code, Some(1), "{migrated:?}");
        assert!(migrated.stderr.contains("the database of another service"), "{migrated:?}");
    }
}

#[test]
fn offline_leaves_out_the_network() {
    let closed = closed_port();
    let deployment = Deployment::new().with([
        ("AUTH__JWKS_URL", format!("http://{closed}/jwks")),
        ("DATABASE__URL", format!("postgres://user@{closed}/db")),
        ("SERVICE__CACHE_URL", format!("redis://{closed}")),
        ("SERVICE__SCAN_URL", format!("tcp://{closed}")),
        ("SERVICE__STORE_URL", "s3://bucket".into()),
        ("SERVICE__STORE_ENDPOINT", format!("http://{closed}")),
    ]);
    let output = deployment.run(&["--offline"]);
    assert_eq!(output.exit_code, Some(0), "{output:?}");
    for name in ["keys", "database", "cache", "scanner", "store"] {
        assert!(output.stdout.contains(&format!("\nskipped {name}: ")), "{name}: {output:?}");
    }
    let all = deployment.run(&[]);
    let failed = all.stdout.lines().filter(|line| line.starts_with("failed ")).count();
    assert_eq!((all.exit_code, failed), (Some(1), 5), "{all:?}");
}
