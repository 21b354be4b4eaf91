//! What a schema refuses: validation entries with path, code, message and data, and the removal of the invalid members,
//! so that rules beyond the schema can still check the valid ones.

use std::collections::{HashMap, HashSet};

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::{Value, json};

use crate::response::validation::Code;
use crate::wire::pattern_message;

/// Message for schema errors without a specific one.
const GENERIC_MESSAGE: &str = "does not match its schema in the OpenAPI document: see GET /openapi.json";

/// Message for a date of another JSON type.
pub(super) const DATE_MESSAGE: &str =
    "must be a date such as 2026-03-01 or a date-time with offset such as 2026-03-01T09:30:00Z";

/// An invalid member.
pub(super) struct Failure {
    /// The segments of its JSON pointer, decoded.
    pub(super) pointer: Vec<String>,
    pub(super) code: Code,
    pub(super) message: String,
    pub(super) data: Value,
}

impl Failure {
    /// Returns the path as the client writes it: `files[0].id` for `files/0/id`.
    pub(super) fn path(&self) -> String {
        let mut path = String::new();
        for segment in &self.pointer {
            if segment.bytes().all(|b| b.is_ascii_digit()) {
                path.extend(["[", segment, "]"]);
            } else {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(segment);
            }
        }
        path
    }
}

/// Returns the invalid members that a schema error stands for.
pub(super) fn failures(error: &ValidationError<'_>) -> Vec<Failure> {
    let mut pointer = decode_pointer(error.instance_path().as_str());
    let (code, message, data) = match error.kind() {
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            // For "null or an object", the errors are those of the object.
            let branches: Vec<_> = context.iter().filter(|branch| !branch.iter().all(expects_null)).collect();
            if let [branch] = branches[..] {
                return branch.iter().flat_map(failures).collect();
            }
            match branches.first().and_then(|branch| branch.first()) {
                Some(first) if is_type_error(first) => describe(first.kind()),
                _ => describe_alternatives(&branches),
            }
        }
        Kind::Required { property } => {
            pointer.push(property.as_str().unwrap_or_default().to_owned());
            (Code::Required, "is required".into(), json!({}))
        }
        kind => describe(kind),
    };
    vec![Failure { pointer, code, message, data }]
}

/// Decodes a JSON pointer (RFC 6901).
fn decode_pointer(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|segment| segment.replace("~1", "/").replace("~0", "~")).collect()
}

fn is_type_error(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), Kind::Type { .. })
}

fn expects_null(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), Kind::Type { kind: TypeKind::Single(t) } if t.to_string() == "null")
}

/// Returns the code, message and data for a schema error.
fn describe(kind: &Kind) -> (Code, String, Value) {
    match kind {
        Kind::Type { kind } => {
            let types = match kind {
                TypeKind::Single(t) => t.to_string(),
                TypeKind::Multiple(set) => set.iter().map(|t| t.to_string()).collect::<Vec<_>>().join(" or "),
            };
            (Code::Type, format!("must be of type {types}"), json!({ "type": types }))
        }
        Kind::Enum { options } => {
            let names: Vec<_> = options.as_array().into_iter().flatten().map(plain).collect();
            (Code::Enum, format!("must be one of {}", names.join(", ")), json!({ "allowed": **options }))
        }
        Kind::Minimum { limit } => {
            (Code::Range, format!("must be at least {limit}"), json!({ "minimum": limit }))
        }
        Kind::Maximum { limit } => {
            (Code::Range, format!("must be at most {limit}"), json!({ "maximum": limit }))
        }
        Kind::ExclusiveMinimum { limit } => {
            (Code::Range, format!("must be more than {limit}"), json!({ "exclusiveMinimum": limit }))
        }
        Kind::MinLength { limit: 1 } => (Code::Length, "must not be empty".into(), json!({ "minimum": 1 })),
        Kind::MinLength { limit } => {
            (Code::Length, format!("must have at least {limit} characters"), json!({ "minimum": limit }))
        }
        Kind::MaxLength { limit } => {
            (Code::Length, format!("must have at most {limit} characters"), json!({ "maximum": limit }))
        }
        Kind::MinItems { limit } => {
            (Code::Length, format!("must have at least {limit} entries"), json!({ "minimum": limit }))
        }
        Kind::MaxItems { limit } => {
            (Code::Length, format!("must have at most {limit} entries"), json!({ "maximum": limit }))
        }
        Kind::Format { format } => {
            (Code::Format, format!("must be {}", expected_format(format)), json!({ "format": format }))
        }
        Kind::Pattern { pattern } => {
            let message =
                pattern_message(pattern).map_or_else(|| format!("must match {pattern}"), str::to_owned);
            (Code::Format, message, json!({ "pattern": pattern }))
        }
        _ => (Code::Format, GENERIC_MESSAGE.into(), json!({})),
    }
}

