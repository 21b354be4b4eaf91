//! Validation by the published JSON Schema, with every failed field at once.

mod messages;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use database::Timestamp;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{Draft, ValidationError, Validator};
use serde_json::{Map, Value, json};

use crate::response::validation::{Code, ValidationErrors};
use crate::wire::TextForm;
use messages::{describe, describe_alternatives};

/// So many entries are told; nobody reads more, and each must be compared with the others.
const MAX_ERRORS: usize = 1000;

/// The entries of an array whose schema states no limit: each one that is wrong costs much more than its byte.
const MAX_ITEMS: u64 = 10_000;

/// The member of a schema with the limit of its text's length, in characters.
const MAX_CHARS: &str = "x-max-chars";
/// The limit for normalizing a text whose schema states none.
const DEFAULT_MAX_CHARS: usize = 1_000;
/// Unicode NFC joins at most this many characters to one.
const NFC_MAX_SHRINKING: usize = 4;

/// The most bytes of memory, about, of an entry that stands in for others: it may do so a thousand times.
const MAX_PLACEHOLDER_BYTES: usize = 16 << 10;

/// A compiled schema and the text it was compiled from.
pub(crate) struct Schema {
    validator: Validator,
    root: Value,
}

impl Schema {
    pub(crate) fn new(schema: &Value, components: &Value) -> anyhow::Result<Self> {
        let mut root = schema.clone();
        root["components"] = json!({ "schemas": needed(schema, &components["schemas"]) });
        bound(&mut root);
        let source = root.clone();
        lift_text_forms(&mut root, &source);
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .should_validate_formats(true)
            .should_ignore_unknown_formats(true)
            // The one reading of dates that the rest of the code has too.
            .with_format("date", |text: &str| text.len() == 10 && Timestamp::parse(text).is_some())
            .with_format("date-time", |text: &str| text.len() != 10 && Timestamp::parse(text).is_some())
            .offline()
            .build(&root)
            .map_err(|e| anyhow::anyhow!("a schema of the OpenAPI document does not compile: {e}"))?;
        Ok(Self { validator, root })
    }

    /// Normalizes a value and returns whether it is valid: what is wrong with it is not described, which takes much longer.
    pub(crate) fn is_valid(&self, value: &mut Value) -> bool {
        normalize_blanks(value, &self.root, &self.root);
        self.validator.is_valid(value)
    }

    /// Checks a value and takes the failed members out of it, so that what is left can be looked at further.
    pub(crate) fn check(&self, value: &mut Value) -> ValidationErrors {
        let mut errors = ValidationErrors::default();
        // Mostly nothing is wrong, which is found out sooner than what is.
        if self.is_valid(value) {
            return errors;
        }
        let mut found = Vec::new();
        for error in self.validator.iter_errors(value).take(MAX_ERRORS) {
            collect(&error, &mut found);
        }
        let good = good_entries(value, &found);
        for (pointer, code, message, data) in &found {
            errors.push_with(path(pointer), *code, message.as_str(), data.clone());
            prune(value, pointer, &good);
        }
        errors
    }

    /// The schema of a member of the root object.
    pub(crate) fn property(&self, name: &str) -> Option<&Value> {
        self.root["properties"].get(name).map(|schema| resolve(schema, &self.root))
    }
}

/// The components that a schema refers to, directly or not. Each schema has its own copies of them: of all of them they
/// would be some MB.
fn needed(schema: &Value, components: &Value) -> Map<String, Value> {
    let (mut needed, mut open) = (Map::new(), vec![schema]);
    while let Some(value) = open.pop() {
        let name = value["$ref"].as_str().and_then(|r| r.strip_prefix("#/components/schemas/"));
        if let Some((name, schema)) = name.and_then(|name| Some((name, components.get(name)?)))
            && needed.insert(name.to_owned(), schema.clone()).is_none()
        {
            open.push(schema);
        }
        open.extend(value.as_object().into_iter().flat_map(Map::values));
        open.extend(value.as_array().into_iter().flatten());
    }
    needed
}

