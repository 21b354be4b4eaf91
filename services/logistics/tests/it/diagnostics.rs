//! Diagnostics for operators: malformed HTTP, a deleted database file, invalid settings.

use std::fs;
use std::time::Duration;

use testkit::{Process, TestDatabase};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;

const PROGRAM: &str = env!("CARGO_BIN_EXE_logistics");

async fn exchange(service: &Process, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(service.url.trim_start_matches("http://")).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

async fn send_malformed(service: &Process) {
    let answer = exchange(service, b"Ottilie Quarrington\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}

#[test]
fn logs_malformed_http_at_debug_with_a_rate_limit() {
    testkit::block_on(async {
        let database = TestDatabase::empty(Backend::Sqlite).await;
        let service = Process::start(PROGRAM, &[("DATABASE__URL", &database.url)]);
        send_malformed(&service).await;
        service.enable_trace_logs().await;
        let started = std::time::Instant::now();
        for _ in 0..200 {
            send_malformed(&service).await;
        }
        // A burst of 10, then 10 per second.
        let max_lines = 12 + usize::try_from(started.elapsed().as_millis()).unwrap() / 100;
        tokio::time::sleep(Duration::from_millis(1200)).await;
        send_malformed(&service).await;
        tokio::time::sleep(Duration::from_millis(500)).await;

        // Errors of parsed requests are not counted.
        let token = User::of("haul").token();
        let head = format!(
            "POST /v1/loads/carrier HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
             content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        let malformed_chunk = exchange(&service, format!("{head}zz\r\n").as_bytes()).await;
        assert!(
            malformed_chunk.starts_with("HTTP/1.1 400 ") && malformed_chunk.contains("x-request-id"),
            "{malformed_chunk}"
        );
        let unknown = exchange(&service, b"GET /x HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n").await;
        assert!(unknown.starts_with("HTTP/1.1 404 "), "{unknown}");
        let metrics = service.call("GET", "/metrics").send().await.text();
        for (status, count) in [(400, 202), (408, 0), (431, 0)] {
            let line = format!("drover_unparsed_requests_total{{status=\"{status}\"}} {count}\n");
            assert!(metrics.contains(&line), "{line} in {metrics}");
        }

        let log = service.log();
        assert!(!log.contains("actix_http"), "{log}");
        let lines: Vec<Value> = log
            .lines()
            .filter(|line| line.contains("a request could not be parsed"))
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert!((2..=max_lines).contains(&lines.len()), "{} of {max_lines}", lines.len());
        let total = |name: &str| lines.iter().map(|line| line[name].as_u64().unwrap()).sum::<u64>();
        assert_eq!(total("suppressed") + u64::try_from(lines.len()).unwrap(), 201, "{lines:?}");
        let mut ids: Vec<_> = lines.iter().map(|line| line["request_id"].to_string()).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), lines.len(), "{ids:?}");
        for line in &lines {
            assert_eq!((&line["level"], &line["status"]), (&json!("DEBUG"), &json!(400)), "{line}");
        }
        for private in ["Ottilie", "127.0.0.1"] {
            assert!(lines.iter().all(|line| !line.to_string().contains(private)), "{private}");
        }
    });
}

#[test]
fn logs_a_deleted_database_file_once() {
    testkit::block_on(async {
        let database = TestDatabase::empty(Backend::Sqlite).await;
        let path = database.url.strip_prefix("sqlite://").unwrap();
        let service = Process::start(PROGRAM, &[("DATABASE__URL", &database.url)]);
        let ready = async || service.call("GET", "/readyz").send().await.status;
        assert_eq!(ready().await, 200);
        fs::remove_file(path).unwrap();
        let haul = User::of("haul");
        for _ in 0..3 {
            assert_eq!(ready().await, 503);
            let response =
                service.call("POST", "/v1/loads/carrier").by(&haul).json(&carrier_form()).send().await;
            assert_eq!(response.error(503), "dependency_unavailable");
        }
        assert!(!fs::exists(path).unwrap());
        let log = service.log();
        let errors: Vec<_> = log.lines().filter(|line| line.contains("\"level\":\"ERROR\"")).collect();
        assert_eq!(errors.len(), 1, "{log}");
        assert!(errors[0].contains(path) && errors[0].contains("restore a backup"), "{log}");
        assert_eq!(log.matches("\"dependency\":\"database\"").count(), 1, "{log}");
    });
}

#[test]
fn names_invalid_settings_in_one_line() {
    let database = testkit::block_on(TestDatabase::empty(Backend::Sqlite));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("drover.toml");
    fs::write(&file, "[server]\nprot = 1\n").unwrap();
    let (file, missing) = (file.to_str().unwrap(), directory.path().join("missing.toml"));
    let missing = missing.to_str().unwrap();
    for (setting, arguments, parts) in [
        (("LOG__FORMAT", "xml"), &[][..], &["log.format (DROVER_LOG__FORMAT)", "json or pretty"][..]),
        (
            ("LOG__LEVEL", "loud"),
            &[],
            &["log.level (DROVER_LOG__LEVEL)", "off, error, warn, info, debug, trace"],
        ),
        (
            ("SERVER__CORS_ORIGINS", "https://a.example,app.example/"),
            &[],
            &["server.cors_origins (DROVER_SERVER__CORS_ORIGINS)", "\"app.example/\"", "https://app.example"],
        ),
        (("SERVER__PORT", "70000"), &[], &["server.port (DROVER_SERVER__PORT)", "0 to 65535"]),
        (
            ("DATABASE__MIGRATE", "perhaps"),
            &[],
            &["database.migrate (DROVER_DATABASE__MIGRATE)", "true or false"],
        ),
        (
            ("DATABASE__URL", "postgres://u:s3cret@no-such-host.invalid/x"),
            &[],
            &["the host no-such-host.invalid of database.url (DROVER_DATABASE__URL) cannot be resolved"],
        ),
        (("AUTH__JWKS_FILE", "/no/such/keys.json"), &[], &["/no/such/keys.json", "auth.jwks_file"]),
        (
            ("SERVICE__SYSTEM_URL_FILE", "/no/such/file"),
            &[],
            &["DROVER_SERVICE__SYSTEM_URL_FILE", "/no/such/file"],
        ),
        (("LOG__LEVEL", "info"), &["--config", missing], &["--config", missing]),
        (
            ("LOG__LEVEL", "info"),
            &["--config", file],
            &["there is no setting server.prot (DROVER_SERVER__PROT)"],
        ),
    ] {
        for command in ["serve", "check-config"] {
            let all: Vec<&str> = [command].iter().chain(arguments).copied().collect();
            let output = testkit::run_command(PROGRAM, &[("DATABASE__URL", &database.url), setting], &all);
            assert_eq!(output.exit_code, Some(1), "{output:?}");
            assert_eq!(output.stderr.lines().count(), 1, "{output:?}");
            for part in parts {
                assert!(
                    output.stderr.contains(part) && !output.stderr.contains("s3cret"),
                    "{part}: {output:?}"
                );
            }
        }
    }
}