/// Returns the code, message and data for alternatives of which none matches. The message lists the expected formats if
/// each alternative is a format.
fn describe_alternatives(branches: &[&Vec<ValidationError<'_>>]) -> (Code, String, Value) {
    let format = |branch: &&Vec<ValidationError<'_>>| match branch.first()?.kind() {
        Kind::Format { format } => Some(format.clone()),
        _ => None,
    };
    match branches.iter().map(format).collect::<Option<Vec<_>>>() {
        Some(formats) if !formats.is_empty() => {
            let expected: Vec<_> = formats.iter().map(|format| expected_format(format)).collect();
            (Code::Format, format!("must be {}", expected.join(" or ")), json!({ "formats": formats }))
        }
        _ => (Code::Format, GENERIC_MESSAGE.into(), json!({})),
    }
}

fn expected_format(format: &str) -> String {
    match format {
        "date" => "a date such as 2026-03-01".into(),
        "date-time" => "a date-time with offset such as 2026-03-01T09:30:00Z".into(),
        "uuid" => "a UUID such as 01956f2a-7c4e-7b3a-9d51-3f0c8a6e2b14".into(),
        other => format!("a {other}"),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Approximate maximum memory in bytes of an array entry that replaces invalid ones: up to a thousand copies of it are
/// made.
const MAX_REPLACEMENT_BYTES: usize = 16 << 10;
/// Approximate size in bytes of a B-tree node of an object, which has room for eleven members.
const OBJECT_NODE_BYTES: usize = 640;
/// Approximate size in bytes of a member of an object, without its name and value.
const MEMBER_BYTES: usize = 64;

type Pointer = [String];

/// For each array with invalid entries, by its pointer, a valid entry that can replace them.
type Replacements<'a> = HashMap<&'a Pointer, Option<Value>>;

/// Removes all members that failed. An invalid entry of an array is replaced by a valid one, so that the other entries
/// keep their indexes; errors of rules for the replacement are dropped, since its path has an entry already. An array
/// without a valid entry is removed.
pub(super) fn remove_failed(value: &mut Value, failures: &[Failure]) {
    let replacements = replacements(value, failures);
    for failure in failures {
        remove(value, &failure.pointer, &replacements);
    }
}

fn replacements<'a>(value: &Value, failures: &'a [Failure]) -> Replacements<'a> {
    let failed: HashSet<_> = failures
        .iter()
        .flat_map(|failure| (1..=failure.pointer.len()).map(|n| &failure.pointer[..n]))
        .collect();
    let mut replacements = HashMap::new();
    for (_, array) in failures.iter().filter_map(|failure| failure.pointer.split_last()) {
        replacements.entry(array).or_insert_with(|| {
            let entries = array.iter().try_fold(value, member)?.as_array()?;
            let is_usable = |i: &usize| {
                let has_failed = failed.contains(&*[array, &[i.to_string()]].concat());
                let mut budget = MAX_REPLACEMENT_BYTES;
                !has_failed && is_within(&entries[*i], &mut budget)
            };
            (0..entries.len()).find(is_usable).map(|i| entries[i].clone())
        });
    }
    replacements
}