/// Gives every array a limit.
fn bound(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members
                .get("type")
                .is_some_and(|t| t == "array" || t.as_array().is_some_and(|t| t.contains(&json!("array"))))
            {
                members.entry("maxItems").or_insert(json!(MAX_ITEMS));
            }
            members.values_mut().for_each(bound);
        }
        Value::Array(items) => items.iter_mut().for_each(bound),
        _ => {}
    }
}

/// Copies the `x-text` and the length limit of each text's schema to the places that refer to it, so that [`tidy`] follows
/// no references.
fn lift_text_forms(schema: &mut Value, root: &Value) {
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

/// The schema with `x-text`: this one, the one that it refers to, or an alternative.
fn text_schema<'a>(schema: &'a Value, root: &'a Value) -> Option<&'a Value> {
    let branches = ["oneOf", "anyOf"].iter().filter_map(|key| schema[*key].as_array()).flatten();
    let mut schemas = [schema].into_iter().chain(branches).map(|schema| resolve(schema, root));
    schemas.find(|schema| schema.get(TextForm::EXTENSION).is_some())
}

/// Normalizes a text as its schema says. A blank text becomes empty, unless it is to be taken as it is. A text that is too
/// long in any form stays as it is: normalizing takes much longer than refusing it.
fn normalize_text(text: &mut String, schema: &Value) {
    let form = schema.get(TextForm::EXTENSION).and_then(Value::as_str).and_then(TextForm::named);
    if form == Some(TextForm::Exact) {
        return;
    }
    let max = schema[MAX_CHARS].as_u64().and_then(|max| usize::try_from(max).ok()).unwrap_or_default();
    let form = form.filter(|_| text.trim().chars().nth(max.saturating_mul(NFC_MAX_SHRINKING)).is_none());
    let normal = form.map_or(Cow::Borrowed(&**text), |form| form.normalize(text));
    if normal.trim().is_empty() {
        text.clear();
    } else if *normal != **text {
        *text = normal.into_owned();
    }
}

/// Normalizes texts. A blank text counts as empty, and an optional member that is empty or null as absent (contract, section 6).
fn normalize_blanks(value: &mut Value, schema: &Value, root: &Value) {
    if let Value::String(text) = value {
        normalize_text(text, schema);
        return;
    }
    let schema = resolve(schema, root);
    for key in ["oneOf", "anyOf", "allOf"] {
        for branch in schema[key].as_array().into_iter().flatten() {
            normalize_blanks(value, branch, root);
        }
    }
    match value {
        Value::Object(members) => {
            let Some(properties) = schema["properties"].as_object() else { return };
            let required =
                |name: &str| schema["required"].as_array().is_some_and(|r| r.iter().any(|n| n == name));
            for (name, schema) in properties {
                let Some(member) = members.get_mut(name) else { continue };
                let empty = member.is_null() || member.as_str().is_some_and(|text| text.trim().is_empty());
                if empty && !required(name) {
                    members.remove(name);
                } else {
                    normalize_blanks(member, schema, root);
                }
            }
        }
        Value::Array(items) => {
            // One too many is told as well as a million.
            if let Some(most) = schema["maxItems"].as_u64().and_then(|n| usize::try_from(n).ok()) {
                items.truncate(most.saturating_add(1));
            }
            // An alternative without items, such as `null`, says nothing about the texts in them.
            let Some(schema) = schema.get("items") else { return };
            for item in items {
                normalize_blanks(item, schema, root);
            }
        }
        _ => {}
    }
}

fn resolve<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|r| r.strip_prefix('#')).and_then(|r| root.pointer(r));
    target.unwrap_or(schema)
}

type Found = (Vec<String>, Code, String, Value);

