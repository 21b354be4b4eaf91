//! A user to export and to erase.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{App, User};

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
