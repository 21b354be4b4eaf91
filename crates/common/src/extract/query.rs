//! Query parameters, validated by their schemas in the OpenAPI document.

use std::borrow::Cow;
use std::collections::HashMap;
use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, web};
use database::{Id, Json, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::Error;
use crate::openapi::validator::Schema;
use crate::openapi::{Api, Route, unknown_parameters};
use crate::response::json::JsonResponse;
use crate::response::validation::{Code, ValidationErrors};

/// Message for a time whose offset begins with a space.
const SPACE_FOR_PLUS: &str = "has a space in place of the + of its offset: write + as %2B in a URL";

/// Query parameters that were validated by their schema. Only [`Query::check`] gives access to them, so that no handler
/// can skip the rules that a schema cannot express.
pub struct Query<T> {
    value: T,
    errors: ValidationErrors,
}

impl<T> Query<T> {
    /// Applies further rules and returns their result. Parameters that the schema refused have their default value.
    ///
    /// # Errors
    /// 400 with the errors of the schema and of the rules.
    pub fn check<R>(mut self, rules: impl FnOnce(&T, &mut ValidationErrors) -> R) -> Result<R, Error> {
        let parsed = rules(&self.value, &mut self.errors);
        self.errors.check()?;
        Ok(parsed)
    }

    /// Applies further rules that call other services, as [`Query::check`] does.
    ///
    /// # Errors
    /// 400 with the errors of the schema and of the rules; if there are none, the error that the rules return.
    pub async fn check_async<R>(
        mut self,
        rules: impl AsyncFnOnce(&T, &mut ValidationErrors) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let parsed = rules(&self.value, &mut self.errors).await;
        self.errors.check()?;
        parsed
    }
}

impl<T: DeserializeOwned> FromRequest for Query<T> {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(parse(request))
    }
}

fn parse<T: DeserializeOwned>(request: &HttpRequest) -> Result<Query<T>, Error> {
    let route = Route::of(request);
    let api = request.app_data::<web::Data<Api>>();
    let operation = api.and_then(|api| route.operation(api, request.method()));
    let Some((operation, schema)) = operation.and_then(|o| Some((o, o.params.as_ref()?))) else {
        return Err(Error::Internal(anyhow::anyhow!("{:?} documents no query parameters", route.pattern())));
    };
    let (members, invalid_utf8) = to_json(request.query_string(), schema);
    let mut value = Value::Object(members);
    let spaces = times_with_a_space(&value);
    let mut errors = schema.check(&mut value);
    errors.without_indices();
    for name in spaces {
        errors.reword(&name, Code::Format, SPACE_FOR_PLUS);
    }
    for name in invalid_utf8 {
        errors.push(&name, Code::Format, "is not UTF-8");
    }
    errors.extend(unknown_parameters::errors(request, operation));
    match serde_json::from_value(value) {
        Ok(value) => Ok(Query { value, errors }),
        Err(error) => {
            if errors.is_empty() {
                errors.push("", Code::Type, error.to_string());
            }
            Err(Error::Validation(errors))
        }
    }
}

/// Returns the names of parameters that would be a time if their space was a `+`, which stands for a space in a query.
fn times_with_a_space(parameters: &Value) -> Vec<String> {
    let is_spaced_time = |value: &Value| {
        value
            .as_str()
            .is_some_and(|text| text.contains(' ') && Timestamp::parse(&text.replace(' ', "+")).is_some())
    };
    let members = parameters.as_object().into_iter().flatten();
    members.filter(|(_, value)| is_spaced_time(value)).map(|(name, _)| name.clone()).collect()
}

/// Converts the parameters of a query with [`pairs_to_json`].
///
/// Also returns the names of parameters whose value is not UTF-8. The URL parser replaces invalid bytes by U+FFFD; a
/// query that contains this character itself is not checked.
fn to_json(query: &str, schema: &Schema) -> (Map<String, Value>, Vec<String>) {
    let mut invalid_utf8 = Vec::new();
    let pairs = url::form_urlencoded::parse(query.as_bytes()).inspect(|(name, text)| {
        if text.contains('\u{fffd}') && schema.parameter(name).is_some() {
            invalid_utf8.push(name.clone().into_owned());
        }
    });
    let members = pairs_to_json(pairs, schema);
    if !invalid_utf8.is_empty() && query.to_ascii_uppercase().contains("%EF%BF%BD") {
        invalid_utf8.clear();
    }
    (members, invalid_utf8)
}

/// Converts parameters to the JSON types of their schemas. A text that cannot be converted stays a text, which the
/// schema refuses. Blank values count as absent. The last value of a repeated parameter counts, except for an array,
/// which takes all values, splits each at commas and converts each item. Blank items count as absent too, except in an
/// array of a fixed length, where each place has a meaning.
pub(super) fn pairs_to_json<'a>(
    pairs: impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)>,
    schema: &Schema,
) -> Map<String, Value> {
    let mut members = Map::new();
    for (name, text) in pairs {
        let Some((name, schema)) = schema.parameter(&name).filter(|_| !text.trim().is_empty()) else {
            continue;
        };
        if has_type(schema, "array") {
            let list = members.entry(name.to_owned()).or_insert_with(|| json!([]));
            let is_fixed = schema["minItems"].is_number() && schema["minItems"] == schema["maxItems"];
            let items = text.split(',').filter(|item| is_fixed || !item.trim().is_empty());
            let items = items.map(|item| convert(item.trim(), &schema["items"]));
            list.as_array_mut().into_iter().for_each(|list| list.extend(items.clone()));
            continue;
        }
        members.insert(name.to_owned(), convert(&text, schema));
    }
    members
}