fn collect(error: &ValidationError<'_>, found: &mut Vec<Found>) {
    let mut pointer: Vec<String> = error
        .instance_path()
        .as_str()
        .split('/')
        .skip(1)
        .map(|s| s.replace("~1", "/").replace("~0", "~"))
        .collect();
    let (code, message, data) = match error.kind() {
        // "null or an object": what is wrong is wrong with the object.
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            let deepest =
                context.iter().filter(|branch| !branch.iter().all(only_wants_null)).collect::<Vec<_>>();
            if let [branch] = deepest[..] {
                for error in branch {
                    collect(error, found);
                }
                return;
            }
            match deepest.first().and_then(|branch| branch.first()) {
                Some(first) if is_type(first) => describe(first.kind()),
                _ => describe_alternatives(&deepest),
            }
        }
        Kind::Required { property } => {
            pointer.push(property.as_str().unwrap_or_default().to_owned());
            (Code::Required, "is required".into(), json!({}))
        }
        kind => describe(kind),
    };
    found.push((pointer, code, message, data));
}

fn is_type(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), Kind::Type { .. })
}

fn only_wants_null(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), Kind::Type { kind: TypeKind::Single(t) } if t.to_string() == "null")
}

/// `files/0/id` as the client writes it: `files[0].id`.
fn path(pointer: &[String]) -> String {
    let mut path = String::new();
    for part in pointer {
        if part.bytes().all(|b| b.is_ascii_digit()) {
            path.extend(["[", part, "]"]);
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(part);
        }
    }
    path
}

type Pointer = [String];

/// Of each array with entries that are wrong themselves, by its pointer, a small one that has nothing wrong
/// in it.
fn good_entries<'a>(value: &Value, found: &'a [Found]) -> HashMap<&'a Pointer, Option<Value>> {
    let failed: HashSet<_> = found.iter().flat_map(|f| (1..=f.0.len()).map(|n| &f.0[..n])).collect();
    let mut good = HashMap::new();
    for (_, array) in found.iter().filter_map(|f| f.0.split_last()) {
        good.entry(array).or_insert_with(|| {
            let entries = array.iter().try_fold(value, member)?.as_array()?;
            let fails = |i: usize| failed.contains(&*[array, &[i.to_string()]].concat());
            let fits = |i: &usize| {
                let mut left = MAX_PLACEHOLDER_BYTES;
                !fails(*i) && small(&entries[*i], &mut left)
            };
            (0..entries.len()).find(fits).map(|i| entries[i].clone())
        });
    }
    good
}

/// True if the value takes no more memory than is left, which it is then taken from.
fn small(value: &Value, left: &mut usize) -> bool {
    let own = match value {
        Value::String(text) => text.len(),
        // Members are kept in nodes for eleven.
        Value::Object(members) => 640 + members.len() * 64,
        _ => 0,
    };
    let Some(rest) = left.checked_sub(size_of::<Value>() + own) else { return false };
    *left = rest;
    match value {
        Value::Array(items) => items.iter().all(|item| small(item, left)),
        Value::Object(members) => members.iter().all(|(name, member)| {
            *left = left.saturating_sub(name.len());
            small(member, left)
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

/// Removes the member at the pointer, or the nearest member that holds it. For the entry of an array a good one stands
/// in, so that the rules still see the others; what they say of it is dropped, since it has failed.
fn prune(value: &mut Value, pointer: &Pointer, good: &HashMap<&Pointer, Option<Value>>) {
    let Some((last, parents)) = pointer.split_last() else { return };
    let parent = parents.iter().try_fold(&mut *value, |v, part| match v {
        Value::Array(items) => part.parse::<usize>().ok().and_then(|i| items.get_mut(i)),
        other => other.get_mut(part),
    });
    match parent {
        Some(Value::Object(members)) => {
            members.remove(last);
        }
        Some(Value::Array(items)) => {
            let entry = last.parse::<usize>().ok().and_then(|i| items.get_mut(i));
            match (entry, good.get(parents)) {
                (Some(entry), Some(Some(good))) => entry.clone_from(good),
                _ => prune(value, parents, good),
            }
        }
        _ => {}
    }
}
