//! Drives the program against running services. The addresses are in SYSTEM, LOGISTICS and LIVESTOCK, and the tokens in
//! OWEN, RUTH and CARYS, as `deploy/examples/env.sh` sets them:
//!
//!     set -a && . deploy/examples/env.sh && cargo test -p cli --test journey
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Returns a variable of the environment.
fn variable(name: &str) -> String {
    let hint = "start the services with `cargo xtask up --demo` and run `set -a && . deploy/examples/env.sh`";
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: {hint}"))
}

/// Returns a command of a person, with an empty configuration folder.
fn command(person: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_drover"));
    for name in ["SYSTEM", "LOGISTICS", "LIVESTOCK"] {
        command.env(name, variable(name));
    }
    let nowhere = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-profile");
    command.env("XDG_CONFIG_HOME", nowhere).env("DROVER_TOKEN", variable(person)).args(args);
    command.current_dir(ROOT).stdin(Stdio::null());
    command
}

/// Runs a command. No output may contain the token.
fn run(person: &str, args: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command(person, args).output().unwrap();
    let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    let token = variable(person);
    assert!(!stdout.contains(&token) && !stderr.contains(&token), "{args:?} printed the token");
    (status.code().unwrap(), stdout, stderr)
}

/// Runs a command that must succeed, and returns its output.
#[track_caller]
fn succeed(person: &str, args: &[&str]) -> String {
    let (code, stdout, stderr) = run(person, args);
    assert_eq!(code, 0, "{args:?}: {stderr}");
    stdout
}

