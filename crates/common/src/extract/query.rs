//! Query parameters, validated by the schema that the OpenAPI document publishes for them.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, web};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::Error;
use crate::openapi::Api;
use crate::openapi::validator::Schema;
use crate::response::validation::{Code, ValidationErrors};

/// Query parameters that were checked against their schema, but not yet against the rules that no schema can
/// state: only [`Query::check`] gives out what they mean.
pub struct Query<T> {
    value: T,
    errors: ValidationErrors,
}

impl<T> Query<T> {
    /// Adds what the rules find to what the schema found, and gives what the rules made of it.
    pub fn check<R>(mut self, rules: impl FnOnce(&T, &mut ValidationErrors) -> R) -> Result<R, Error> {
        let understood = rules(&self.value, &mut self.errors);
        self.errors.check()?;
        Ok(understood)
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
    let pattern = request.match_pattern().unwrap_or_default();
    let api = request.app_data::<web::Data<Api>>();
    let schema = api.and_then(|api| api.operation(&pattern, request.method())?.params.as_ref());
    let Some(schema) = schema else {
        return Err(Error::Internal(anyhow::anyhow!("{pattern} documents no query parameters")));
    };
    let mut value = Value::Object(read(request.query_string(), schema));
    let mut errors = schema.check(&mut value);
    for name in garbled(request.query_string(), schema) {
        errors.push(&name, Code::Format, "is not UTF-8");
    }
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

/// Parameters whose value had to be guessed, since it is not UTF-8.
fn garbled(query: &str, schema: &Schema) -> Vec<String> {
    let is_meant = query.to_ascii_uppercase().contains("%EF%BF%BD");
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    let guessed = pairs.filter(|(name, text)| text.contains('\u{fffd}') && schema.property(name).is_some());
    guessed.filter(|_| !is_meant).map(|(name, _)| name.into_owned()).collect()
}

/// Texts become what their schema asks for where they can; where they cannot the schema says so. A blank value counts
/// as absent; of several the last counts, but an array takes them all, comma-separated ones too.
fn read(query: &str, schema: &Schema) -> Map<String, Value> {
    let mut members = Map::new();
    for (name, text) in url::form_urlencoded::parse(query.as_bytes()) {
        let Some(schema) = schema.property(&name).filter(|_| !text.trim().is_empty()) else { continue };
        if has_type(schema, "array") {
            let list = members.entry(name.into_owned()).or_insert_with(|| json!([]));
            let items = text.split(',').filter(|item| !item.trim().is_empty()).map(|item| json!(item.trim()));
            list.as_array_mut().into_iter().for_each(|list| list.extend(items.clone()));
            continue;
        }
        let bare = text.trim();
        let value = match bare {
            "true" | "false" if has_type(schema, "boolean") => json!(bare == "true"),
            _ if has_type(schema, "integer") => integer(bare),
            _ if has_type(schema, "number") => {
                bare.parse::<f64>().ok().filter(|n| n.is_finite()).map_or_else(|| json!(text), |n| json!(n))
            }
            _ => json!(text),
        };
        members.insert(name.into_owned(), value);
    }
    members
}

/// A whole number, however large: its range is the schema's to judge.
fn integer(text: &str) -> Value {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let large = || text.parse::<f64>().ok().filter(|n| whole && n.is_finite());
    text.parse::<i64>().map_or_else(|_| large().map_or_else(|| json!(text), |n| json!(n)), |n| json!(n))
}

fn has_type(schema: &Value, name: &str) -> bool {
    match &schema["type"] {
        Value::Array(types) => types.iter().any(|t| t == name),
        one => one == name,
    }
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

    proptest! {
        #[test]
        fn any_query_is_read(bytes in prop::collection::vec(any::<u8>(), 0..60), pairs in "((f:status|breeds|limit|age|draft)=[^&]{0,9}&){0,4}") {
            for query in [String::from_utf8_lossy(&bytes).into_owned(), pairs] {
                let read = read(&query, &SCHEMA);
                prop_assert!(read.iter().all(|(name, value)| {
                    SCHEMA.property(name).is_some() && match value {
                        Value::String(text) => !text.trim().is_empty(),
                        Value::Array(items) => name == "breeds" && items.iter().all(|item| item != ""),
                        Value::Number(_) => name == "limit" || name == "age",
                        Value::Bool(_) => name == "draft",
                        _ => false,
                    }
                }), "{query}: {read:?}");
                garbled(&query, &SCHEMA);
            }
        }
    }
}
