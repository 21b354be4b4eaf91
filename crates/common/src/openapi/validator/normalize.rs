//! Normalization before validation: texts in the form that their schemas state, and absent members
//! (docs/api/conventions.md).

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{branches, resolve};
use crate::wire::TextForm;

/// The schema member with the maximum length of a text in characters.
const MAX_CHARS: &str = "x-max-chars";
/// The maximum length in characters of a text that is normalized, if its schema states none.
const DEFAULT_MAX_CHARS: usize = 1_000;
/// Unicode NFC composes at most this many characters to one.
const NFC_MAX_SHRINKING: usize = 4;

/// Copies `x-text` and the maximum length of each text schema to the places that refer to it, so that
/// [`normalize_blanks`] resolves no references for texts.
pub(super) fn lift_text_forms(schema: &mut Value, root: &Value) {
    let text = text_schema(schema, root);
    let form = text.map(|text| (text[TextForm::EXTENSION].clone(), text.get("maxLength").cloned()));
    match schema {
        Value::Object(members) => {
            members.values_mut().for_each(|member| lift_text_forms(member, root));
            if let Some((form, max)) = form {
                members.insert(TextForm::EXTENSION.to_owned(), form);
                members.insert(MAX_CHARS.to_owned(), max.unwrap_or_else(|| json!(DEFAULT_MAX_CHARS)));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| lift_text_forms(item, root)),
        _ => {}
    }
}

/// Returns the schema with `x-text`: this one, the one that it refers to, or an alternative.
fn text_schema<'a>(schema: &'a Value, root: &'a Value) -> Option<&'a Value> {
    let branches = ["oneOf", "anyOf"].iter().filter_map(|key| schema[*key].as_array()).flatten();
    let mut schemas = [schema].into_iter().chain(branches).map(|schema| resolve(schema, root));
    schemas.find(|schema| schema.get(TextForm::EXTENSION).is_some())
}

/// Which optional members with a blank text count as absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blanks {
    /// All.
    All,
    /// Those that are texts. In a merge patch, an absent member removes a value, which a blank text in place of a
    /// number or an array must not do.
    Texts,
}

/// Normalizes the texts of a value and removes optional members that are `null` or blank, since these count as absent.
pub(super) fn normalize_blanks(value: &mut Value, schema: &Value, root: &Value, blanks: Blanks) {
    if let Value::String(text) = value {
        normalize_text(text, schema);
        return;
    }
    let schema = resolve(schema, root);
    for key in ["oneOf", "anyOf", "allOf"] {
        for branch in schema[key].as_array().into_iter().flatten() {
            normalize_blanks(value, branch, root, blanks);
        }
    }
    match value {
        Value::Object(members) => {
            let Some(properties) = schema["properties"].as_object() else { return };
            for (name, property) in properties {
                let Some(member) = members.get_mut(name) else { continue };
                // Also a text whose characters are all removed is blank.
                if let Value::String(text) = member {
                    normalize_text(text, property);
                }
                let is_blank = member.as_str().is_some_and(|text| text.trim().is_empty())
                    && (blanks == Blanks::All || allows_text(property, root));
                if (member.is_null() || is_blank) && !is_required(schema, name) {
                    members.remove(name);
                } else if !member.is_string() {
                    normalize_blanks(member, property, root, blanks);
                }
            }
        }
        Value::Array(items) => {
            // One entry beyond the limit is reported like a million entries.
            if let Some(max) = schema["maxItems"].as_u64().and_then(|n| usize::try_from(n).ok()) {
                items.truncate(max.saturating_add(1));
            }
            // An alternative without `items`, such as `null`, has no schema for the entries.
            let Some(schema) = schema.get("items") else { return };
            for item in items {
                normalize_blanks(item, schema, root, blanks);
            }
        }
        _ => {}
    }
}

/// Returns true if the schema, or one of its alternatives, allows a text.
fn allows_text(schema: &Value, root: &Value) -> bool {
    let schema = resolve(schema, root);
    let types = &schema["type"];
    let is_text =
        types == "string" || types.as_array().is_some_and(|types| types.iter().any(|name| name == "string"));
    is_text || branches(schema).any(|branch| allows_text(branch, root))
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|required| required.iter().any(|member| member == name))
}

