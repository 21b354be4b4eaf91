//! The log-in of demonstrations, the session and the start of the console.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::*;

#[test]
fn somebody_chooses_who_to_be_and_comes_back_to_the_page() {
    testkit::block_on(async {
        let office = Office::start().await;
        let browser = Browser::new(&office.console.url);
        let reply = browser.get("/loads?status=upcoming").await;
        assert_eq!((reply.status, reply.location()), (303, "/login?to=%2Floads%3Fstatus%3Dupcoming"));
        let page = browser.get(reply.location()).await;
        for text in ["Who are you today?", "Owen", "Border Grain Merchants", "development tokens"] {
            assert!(page.text.contains(text), "{text}: {}", page.text);
        }
        let reply =
            browser.fill("/login?to=/loads?status=upcoming", "/login/person", &[("person", "owen")]).await;
        assert_eq!((reply.status, reply.location()), (303, "/loads?status=upcoming"));
        let cookie = reply.header("set-cookie");
        assert!(cookie.ends_with("; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax"), "{cookie}");
        let today = browser.get("/").await.ok();
        assert!(
            today.contains("Border Grain Merchants") && today.contains("accepts development tokens"),
            "{today}"
        );

        let reply = browser.fill("/", "/logout", &[]).await;
        assert!(reply.text.contains("You are logged out"), "{}", reply.text);
        assert_eq!((browser.cookies().as_str(), browser.get("/").await.status), ("", 303));
    });
}

#[test]
fn the_way_back_never_leaves_the_console() {
    testkit::block_on(async {
        let console = RunningConsole::start(development()).await;
        for to in ["//evil.example", "/\\evil.example", "https://evil.example", "/login"] {
            let reply =
                Browser::new(&console.url).post("/login/person", &[("person", "owen"), ("to", to)]).await;
            assert_eq!((reply.status, reply.location()), (303, "/"), "{to}");
        }
        assert_eq!(Browser::new(&console.url).post("/login/person", &[("person", "root")]).await.status, 404);
    });
}

#[test]
fn a_changed_cookie_is_no_session() {
    testkit::block_on(async {
        let office = Office::start().await;
        let browser = office.browser("owen").await;
        let good = browser.cookies();
        let (name, value) = good.split_once('=').unwrap();
        let flipped = |at: usize| {
            let mut bytes = value.as_bytes().to_vec();
            bytes[at] = if bytes[at] == b'x' { b'y' } else { b'x' };
            format!("{name}={}", String::from_utf8(bytes).unwrap())
        };
        let foreign = RunningConsole::start(development()).await;
        let of_other_key = Browser::new(&foreign.url);
        of_other_key.post("/login/person", &[("person", "anna")]).await;
        for cookies in
            [flipped(3), flipped(40), flipped(value.len() - 1), format!("{name}="), of_other_key.cookies()]
        {
            browser.set_cookies(&cookies);
            assert_eq!(browser.get("/").await.status, 303, "{cookies}");
        }
        browser.set_cookies(&good);
        assert_eq!(browser.get("/").await.status, 200);
    });
}

#[test]
fn health_and_metrics_need_no_log_in() {
    testkit::block_on(async {
        let office = Office::start().await;
        let browser = Browser::new(&office.console.url);
        assert_eq!(browser.get("/healthz").await.ok(), r#"{"status":"ok"}"#);
        let ready: Value = serde_json::from_str(&browser.get("/readyz").await.ok()).unwrap();
        assert_eq!(ready, json!({"status": "ok", "system": "ok", "logistics": "ok", "livestock": "ok"}));
        let metrics = browser.get("/metrics").await.ok();
        for text in [r#"operation="GET /loads/{id}",status="200"}"#, r#"service="console""#] {
            assert!(metrics.contains(text), "{text}: {metrics}");
        }
        office.livestock.stop().await;
        let ready: Value = serde_json::from_str(&browser.get("/readyz").await.ok()).unwrap();
        assert_eq!((&ready["status"], &ready["livestock"]), (&json!("ok"), &json!("degraded")));
        office.console.running.stop().await;
    });
}

#[test]
fn wrong_settings_are_refused_at_start() {
    testkit::block_on(async {
        let start = async |settings: Settings| {
            let config = SiteConfig { service: settings, ..SiteConfig::default() };
            start_site::<Console>(config).await.err().map(|error| format!("{error:#}"))
        };
        for (settings, message) in [
            (Settings::default(), "nobody can log in: set service.provider_url"),
            (
                Settings { development_key: Some("no key".into()), ..Settings::default() },
                "must be an Ed25519 or RSA key",
            ),
            (Settings { session_keys: vec!["c2hvcnQ=".into()], ..development() }, "openssl rand -base64 32"),
        ] {
            let error = start(settings).await.unwrap();
            assert!(error.contains(message), "{error}");
        }
    });
}

/// A program that ends with the test.
pub(crate) struct Program(pub(crate) Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn log_ins_are_security_events() {
    testkit::block_on(async {
        let mut command = Command::new(env!("CARGO_BIN_EXE_console"));
        command.env("DROVER_SERVER__PORT", "0").env("DROVER_SERVICE__DEVELOPMENT_KEY", key_pem());
        for service in ["SYSTEM", "LOGISTICS", "LIVESTOCK"] {
            command.env(format!("DROVER_SERVICE__{service}_URL"), "http://127.0.0.1:9");
        }
        let mut program = Program(command.stdout(Stdio::piped()).spawn().unwrap());
        let lines = BufReader::new(program.0.stdout.take().unwrap()).lines();
        let mut lines = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        let address = lines.find_map(|line| line["address"].as_str().map(str::to_owned)).unwrap();
        let browser = Browser::new(&format!("http://{address}"));
        assert_eq!(browser.post("/login/person", &[("person", "owen")]).await.status, 303);
        assert_eq!(browser.fill("/", "/logout", &[]).await.status, 200);
        // Nobody is logged in any more.
        browser.post("/logout", &[]).await;
        drop(program);
        let events = lines.filter(|line| line["target"] == "security");
        let events: Vec<_> = events.map(|line| line["event"].clone()).collect();
        assert_eq!(events, ["session_began", "session_ended"]);
    });
}
