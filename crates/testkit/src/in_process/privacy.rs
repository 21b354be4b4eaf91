//! Checks that logs contain no personal data, and that a user is exported and erased completely.

use std::collections::BTreeMap;

use serde_json::Value;

use super::app::App;
use super::process::Process;
use super::user::User;

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

/// A user whose id and name occur nowhere else, and are escaped in paths and in JSON.
pub struct ErasedUser;

impl ErasedUser {
    /// Claim `sub`.
    pub const ID: &str = "auth0|zeph\"yrine/7%";
    /// The id as a segment of a path.
    pub const IN_PATH: &str = "auth0%7Czeph%22yrine%2F7%25";
    /// Claim `name`.
    pub const NAME: &str = "Zephyrina \"Zeph\" Longbottom";
    /// A part of the id that nothing escapes.
    pub const ID_MARK: &str = "yrine/7";
    /// A part of the name that nothing escapes.
    pub const NAME_MARK: &str = "zephyrina";

    /// Returns the user, who acts for an organisation.
    pub fn of(organisation: &str) -> User {
        User::of(organisation).with("sub", Self::ID).with("name", Self::NAME)
    }

    /// Returns the export of the user.
    pub async fn export(app: &App) -> Value {
        app.get(&format!("/v1/users/{}/data", Self::IN_PATH)).by(&User::admin()).send().await.ok()
    }

    /// Returns the number of records of each kind that the export has.
    pub async fn count(app: &App) -> BTreeMap<String, i64> {
        let Value::Object(kinds) = Self::export(app).await else { panic!("the export is no object") };
        let count =
            |records: Value| i64::try_from(records.as_array().expect("an array").len()).expect("a number");
        kinds.into_iter().map(|(name, records)| (name, count(records))).collect()
    }

    /// Erases the user. Returns the number of records.
    pub async fn erase(app: &App) -> i64 {
        let path = format!("/v1/users/{}/erase", Self::IN_PATH);
        let result = app.post(&path).by(&User::admin()).send().await.ok();
        assert_eq!(result["status"], "success");
        assert!(result["message"].is_string(), "{result}");
        result["count"].as_i64().expect("a number")
    }

    /// Asserts that these columns have the id or the name, as `table.column`.
    pub fn assert_mentioned(app: &App, ids: &[&str], names: &[&str]) {
        for (mark, columns) in [(Self::ID_MARK, ids), (Self::NAME_MARK, names)] {
            let found = app.database.mentions(mark);
            for column in columns {
                assert!(
                    found.iter().any(|found| found == column),
                    "{mark} is not in {column}, but in {found:?}"
                );
            }
        }
    }

    /// Asserts that nothing that the database stores has the id or the name, and that a second erasure finds nothing.
    pub async fn assert_erased(app: &App) {
        for mark in [Self::ID_MARK, Self::NAME_MARK] {
            assert_eq!(app.database.mentions(mark), Vec::<String>::new(), "{mark}");
        }
        assert_eq!(Self::erase(app).await, 0);
        assert!(Self::count(app).await.values().all(|count| *count == 0));
    }

    /// Erases the user and asserts that the export had every record.
    pub async fn erase_all(app: &App) {
        app.record_statements();
        let exported: i64 = Self::count(app).await.values().sum();
        assert_eq!(Self::erase(app).await, exported);
        Self::assert_indexed(app);
        Self::assert_erased(app).await;
    }

    /// Asserts that the recorded statements about the user find their rows by indexes, on SQLite.
    pub fn assert_indexed(app: &App) {
        let statements = app.take_statements();
        // Those on deliveries name loads and listings of the user.
        let is_of_user = |s: &&String| {
            !s.starts_with("cached: ") && (s.contains(Self::ID_MARK) || s.contains("json_extract("))
        };
        let of_user: Vec<_> = statements.iter().filter(is_of_user).collect();
        assert!(of_user.len() > 4, "{statements:#?}");
        for statement in of_user {
            if app.database.url.starts_with("sqlite") && !statement.starts_with("INSERT") {
                let plan = app.query_plan(statement);
                let mut steps = plan.lines();
                assert!(
                    !steps.any(|step| step.starts_with("SCAN ") && !is_short_scan(step)),
                    "{statement}\n{plan}"
                );
                assert!(!plan.contains("TEMP B-TREE"), "{statement}\n{plan}");
            }
        }
    }
}

/// Returns true for a step that reads no table, or the one with the few loads that wait for the full-text index.
fn is_short_scan(step: &str) -> bool {
    step == "SCAN CONSTANT ROW" || step.starts_with("SCAN loads_unindexed")
}
