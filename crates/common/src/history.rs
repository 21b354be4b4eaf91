//! Histories of loads and listings: the changes of an event, and pages of events (docs/api/loads.md and
//! docs/api/listings.md, "History").

use std::collections::BTreeMap;

use database::search::{Nulls, SortType, SortValue};
use database::{Id, Json};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::search::{PageRequest, ResultPage, SortDefinition, Sorting};

/// Maximum number of characters of a text in a history.
const MAX_TEXT: usize = 1_000;

/// The values of a member before and after a change. Absent: the member had, or has, no value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The value before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub from: Option<Value>,
    /// The value after.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub to: Option<Value>,
    /// The number of characters of `from`, if it has only the first 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub from_length: Option<usize>,
    /// The number of characters of `to`, if it has only the first 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub to_length: Option<usize>,
}

impl Change {
    /// Creates a change, with the first [`MAX_TEXT`] characters of longer texts.
    pub fn new(mut from: Option<Value>, mut to: Option<Value>) -> Self {
        let (from_length, to_length) = (shorten(&mut from), shorten(&mut to));
        Self { from, to, from_length, to_length }
    }
}

/// Shortens a text of more than [`MAX_TEXT`] characters. Returns its previous length, if it was one.
fn shorten(value: &mut Option<Value>) -> Option<usize> {
    let Some(Value::String(text)) = value else { return None };
    let (end, _) = text.char_indices().nth(MAX_TEXT)?;
    let length = text.chars().count();
    text.truncate(end);
    Some(length)
}

/// Changes by the names of request members.
pub type Changes = BTreeMap<&'static str, Change>;

/// Returns the members that differ between two states of a resource. Both states have the members of requests with
/// their values, in the same order.
pub fn changes(
    before: impl IntoIterator<Item = (&'static str, Option<Value>)>,
    after: impl IntoIterator<Item = (&'static str, Option<Value>)>,
) -> Changes {
    let pairs = before.into_iter().zip(after);
    let changed = pairs.filter(|((_, from), (_, to))| match (from, to) {
        (Some(from), Some(to)) => !is_same(from, to),
        (from, to) => from != to,
    });
    changed.map(|((name, from), (_, to))| (name, Change::new(from, to))).collect()
}

/// Returns true if two values are equal. `1` equals `1.0`.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has_same = |(name, value): (&String, &Value)| {
                other.get(name).is_some_and(|other_value| is_same(value, other_value))
            };
            one.len() == other.len() && one.iter().all(has_same)
        }
        _ => one == other,
    }
}

/// The order of a history, oldest first.
static ORDER: SortDefinition<()> =
    SortDefinition { name: "atUTC", key: (), sort_type: SortType::Number, nulls: Nulls::Never };

/// Returns the order of a history. Its cursors have the numbers of events, because clocks of replicas differ.
pub fn order() -> Sorting<()> {
    Sorting::new(&ORDER, false)
}

/// Returns the number of the last event of the previous page, if the request has a cursor.
pub fn last_number(page: &PageRequest) -> Option<i64> {
    match page.position() {
        Some((Some(SortValue::Integer(number)), _)) => Some(number),
        _ => None,
    }
}

/// Makes a page of events that were fetched, each with its number and its id.
///
/// # Errors
/// Fails if an event cannot be serialized.
pub fn page<'a, E: Serialize + 'a>(
    events: impl IntoIterator<Item = (i64, Id, &'a E)>,
    page: &PageRequest,
) -> Result<ResultPage, crate::Error> {
    let rows = events.into_iter().map(|(number, id, event)| {
        Ok::<_, crate::Error>((Json::of(event)?, (Some(SortValue::Integer(number)), id)))
    });
    Ok(ResultPage::new(rows.collect::<Result<_, _>>()?, page, &order()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_texts_are_recorded_by_their_beginning_and_length() {
        let text = |length: usize| Some(json!("\u{1f404}".repeat(length)));
        let changes = changes([("a", text(1_000)), ("b", text(1_001))], [("a", text(1_002)), ("b", None)]);
        let beginning = text(1_000);
        let expected = json!({
            "a": {"from": beginning, "to": beginning, "toLength": 1_002},
            "b": {"from": beginning, "fromLength": 1_001},
        });
        assert_eq!(json!(changes), expected);
    }

    #[test]
    fn members_that_differ_are_changes() {
        let before = [
            ("a", Some(json!(1))),
            ("b", Some(json!({"lat": 52, "tags": [1, 2.5]}))),
            ("c", None),
            ("d", Some(json!("x"))),
            ("e", None),
            ("f", Some(json!([1, 2]))),
        ];
        let after = [
            ("a", Some(json!(1.0))),
            ("b", Some(json!({"lat": 52.0, "tags": [1.0, 2.5]}))),
            ("c", Some(json!(false))),
            ("d", None),
            ("e", None),
            ("f", Some(json!([1]))),
        ];
        let changes = changes(before, after);
        let expected = json!({"c": {"to": false}, "d": {"from": "x"}, "f": {"from": [1, 2], "to": [1]}});
        assert_eq!(json!(changes), expected);
    }
}
