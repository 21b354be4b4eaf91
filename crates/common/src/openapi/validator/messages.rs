//! What a validation entry says of a value that breaks a rule of its schema.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::{Value, json};

use crate::response::validation::Code;
use crate::wire::pattern_message;

/// For a value that breaks a rule of its schema which has no message of its own.
const UNEXPECTED: &str = "does not match its schema in the OpenAPI document: see GET /openapi.json";

/// The code, message and data of an entry.
pub(super) fn describe(kind: &Kind) -> (Code, String, Value) {
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
        _ => (Code::Format, UNEXPECTED.into(), json!({})),
    }
}

/// Alternatives of which none matches: what each of them expects, where they are formats.
pub(super) fn describe_alternatives(branches: &[&Vec<ValidationError<'_>>]) -> (Code, String, Value) {
    let format = |branch: &&Vec<ValidationError<'_>>| match branch.first()?.kind() {
        Kind::Format { format } => Some(format.clone()),
        _ => None,
    };
    match branches.iter().map(format).collect::<Option<Vec<_>>>() {
        Some(formats) if !formats.is_empty() => {
            let expected: Vec<_> = formats.iter().map(|format| expected_format(format)).collect();
            (Code::Format, format!("must be {}", expected.join(" or ")), json!({ "formats": formats }))
        }
        _ => (Code::Format, UNEXPECTED.into(), json!({})),
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