/// Normalizes a text to the form that its schema states. A blank text becomes empty, except in the form
/// [`TextForm::Exact`]. A text that is too long in every form is not normalized: normalizing it takes much longer than
/// refusing it.
fn normalize_text(text: &mut String, schema: &Value) {
    let form: Option<TextForm> =
        schema.get(TextForm::EXTENSION).and_then(Value::as_str).and_then(|name| name.parse().ok());
    if form == Some(TextForm::Exact) {
        return;
    }
    let max = schema[MAX_CHARS].as_u64().and_then(|max| usize::try_from(max).ok()).unwrap_or_default();
    let form = form.filter(|_| text.trim().chars().nth(max.saturating_mul(NFC_MAX_SHRINKING)).is_none());
    let normalized = form.map_or(Cow::Borrowed(&**text), |form| form.normalize(text));
    if normalized.trim().is_empty() {
        text.clear();
    } else if *normalized != **text {
        *text = normalized.into_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::validator::Schema;
    use crate::openapi::validator::tests::check;
    use crate::response::validation::Code;

    #[test]
    fn blank_and_null_optional_members_are_absent() {
        let (rest, invalid) =
            check(json!({"name": "a", "note": " ", "day": null, "weight": null, "tags": [], "proof": null}));
        assert_eq!(invalid, []);
        assert_eq!(rest, json!({"name": "a", "weight": null, "tags": []}));
    }

    #[test]
    fn blank_texts_in_patches_remove_texts_only() {
        let text = json!({"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Name"}]});
        let schema = json!({"type": "object", "properties": {
            "name": text, "day": {"type": ["string", "null"], "format": "date"}, "weight": {"type": ["number", "null"]},
            "tags": {"type": "array"}, "inner": {"type": "object", "properties": {"age": {"type": "number"}, "note": text}},
        }});
        let components = json!({"schemas": {"Name": {"type": "string", "minLength": 1}}});
        let schema = Schema::new(&schema, &components).unwrap();
        let patch =
            json!({"name": " ", "day": "", "weight": "", "tags": " ", "inner": {"age": "", "note": ""}});
        let errors = schema.check_patch(&mut patch.clone());
        let mut found: Vec<_> = errors.iter().map(|entry| (entry.path.as_str(), entry.code)).collect();
        found.sort_by_key(|(path, _)| *path);
        assert_eq!(found, [("inner.age", Code::Type), ("tags", Code::Type), ("weight", Code::Type)]);
        let mut other = patch;
        assert!(schema.check(&mut other).is_empty());
        assert_eq!(other, json!({"inner": {}}));
    }

    #[test]
    fn normalizes_texts_before_checking_their_length() {
        let components = json!({"schemas": {
            "Name": {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^[^;]*$", "x-text": "line"},
            "Plate": {"type": "string", "maxLength": 3, "x-text": "upper"},
            "Inner": {"type": "object", "properties": {"name": {"$ref": "#/components/schemas/Name"}}},
        }});
        let to = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
        let schema = json!({"allOf": [{"type": "object", "required": ["name"], "properties": {
            "name": to("Name"), "plate": {"oneOf": [{"type": "null"}, to("Plate")]}, "names": {"type": "array", "items": to("Name")},
            "inner": {"oneOf": [{"type": "null"}, to("Inner")]}, "other": {"type": "string"}, "invisible": to("Name"),
        }}]});
        let schema = Schema::new(&schema, &components).unwrap();
        let mut value = json!({"name": "  e\u{301}ab\u{a0}", "plate": " a\u{df} ", "names": ["a ", "bc"], "inner": {"name": " x"},
            "other": " as it is ", "invisible": "\u{200b} \u{ad}"});
        let errors = schema.check(&mut value);
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(
            value,
            json!({"name": "\u{e9}ab", "plate": "ASS", "names": ["a", "bc"], "inner": {"name": "x"}, "other": " as it is "})
        );
        let mut long = json!({"name": "a\u{37e}", "plate": "\u{df}\u{df}", "names": ["  "]});
        let invalid: Vec<_> =
            schema.check(&mut long).iter().map(|entry| (entry.path.clone(), entry.code)).collect();
        let expected = [("name", Code::Format), ("plate", Code::Length), ("names[0]", Code::Length)];
        for (path, code) in expected {
            assert!(invalid.contains(&(path.to_owned(), code)), "{invalid:?}");
        }
        assert_eq!(invalid.len(), 3);
    }

    #[test]
    fn does_not_normalize_texts_that_are_too_long_in_every_form() {
        let text = |max| json!({"type": "string", "maxLength": max, "x-text": "line"});
        let schema = json!({"type": "object", "properties": {"a": text(3), "b": {"oneOf": [{"type": "null"}, text(3)]}}});
        let schema = Schema::new(&schema, &json!({})).unwrap();
        // Four characters that NFC composes to one.
        let joined = "\u{3b1}\u{313}\u{300}\u{345}";
        let mut value = json!({"a": format!(" {} ", joined.repeat(3)), "b": joined.repeat(3)});
        assert!(schema.check(&mut value).is_empty());
        assert_eq!(value, json!({"a": "\u{1f82}\u{1f82}\u{1f82}", "b": "\u{1f82}\u{1f82}\u{1f82}"}));
        let mut long = json!({"a": joined.repeat(4), "b": joined.repeat(4)});
        schema.is_valid(&mut long);
        assert_eq!(long, json!({"a": joined.repeat(4), "b": joined.repeat(4)}));
        assert_eq!(
            schema.check(&mut long).iter().map(|entry| entry.code).collect::<Vec<_>>(),
            [Code::Length; 2]
        );
    }
}
