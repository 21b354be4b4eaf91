//! Translation of schema errors to validation entries: path, code, message and data.

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

#[cfg(test)]
mod tests {
    use crate::openapi::validator::Schema;

    use super::*;

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
}