/// Returns the JSON objects of lines.
fn objects(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns a text that no other run of the tests uses.
fn unique(name: &str) -> String {
    format!("{name}-{}", SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros())
}

fn create(reference: &str, key: &str) -> Value {
    let args = [
        "loads",
        "create",
        "--reference",
        reference,
        "--date",
        "2026-12-01",
        "--commodity",
        "feed barley",
        "--weight",
        "28.5",
        "--tag",
        "journey",
        "--idempotency-key",
        key,
        "--json",
    ];
    serde_json::from_str(&succeed("OWEN", &args)).unwrap()
}

#[test]
fn the_example_of_a_day_succeeds() {
    let mut day = Command::new("deploy/examples/day-by-command-line.sh");
    for name in ["SYSTEM", "LOGISTICS", "LIVESTOCK", "OWEN", "RUTH"] {
        day.env(name, variable(name));
    }
    let day =
        day.current_dir(ROOT).env("DROVER", env!("CARGO_BIN_EXE_drover")).env("RUN", unique("J")).output();
    let Output { status, stdout, stderr } = day.unwrap();
    let texts = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{texts}");
    assert!(texts.contains("--correct '1:commodityName=Milling Wheat'"), "{texts}");
}

#[test]
fn a_repeated_key_creates_one_load_and_a_dry_run_none() {
    let (reference, key) = (unique("K"), unique("key"));
    let first = create(&reference, &key);
    assert_eq!(create(&reference, &key)["id"], first["id"]);
    assert_eq!(first["organiser"]["id"], "border-grain", "the organisation of the token");
    let dry = [
        "loads",
        "create",
        "--reference",
        &reference,
        "--date",
        "2026-12-01",
        "--commodity",
        "10",
        "--dry-run",
    ];
    let printed = succeed("OWEN", &dry);
    assert!(printed.starts_with("POST http") && printed.contains("\"commodityId\": 10"), "{printed}");
    let found = objects(&succeed("OWEN", &["loads", "list", &reference, "--all", "--json"]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["id"], first["id"]);
}

#[test]
fn a_refusal_names_the_fields_and_repeats_what_was_typed() {
    let args = [
        "loads",
        "create",
        "--reference",
        "R-typed",
        "--date",
        "tomorrow",
        "--commodity",
        "10",
        "--weight",
        "-1",
    ];
    let (code, stdout, stderr) = run("OWEN", &args);
    assert_eq!((code, stdout.as_str()), (2, ""), "clap takes -1 for an option: {stderr}");
    let args = [
        "loads",
        "create",
        "--reference",
        "R-typed",
        "--date",
        "tomorrow",
        "--commodity",
        "10",
        "--weight=-1",
    ];
    let (code, stdout, stderr) = run("OWEN", &args);
    assert_eq!((code, stdout.as_str()), (1, ""));
    for line in ["  deliveryDateISO: ", "  weight: ", "\"reference\": \"R-typed\""] {
        assert!(stderr.contains(line), "{line} is missing: {stderr}");
    }
    let (code, _, stderr) = run("OWEN", &[args.as_slice(), &["--json"]].concat());
    assert_eq!(code, 1);
    assert_eq!(objects(&stderr)[0]["code"], "validation_failed");
}

#[test]
fn exit_codes_tell_a_script_what_to_do() {
    let code = |command: &mut Command| command.output().unwrap().status.code().unwrap();
    assert_eq!(code(&mut command("OWEN", &["loads", "show", "01955bf1-6c00-7a10-8000-000000000fff"])), 1);
    assert_eq!(code(&mut command("OWEN", &["loads", "show", ".."])), 2);
    assert_eq!(code(command("OWEN", &["loads", "list"]).env("LOGISTICS", "http://127.0.0.1:9")), 3);
    assert_eq!(code(command("OWEN", &["loads", "list"]).env_remove("DROVER_TOKEN")), 4);
    assert_eq!(code(command("OWEN", &["loads", "list"]).env("DROVER_TOKEN", "e30.e30.x")), 4);
}

#[test]
fn a_reader_that_ends_is_no_error() {
    let mut child = command("OWEN", &["loads", "list", "--all", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::with_capacity(64, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    assert_eq!((status.code(), String::from_utf8(stderr).unwrap()), (Some(0), String::new()));
}

#[test]
fn a_follower_continues_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("cursor").to_str().unwrap().to_owned();
    let follow = ["events", "follow", "--once", "--store", &store, "--type", "load.created", "--json"];
    succeed("OWEN", &follow);
    let references = [unique("F"), unique("G"), unique("H")];
    let read = |reference: &String| {
        create(reference, reference);
        let events = objects(&succeed("OWEN", &follow));
        // Other tests create loads at the same time.
        let events = events.into_iter().map(|event| event["reference"].as_str().unwrap().to_owned());
        events.filter(|found| references.contains(found)).collect::<Vec<_>>()
    };
    for reference in &references {
        assert_eq!(read(reference), std::slice::from_ref(reference));
    }
}

/// Receives webhooks: answers 503 once and then 204. Sends the headers and bodies.
fn receiver() -> (String, Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (sender, received) = mpsc::channel();
    std::thread::spawn(move || {
        for (stream, status) in listener.incoming().zip(std::iter::once(503).chain(std::iter::repeat(204))) {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert_ne!(reader.read_line(&mut head).unwrap(), 0);
            }
            let length = header(&head, "content-length").parse().unwrap();
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            write!(stream, "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").unwrap();
            if sender.send((head, String::from_utf8(body).unwrap())).is_err() {
                break;
            }
        }
    });
    (url, received)
}

fn header(head: &str, name: &str) -> String {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines
        .find(|(found, _)| found.eq_ignore_ascii_case(name))
        .unwrap_or_else(|| panic!("{name}: {head}"))
        .1
        .to_owned()
}

#[test]
fn a_receiver_gets_signed_events_again_until_it_accepts_them() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("cursor").to_str().unwrap().to_owned();
    succeed("OWEN", &["events", "follow", "--once", "--store", &store]);
    let load = create(&unique("W"), &unique("key"));
    let (url, received) = receiver();
    let mut child = command("OWEN", &["webhooks", "listen", "--forward", &url, "--store", &store, "--once"])
        .env("DROVER_WEBHOOK_SECRET", SECRET)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(printed.contains("attempt 1: 503") && printed.contains("attempt 2: 204"), "{printed}");
    let messages: Vec<_> =
        std::iter::from_fn(|| received.recv_timeout(Duration::from_millis(200)).ok()).collect();
    let key = hmac::Key::new(hmac::HMAC_SHA256, &STANDARD.decode(&SECRET[6..]).unwrap());
    for (head, body) in &messages {
        let (id, timestamp) = (header(head, "webhook-id"), header(head, "webhook-timestamp"));
        let signature = STANDARD.decode(&header(head, "webhook-signature")[3..]).unwrap();
        hmac::verify(&key, format!("{id}.{timestamp}.{body}").as_bytes(), &signature).unwrap();
        let message: Value = serde_json::from_str(body).unwrap();
        assert_eq!(message["id"], id);
        assert!(!header(head, "drover-webhook-id").is_empty());
    }
    assert_eq!(messages[0].1, messages[1].1, "the second attempt has the same body");
    let bodies: Vec<Value> = messages.iter().map(|(_, body)| serde_json::from_str(body).unwrap()).collect();
    let created = bodies.iter().find(|body| body["data"]["load"]["id"] == load["id"]).unwrap();
    assert_eq!(created["type"], "load.created");
    assert_eq!(created["data"]["load"]["reference"], load["reference"]);
    assert_eq!(created["data"]["userId"], "owen");
}

#[test]
fn a_file_comes_back_as_it_was_sent() {
    let picture = "deploy/examples/files/weighbridge-ticket.jpg";
    let id = succeed("RUTH", &["files", "upload", "--type", "weighbridge", picture]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ticket.jpg");
    succeed("RUTH", &["files", "get", id.trim(), "--output", path.to_str().unwrap()]);
    assert_eq!(fs::read(path).unwrap(), fs::read(Path::new(ROOT).join(picture)).unwrap());
}

#[test]
fn a_service_account_logs_in_and_the_profile_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let account: Value = runtime.block_on(async {
        let request = reqwest::Client::new().post(format!("{}/v1/service-accounts", variable("SYSTEM")));
        let request = request.bearer_auth(variable("OWEN")).json(&json!({"name": unique("cli")}));
        request.send().await.unwrap().json().await.unwrap()
    });
    let (client_id, text) =
        (account["clientId"].as_str().unwrap(), account["clientSecret"].as_str().unwrap());
    fs::write(&secret, text).unwrap();
    let run = |args: &[&str]| {
        let mut command = command("OWEN", args);
        let output =
            command.env_remove("DROVER_TOKEN").env("XDG_CONFIG_HOME", folder.path()).output().unwrap();
        let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(!printed.contains(text), "{args:?} printed the secret");
        (output.status.code().unwrap(), printed)
    };
    let login = ["login", "--client-id", client_id, "--client-secret-file", secret.to_str().unwrap()];
    assert_eq!(run(&login).0, 0);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &str| fs::metadata(folder.path().join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("drover"), mode("drover/profile.json")), (0o700, 0o600));
    }
    assert_eq!(run(&["loads", "list", "--limit", "1"]).0, 0);
    let profile = folder.path().join("drover/profile.json");
    let read = || serde_json::from_slice::<Value>(&fs::read(&profile).unwrap()).unwrap();
    let mut ended = read();
    ended["token"]["expiresAt"] = json!(0);
    fs::write(&profile, ended.to_string()).unwrap();
    assert_eq!(run(&["loads", "list", "--limit", "1"]).0, 0, "a token that has ended is replaced");
    assert!(read()["token"]["expiresAt"].as_i64().unwrap() > 0);
    fs::write(&secret, "wrong").unwrap();
    assert_eq!(run(&login).0, 4);
    assert_eq!(run(&["loads", "list", "--limit", "1"]).0, 0, "the earlier log-in is kept");
    assert_eq!(run(&["logout"]).0, 0);
    // An organisation has at most 20 accounts.
    runtime.block_on(async {
        let url = format!("{}/v1/service-accounts/{}", variable("SYSTEM"), account["id"].as_str().unwrap());
        let deleted = reqwest::Client::new().delete(url).bearer_auth(variable("OWEN")).send().await.unwrap();
        assert!(deleted.status().is_success());
    });
    assert_eq!(run(&["loads", "list"]).0, 4);
}

#[test]
fn a_sheet_with_problems_is_written_with_its_problems() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let run_id = unique("P");
    fs::write(path("a.csv"), format!("Ref,Delivery date,Commodity\n{run_id},2026-12-01,Miling Weat\n"))
        .unwrap();
    let args = ["loads", "import", &path("a.csv"), "--dry-run", "--problems", &path("mended.csv"), "--json"];
    let (code, _, stderr) = run("OWEN", &args);
    assert_eq!(code, 1, "{stderr}");
    let written = fs::read_to_string(path("mended.csv")).unwrap();
    assert!(written.starts_with("Problems,") && written.contains("Milling Wheat"), "{written}");
    let found = succeed("CARYS", &["listings", "search", "--limit", "2", "--json"]);
    assert_eq!(objects(&found).len(), 2);
}
