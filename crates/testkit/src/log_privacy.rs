//! Somebody whom no log may tell of.

use crate::{Process, User};

/// Her name and texts, in lower case. Each is long enough never to occur in a random id.
const MARKS: [&str; 8] =
    ["ottilie", "quarrington", "07700900123", "qx19", "ze1 0", "passport", "old mill", "eyj0exai"];

/// Targets of log lines of our own.
const OURS: [&str; 5] = ["common", "database", "system", "logistics", "livestock"];

/// A user who has a name, as people have.
pub fn user_with_personal_data() -> User {
    User::of("quarrington-farm").with("sub", "ottilie-7").with("name", "Ottilie Quarrington")
}

/// What she writes wherever something can be written.
pub const PERSONAL_DATA: &str =
    "Ottilie Quarrington, ottilie@quarrington.example, 07700900123, QX19 ZZZ, ZE1 0AA, old mill";

impl Process {
    /// Ends it and panics if its log tells of her; it must have told that these statuses were answered.
    pub fn assert_no_personal_data(self, statuses: &[u16]) {
        let log = self.log();
        for line in log.lines() {
            let told = line.to_lowercase();
            for mark in MARKS {
                assert!(!told.contains(mark), "{mark:?} in {line}");
            }
        }
        let debug = |line: &&str| {
            line.contains("\"level\":\"DEBUG\"")
                && OURS.iter().any(|ours| line.contains(&format!("\"target\":\"{ours}")))
        };
        assert!(log.lines().any(|line| debug(&line)), "it was not talkative");
        for status in statuses {
            assert!(log.contains(&format!("\"status\":{status},")), "no {status} in {log}");
        }
    }

    /// Has everything of ours logged, as talkative as it can be; what it is built on as usual.
    pub async fn enable_trace_logs(&self) {
        let ours = OURS.map(|ours| format!("{ours}=trace")).join(",");
        let logging = serde_json::json!({"logging": {"level": "info", "filter": ours}});
        self.call("PUT", "/v1/settings").by(&User::admin()).json(&logging).send().await.ok();
    }

    /// Sends what no operation takes: to each of these paths (`METHOD /path`), as her, a mistake of each kind.
    pub async fn send_malformed_requests(&self, operations: &[&str]) {
        let (user, text) = (user_with_personal_data(), PERSONAL_DATA);
        let cut = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"ottilie-passport.jpg\"\r\n\r\ncut";
        for operation in operations {
            let (method, path) = operation.split_once(' ').expect("a method and a path");
            let query = format!(
                "{path}?query={text}&cursor={text}&ids={text}&sortBy={text}&countryISO={text}&id={text}"
            );
            for path in [path, &query, &format!("{path}/{text}")] {
                let call = || self.call(method, path).by(&user).header("idempotency-key", text);
                call().send().await;
                self.call(method, path).bearer(&format!("{}x", user.token())).send().await;
                for body in [
                    format!("{{\"loadId\": \"{text}\""),
                    format!("\"{text}\""),
                    wrong(text),
                    "x".repeat((1 << 20) + 1),
                ] {
                    call().body("application/json", body).send().await;
                }
                call().body("text/plain", text).send().await;
                call().body("multipart/form-data; boundary=x", cut).send().await;
                self.call(method, path).by(&user).header("accept", text).send().await;
            }
        }
    }
}

/// An object in which every member that operations know is a text, which few are.
fn wrong(text: &str) -> String {
    let members = [
        "loadId",
        "driverId",
        "carrierId",
        "organiserId",
        "reference",
        "commodityId",
        "deliveryDateISO",
        "weight",
        "weightNet",
        "vehicleRegistration",
        "ticketNumber",
        "files",
        "tags",
        "type",
        "categoryIds",
        "location",
        "price",
        "description",
        "properties",
        "reason",
        "message",
        "status",
        "ids",
        "shareWith",
        "keys",
        "prefixes",
        "logging",
    ];
    serde_json::Value::Object(members.map(|name| (name.to_owned(), text.into())).into_iter().collect())
        .to_string()
}
