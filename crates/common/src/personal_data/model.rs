//! The kinds of records that contain personal data, and how ids and names of a user in JSON are erased.

use std::collections::BTreeSet;

use database::{AnyConnection, Id, Json};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::Error;
use crate::extract::check_path_text;
use crate::response::validation::{Code, ValidationErrors};
use crate::wire::FileReference;

/// What the names of an erased user become.
pub const ERASED_NAME: &str = "erased user";
/// What the texts that an erased user wrote become, where an erasure finds them.
pub(super) const ERASED_TEXT: &str = "erased";
/// The most records that one transaction changes if it parses a document of each.
pub const DOCUMENT_BATCH_SIZE: i64 = 100;

/// Members of documents that contain the id of a user.
const ID_MEMBERS: [&str; 3] = ["userId", "recipientId", "driverId"];
/// The member with the ids of several users.
const IDS_MEMBER: &str = "recipientIds";

/// A kind of records that contain the id of a user.
#[derive(Clone, Copy)]
pub struct RecordKind {
    /// The member of the export. Empty for [copies](RecordKind::copies).
    pub name: &'static str,
    /// Returns the next records of a user in the order of their keys.
    pub list: fn(&mut AnyConnection, &RecordQuery) -> Result<Vec<Record>, Error>,
    /// Replaces the id and the names of a user in some records, in a transaction that others wait for. Returns their
    /// number; 0 if there are no more.
    pub erase: fn(&mut AnyConnection, &Erasure) -> Result<usize, Error>,
}

impl RecordKind {
    /// Creates a kind of copies of other records. They are erased in transactions of their own, but neither exported
    /// nor counted. `erase` returns 0 if no copies are left.
    pub const fn copies(erase: fn(&mut AnyConnection, &Erasure) -> Result<usize, Error>) -> Self {
        Self { name: "", list: list_no_records, erase }
    }

    /// Returns true for copies of other records.
    pub(super) fn are_copies(&self) -> bool {
        self.name.is_empty()
    }
}

#[expect(clippy::unnecessary_wraps, reason = "has the type of the functions that list records")]
fn list_no_records(_: &mut AnyConnection, _: &RecordQuery) -> Result<Vec<Record>, Error> {
    Ok(Vec::new())
}

/// The kinds of records of a service, and those of the tables that every service has.
pub(crate) struct RecordKinds {
    /// The name of the service.
    pub(super) service: &'static str,
    pub(super) kinds: Vec<RecordKind>,
}

/// The records of a user to read.
#[derive(Clone)]
pub struct RecordQuery {
    /// Claim `sub`.
    pub user_id: String,
    /// The key of the last record that was read.
    pub after: Option<String>,
    /// The most records.
    pub limit: i64,
}

impl RecordQuery {
    /// Returns the last key of a kind whose keys are ids, or a smaller one than all.
    pub fn after_id(&self) -> Id {
        self.after.as_deref().and_then(Id::parse).unwrap_or(Id::NIL)
    }

    /// Returns the last key of a kind whose keys are numbers, or a smaller one than all.
    pub fn after_number(&self) -> i64 {
        self.after.as_deref().and_then(|key| key.parse().ok()).unwrap_or(i64::MIN)
    }

    /// Returns the last key of a kind whose keys are pairs of ids, separated by a space, or a smaller one than all.
    pub(super) fn after_pair(&self) -> (Id, Id) {
        let pair = self.after.as_deref().and_then(|key| key.split_once(' '));
        let ids = pair.and_then(|(first, second)| Some((Id::parse(first)?, Id::parse(second)?)));
        ids.unwrap_or((Id::NIL, Id::NIL))
    }
}

/// A record of the export.
pub struct Record {
    /// Identifies the record among those of its kind and user.
    pub key: String,
    /// The record as JSON.
    pub document: Json,
}

impl Record {
    /// Creates a record. Its members that are null are left out.
    ///
    /// # Errors
    /// 500 if the record cannot be serialized.
    pub fn new(key: impl ToString, record: &impl Serialize) -> Result<Self, Error> {
        let mut record = serde_json::to_value(record)?;
        if let Value::Object(members) = &mut record {
            members.retain(|_, value| !value.is_null());
        }
        Ok(Self { key: key.to_string(), document: Json::of(&record)? })
    }
}

/// The erasure of a user.
#[derive(Clone)]
pub struct Erasure {
    /// Claim `sub` of the user.
    pub user_id: String,
    /// What the id becomes in all records of the service.
    pub erased_id: String,
}

/// The response to an erasure.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErasureResult {
    /// One sentence for a person. It says so if records are left and the request has to be sent again.
    pub(crate) message: String,
    /// Always `success`.
    #[schema(value_type = String)]
    pub(crate) status: &'static str,
    /// The number of records that this request changed or deleted. 0 if the service holds nothing about the user.
    pub(crate) count: usize,
}

impl ErasureResult {
    /// Creates the response to a request that changed `count` records, all that there were if `is_complete`. Otherwise
    /// the count is at least 1, also if only copies of records were changed: clients repeat the request until it is 0.
    pub(crate) fn new(count: usize, is_complete: bool) -> Self {
        let count = if is_complete { count } else { count.max(1) };
        let message = match (is_complete, count) {
            (true, 0) => "This service holds no records of the user.".to_owned(),
            (true, 1) => "1 record of the user was erased.".to_owned(),
            (true, count) => format!("{count} records of the user were erased."),
            (false, _) => {
                "Records of the user were erased and more are left: send the request again.".to_owned()
            }
        };
        Self { message, status: "success", count }
    }
}

