//! Checks that logs contain no personal data.

use crate::{Process, User};

/// Parts of [`user_with_personal_data`] and [`PERSONAL_DATA`] and the start of its tokens, in lower case. Each is long
/// enough never to occur in a random id.
const MARKERS: [&str; 8] =
    ["ottilie", "quarrington", "07700900123", "qx19", "ze1 0", "passport", "old mill", "eyj0exai"];

/// Log targets of Drover's own crates.
const TARGETS: [&str; 5] = ["common", "database", "system", "logistics", "livestock"];

/// Returns a user with a person's name and an organisation's.
pub fn user_with_personal_data() -> User {
    User::of("quarrington-farm").with("sub", "ottilie-7").with("name", "Ottilie Quarrington")
}

/// Personal data for every text of a request: name, e-mail address, telephone number, registration, postcode, place.
pub const PERSONAL_DATA: &str =
    "Ottilie Quarrington, ottilie@quarrington.example, 07700900123, QX19 ZZZ, ZE1 0AA, old mill";

impl Process {
    /// Kills the program and asserts that its log contains no personal data, has lines of level DEBUG, and reports
    /// responses with all these statuses.
    pub fn assert_no_personal_data(self, statuses: &[u16]) {
        let log = self.log();
        for line in log.lines() {
            let lower = line.to_lowercase();
            for marker in MARKERS {
                assert!(!lower.contains(marker), "{marker:?} in {line}");
            }
        }
        let is_own_debug = |line: &str| {
            line.contains("\"level\":\"DEBUG\"")
                && TARGETS.iter().any(|target| line.contains(&format!("\"target\":\"{target}")))
        };
        assert!(log.lines().any(is_own_debug), "the log has no debug lines");
        for status in statuses {
            assert!(log.contains(&format!("\"status\":{status},")), "no {status} in {log}");
        }
    }

    /// Sets the log level of Drover's own crates to TRACE and leaves their dependencies at INFO.
    pub async fn enable_trace_logs(&self) {
        let filter = TARGETS.map(|target| format!("{target}=trace")).join(",");
        let logging = serde_json::json!({"logging": {"level": "info", "filter": filter}});
        self.call("PUT", "/v1/settings").by(&User::admin()).json(&logging).send().await.ok();
    }

    /// Exports and erases the personal data of a user.
    pub async fn export_and_erase(&self, user: &User) {
        let path = format!("/v1/users/{}", user.claims["sub"].as_str().expect("a user id"));
        self.call("GET", &format!("{path}/data")).by(&User::admin()).send().await.ok();
        let result = self.call("POST", &format!("{path}/erase")).by(&User::admin()).send().await.ok();
        assert!(result["count"].as_i64() > Some(0), "{result}");
    }

    /// Sends invalid requests of every kind, with personal data, to each of these operations (`METHOD /path`).
    pub async fn send_malformed_requests(&self, operations: &[&str]) {
        let (user, text) = (user_with_personal_data(), PERSONAL_DATA);
        let incomplete_form = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"ottilie-passport.jpg\"\r\n\r\ncut";
        for operation in operations {
            let (method, path) = operation.split_once(' ').expect("a method and a path");
            let query = format!(
                "{path}?query={text}&cursor={text}&ids={text}&sortBy={text}&countryISO={text}&id={text}"
            );
            for path in [path, &query, &format!("{path}/{text}")] {
                let request = || self.call(method, path).by(&user).header("idempotency-key", text);
                request().send().await;
                self.call(method, path).bearer(&format!("{}x", user.token())).send().await;
                for body in [
                    format!("{{\"loadId\": \"{text}\""),
                    format!("\"{text}\""),
                    object_of_texts(text),
                    "x".repeat((1 << 20) + 1),
                ] {
                    request().body("application/json", body).send().await;
                }
                request().body("text/plain", text).send().await;
                request().body("multipart/form-data; boundary=x", incomplete_form).send().await;
                self.call(method, path).by(&user).header("accept", text).send().await;
            }
        }
    }
}

/// Returns a JSON object with many members of request bodies, all of which are the same string. Few members accept it.
fn object_of_texts(text: &str) -> String {
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