/// Converts a text to the type of its schema. A text that cannot be converted stays as it is.
fn convert(text: &str, schema: &Value) -> Value {
    let trimmed = text.trim();
    let converted = match trimmed {
        "true" | "false" if has_type(schema, "boolean") => Some(json!(trimmed == "true")),
        _ if has_type(schema, "integer") => integer(trimmed),
        _ if has_type(schema, "number") => finite(trimmed),
        _ => None,
    };
    converted.unwrap_or_else(|| json!(text))
}

/// Parses a whole number of any size. The schema checks its range.
fn integer(text: &str) -> Option<Value> {
    if let Ok(number) = text.parse::<i64>() {
        return Some(json!(number));
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_whole = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if is_whole { finite(text) } else { None }
}

fn finite(text: &str) -> Option<Value> {
    text.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| json!(number))
}

pub(super) fn has_type(schema: &Value, name: &str) -> bool {
    match &schema["type"] {
        Value::Array(types) => types.iter().any(|t| t == name),
        one => one == name,
    }
}

/// The most ids of a request.
const MAX_IDS: usize = 100;

/// The parameter `ids`: comma-separated, at most 100. The operation describes it with an example.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct IdsParams {
    ids: String,
}

impl IdsParams {
    /// Returns the ids, each once. Ignores texts that are not UUIDs.
    pub fn parse(&self, errors: &mut ValidationErrors) -> Vec<Id> {
        if self.ids.split(',').count() > MAX_IDS {
            let message = format!("must name at most {MAX_IDS}");
            errors.push_with("ids", Code::Length, message, json!({ "maximum": MAX_IDS }));
        }
        let mut ids = Vec::new();
        for id in self.ids.split(',').filter_map(|id| Id::parse(id.trim())) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }
}

/// Makes the response of the found documents in the order of the ids. The other ids are listed in `X-Missing-Ids`.
pub fn documents_by_ids(ids: &[Id], found: Vec<(Id, Json)>) -> JsonResponse {
    let found: HashMap<_, _> = found.into_iter().collect();
    let response = JsonResponse::array(ids.iter().filter_map(|id| Some(found.get(id)?.0.as_str())));
    let missing: Vec<_> = ids.iter().filter(|id| !found.contains_key(id)).map(Id::to_string).collect();
    if missing.is_empty() { response } else { response.header("X-Missing-Ids", missing.join(",")) }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;

    static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
        let schema = json!({"properties": {
            "f:status": {"type": "string"}, "breeds": {"type": ["array", "null"], "items": {"type": "string"}},
            "limit": {"type": "integer"}, "age": {"type": "number"}, "draft": {"type": "boolean"},
        }});
        Schema::new(&schema, &json!({})).unwrap()
    });

    #[test]
    fn converts_the_items_of_an_array() {
        let ids = json!({"type": "array", "items": {"type": "integer"}});
        let schema = Schema::new(&json!({"properties": {"f:id": ids}}), &json!({})).unwrap();
        let (members, _) = to_json("f:id=1,%202&f:id%5B%5D=3&f:id=x,1.5,,", &schema);
        assert_eq!(Value::Object(members), json!({"f:id": [1, 2, 3, "x", "1.5"]}));
    }

    #[test]
    fn an_array_of_a_fixed_length_keeps_its_blank_items() {
        let bbox = json!({"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "number"}});
        let schema = Schema::new(&json!({"properties": {"bbox": bbox}}), &json!({})).unwrap();
        for (query, is_valid) in [
            ("bbox=1,2", true),
            ("bbox=", true),
            ("bbox=1,,2", false),
            ("bbox=1,", false),
            ("bbox=,2,", false),
        ] {
            let mut value = Value::Object(to_json(query, &schema).0);
            assert_eq!(schema.check(&mut value).is_empty(), is_valid, "{query}");
        }
    }

    proptest! {
        #[test]
        fn converts_any_query(bytes in prop::collection::vec(any::<u8>(), 0..60), pairs in "((f:status|breeds|limit|age|draft)=[^&]{0,9}&){0,4}") {
            for query in [String::from_utf8_lossy(&bytes).into_owned(), pairs] {
                let (members, invalid_utf8) = to_json(&query, &SCHEMA);
                prop_assert!(invalid_utf8.iter().all(|name| SCHEMA.property(name).is_some()), "{query}");
                prop_assert!(members.iter().all(|(name, value)| {
                    SCHEMA.property(name).is_some() && match value {
                        Value::String(text) => !text.trim().is_empty(),
                        Value::Array(items) => name == "breeds" && items.iter().all(|item| item != ""),
                        Value::Number(_) => name == "limit" || name == "age",
                        Value::Bool(_) => name == "draft",
                        _ => false,
                    }
                }), "{query}: {members:?}");
            }
        }
    }
}