/// Replaces the id and the names of a user in a document: the user in members such as `userId` with the `userName` and
/// the `text` of a note beside it, also in changes of these members, and the uploader's name in references to these
/// files, whose ids are in lower case. Returns true if it replaced anything.
pub fn erase_in(value: &mut Value, erasure: &Erasure, files: &BTreeSet<String>) -> bool {
    match value {
        Value::Array(values) => {
            let mut changed = false;
            for value in values {
                changed |= erase_in(value, erasure, files);
            }
            changed
        }
        Value::Object(members) => {
            let mut changed = false;
            for name in ID_MEMBERS {
                let ids: Vec<&mut Value> = match members.get_mut(name) {
                    Some(Value::Object(change)) => change.values_mut().collect(),
                    member => member.into_iter().collect(),
                };
                for id in ids.into_iter().filter(|id| **id == *erasure.user_id) {
                    *id = erasure.erased_id.clone().into();
                    changed = true;
                }
            }
            let ids = members.get_mut(IDS_MEMBER).and_then(Value::as_array_mut);
            for id in ids.into_iter().flatten().filter(|id| **id == *erasure.user_id) {
                *id = erasure.erased_id.clone().into();
                changed = true;
            }
            let is_user = members.get("userId").is_some_and(|id| *id == *erasure.erased_id);
            if is_user
                && let Some(Value::String(text)) = members.get_mut("text")
                && text != ERASED_TEXT
            {
                ERASED_TEXT.clone_into(text);
                changed = true;
            }
            let file = members.get("id").and_then(Value::as_str).map(str::to_ascii_lowercase);
            if (is_user || file.is_some_and(|id| files.contains(&id)))
                && let Some(Value::String(name)) = members.get_mut("userName")
                && name != ERASED_NAME
            {
                ERASED_NAME.clone_into(name);
                changed = true;
            }
            for value in members.values_mut() {
                changed |= erase_in(value, erasure, files);
            }
            changed
        }
        _ => false,
    }
}

/// Replaces the uploader's name in references to these files, whose ids are in lower case. Returns true if it replaced
/// any.
pub fn erase_uploader_names<'a>(
    references: impl IntoIterator<Item = &'a mut FileReference>,
    files: &BTreeSet<String>,
) -> bool {
    let mut changed = false;
    for file in references {
        if files.contains(&file.id.to_ascii_lowercase()) && file.user_name != ERASED_NAME {
            ERASED_NAME.clone_into(&mut file.user_name);
            changed = true;
        }
    }
    changed
}

/// The most characters of a user id, as in tokens.
const MAX_CHARS: usize = 200;

/// Checks a user id. Ids are compared exactly as in tokens, and are not normalized.
///
/// # Errors
/// 400 for an id that is too long for a token, 404 for one with control characters.
pub(super) fn check_user_id(user_id: String) -> Result<String, Error> {
    let user_id = check_path_text(user_id)?;
    let mut errors = ValidationErrors::default();
    let chars = user_id.chars().count();
    if !(1..=MAX_CHARS).contains(&chars) {
        let data = json!({ "minimum": 1, "maximum": MAX_CHARS });
        errors.push_with("userId", Code::Length, format!("must have 1 to {MAX_CHARS} characters"), data);
    }
    errors.check()?;
    Ok(user_id)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_incomplete_erasure_is_repeated() {
        let counts = [(0, true), (3, true), (0, false), (3, false)].map(|(count, is_complete)| {
            let result = ErasureResult::new(count, is_complete);
            (result.count, result.message.ends_with("more are left: send the request again."))
        });
        assert_eq!(counts, [(0, false), (3, false), (1, true), (3, true)]);
    }

    #[test]
    fn erases_the_user_and_no_other_in_a_document() {
        let erasure = Erasure { user_id: "ann".into(), erased_id: "erased-1".into() };
        let files = BTreeSet::from(["f1".to_owned()]);
        let mut document = json!({
            "userId": "ann", "userName": "Ann", "name": "Ann", "data": {"recipientId": "ann", "load": {"files": [
                {"id": "F1", "name": "ann", "userName": "Ann B"}, {"id": "f2", "userName": "Ann B"},
            ]}},
            "others": [{"userId": "ben", "userName": "Ann", "text": "t"}, {"userId": "ann", "text": "t"}, {"driverId": "ann"}, {"driverId": ["ann", null, 1]}],
            "recipientIds": ["ben", "ann", 1],
        });
        assert!(erase_in(&mut document, &erasure, &files));
        let expected = json!({
            "userId": "erased-1", "userName": "erased user", "name": "Ann",
            "data": {"recipientId": "erased-1", "load": {"files": [
                {"id": "F1", "name": "ann", "userName": "erased user"}, {"id": "f2", "userName": "Ann B"},
            ]}},
            "others": [{"userId": "ben", "userName": "Ann", "text": "t"}, {"userId": "erased-1", "text": "erased"}, {"driverId": "erased-1"}, {"driverId": ["ann", null, 1]}],
            "recipientIds": ["ben", "erased-1", 1],
        });
        assert_eq!(document, expected);
        assert!(!erase_in(&mut document, &erasure, &files), "erasing again changes nothing");
    }
}