/// Returns true if the value fits the memory budget in bytes, and reduces the budget by its size.
fn is_within(value: &Value, budget: &mut usize) -> bool {
    let own = match value {
        Value::String(text) => text.len(),
        Value::Object(members) => OBJECT_NODE_BYTES + members.len() * MEMBER_BYTES,
        _ => 0,
    };
    let Some(rest) = budget.checked_sub(size_of::<Value>() + own) else { return false };
    *budget = rest;
    match value {
        Value::Array(items) => items.iter().all(|item| is_within(item, budget)),
        Value::Object(members) => members.iter().all(|(name, member)| {
            *budget = budget.saturating_sub(name.len());
            is_within(member, budget)
        }),
        _ => true,
    }
}

fn member<'a>(value: &'a Value, name: &String) -> Option<&'a Value> {
    match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        other => other.get(name),
    }
}

fn member_mut<'a>(value: &'a mut Value, name: &String) -> Option<&'a mut Value> {
    match value {
        Value::Array(items) => items.get_mut(name.parse::<usize>().ok()?),
        other => other.get_mut(name),
    }
}

/// Removes the member at the pointer, or the nearest ancestor that can be removed.
fn remove(value: &mut Value, pointer: &Pointer, replacements: &Replacements<'_>) {
    let Some((last, parents)) = pointer.split_last() else { return };
    match parents.iter().try_fold(&mut *value, member_mut) {
        Some(Value::Object(members)) => {
            members.remove(last);
        }
        Some(array @ Value::Array(_)) => match (member_mut(array, last), replacements.get(parents)) {
            (Some(entry), Some(Some(replacement))) => entry.clone_from(replacement),
            _ => remove(value, parents, replacements),
        },
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::openapi::validator::Schema;
    use crate::openapi::validator::tests::check;

    #[test]
    fn messages_state_the_expected_format() {
        let message = |schema: Value, value: &str| {
            let schema = json!({"type": "object", "properties": {"a": schema}});
            let errors = Schema::new(&schema, &json!({})).unwrap().check(&mut json!({"a": value}));
            errors.iter().map(|entry| entry.message.clone()).collect::<Vec<_>>().join("|")
        };
        let day = || json!({"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]});
        let expected =
            "must be a date such as 2026-03-01 or a date-time with offset such as 2026-03-01T09:30:00Z";
        assert_eq!(message(day(), "01/03/2026"), expected);
        assert_eq!(message(json!({"oneOf": [{"type": "null"}, day()]}), "soon"), expected);
        let uuid = message(json!({"format": "uuid"}), "7");
        assert_eq!(uuid, "must be a UUID such as 01956f2a-7c4e-7b3a-9d51-3f0c8a6e2b14");
        assert_eq!(message(json!({"pattern": "^[A-Z]{3}$"}), "pounds"), "must match ^[A-Z]{3}$");
        let name = serde_json::to_value(<crate::wire::Name as utoipa::PartialSchema>::schema()).unwrap();
        assert_eq!(message(name, "a\tb"), crate::wire::NAME_MESSAGE);
    }

    #[test]
    fn a_valid_entry_replaces_invalid_ones() {
        let entries =
            |tags: Value| check(json!({"name": "a", "weight": null, "tags": tags})).0["tags"].take();
        assert_eq!(entries(json!([5, "a", null, "b", "NO"])), json!(["a", "a", "a", "b", "a"]));
        assert_eq!(entries(json!([5, "NO"])), json!(null), "no valid entry");
        let files = check(json!({"name": "a", "weight": null, "tags": [], "files": [{}, 5, {"id": "1"}]})).0;
        assert_eq!(files["files"], json!([{}, {"id": "1"}, {"id": "1"}]));
    }

    #[test]
    fn a_large_entry_replaces_none() {
        let large = [
            json!(vec![0; 5000]),
            json!("x".repeat(20_000)),
            json!(vec![json!({"a": 0}); 100]),
            json!({"x".repeat(20_000): 0}),
        ];
        for z in large {
            let entries =
                |files: Value| check(json!({"name": "a", "weight": null, "tags": [], "files": files})).0;
            let large = json!({"id": "1", "z": z});
            assert_eq!(entries(json!([large, 5]))["files"], json!(null));
            let small = json!({"id": "2", "z": "x".repeat(5000)});
            assert_eq!(entries(json!([large, 5, small]))["files"], json!([large, small, small]));
        }
    }
}
