//! What the service offers, read from its own OpenAPI document: the document cannot say one thing and the
//! service do another, since routing fallbacks, content negotiation and validation all come from here.

mod document;
mod schema_validator;
pub(crate) mod validator;

use std::collections::HashMap;

use actix_web::http::Method;
use metrics::Gauge;
use serde_json::{Map, Value, json};

use crate::telemetry::metrics::{RequestMetrics, in_flight};

pub(crate) use document::finish;
pub use schema_validator::SchemaValidator;
use validator::Schema;

/// Every operation of a service, by route pattern and method.
pub struct Api {
    /// The OpenAPI 3.1 document as JSON.
    pub document: String,
    operations: HashMap<String, HashMap<Method, Operation>>,
    /// Requests for anything else.
    pub(crate) others: RequestMetrics,
    pub(crate) in_flight: Gauge,
}

/// One operation, as its documentation describes it.
pub(crate) struct Operation {
    /// By its id: `create_load_as_organiser`
    pub(crate) measured: RequestMetrics,
    /// It needs a caller.
    pub(crate) secured: bool,
    /// Media types of the answer to success; `*/*` where content is passed through.
    offers: Vec<String>,
    /// The schema of the JSON request body.
    pub(crate) body: Option<Schema>,
    /// True where an array of exactly one object stands for the object.
    pub(crate) one_or_array: bool,
    /// True where an `Idempotency-Key` is documented; elsewhere the header is ignored.
    pub(crate) takes_key: bool,
    /// The query parameters, as an object.
    pub(crate) params: Option<Schema>,
}

impl Api {
    /// Compiles the document; an error is a mistake in the document.
    pub fn new(document: &Value) -> anyhow::Result<Self> {
        let mut operations = HashMap::<_, HashMap<_, _>>::new();
        for (pattern, item) in document["paths"].as_object().into_iter().flatten() {
            for (method, operation) in item.as_object().into_iter().flatten() {
                let method: Method = method.to_uppercase().parse()?;
                operations
                    .entry(pattern.clone())
                    .or_default()
                    .insert(method, Operation::new(operation, document)?);
            }
        }
        let others = RequestMetrics::new("none".to_owned());
        Ok(Self { document: document.to_string(), operations, others, in_flight: in_flight() })
    }

    pub(crate) fn operation(&self, pattern: &str, method: &Method) -> Option<&Operation> {
        self.operations.get(pattern)?.get(method)
    }

    /// The methods of a pattern as an `Allow` header; nothing if the pattern has none.
    pub(crate) fn allowed(&self, pattern: &str) -> Option<String> {
        let methods = self.operations.get(pattern)?;
        let mut names: Vec<_> = methods.keys().map(Method::as_str).collect();
        if methods.contains_key(&Method::GET) {
            names.push("HEAD");
        }
        names.sort_unstable();
        Some(names.join(", "))
    }
}

impl Operation {
    fn new(operation: &Value, document: &Value) -> anyhow::Result<Self> {
        let components = &document["components"];
        let content = &operation["requestBody"]["content"]["application/json"]["schema"];
        let single = single_of_one_or_array(content);
        let body = single.unwrap_or(content);
        let success = operation["responses"]["200"]["content"].as_object();
        Ok(Self {
            measured: RequestMetrics::new(operation["operationId"].as_str().unwrap_or_default().to_owned()),
            secured: operation["security"]
                .as_array()
                .is_some_and(|s| s.iter().any(|s| s.get("bearer").is_some())),
            offers: success.into_iter().flat_map(|content| content.keys().cloned()).collect(),
            body: (!body.is_null()).then(|| Schema::new(body, components)).transpose()?,
            one_or_array: single.is_some(),
            takes_key: operation["parameters"]
                .as_array()
                .is_some_and(|parameters| parameters.iter().any(|p| p["name"] == "Idempotency-Key")),
            params: parameters_schema(operation).map(|s| Schema::new(&s, components)).transpose()?,
        })
    }

    /// The media types on offer if the `Accept` header rules all of them out.
    pub(crate) fn ruled_out(&self, accept: &str) -> Option<String> {
        // Errors are JSON, so JSON may always be named, whatever success looks like.
        let mut offers = self.offers.iter().map(String::as_str).chain(["application/json"]);
        let wanted = |range: &str| {
            let mut parts = range.split(';').map(str::trim);
            let range = parts.next().unwrap_or_default().to_ascii_lowercase();
            let refused = parts.any(|p| p.strip_prefix("q=").and_then(|q| q.parse().ok()) == Some(0.0_f32));
            (!refused).then_some(range)
        };
        let ranges: Vec<_> = accept.split(',').filter_map(wanted).collect();
        let matches = |offer: &str| {
            offer == "*/*"
                || ranges.iter().any(|range| {
                    range == "*/*"
                        || range == offer
                        || range.strip_suffix('*').is_some_and(|p| offer.starts_with(p))
                })
        };
        if accept.trim().is_empty() || offers.any(matches) {
            return None;
        }
        Some(if self.offers.is_empty() { "application/json".into() } else { self.offers.join(" or ") })
    }
}

/// `oneOf: [object, array of exactly that object]`, as [`document`] writes it.
fn single_of_one_or_array(schema: &Value) -> Option<&Value> {
    match schema["oneOf"].as_array()?.as_slice() {
        [single, array] if array["items"] == *single && array["maxItems"] == 1 => Some(single),
        _ => None,
    }
}

/// The query parameters of an operation as the schema of an object.
fn parameters_schema(operation: &Value) -> Option<Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for parameter in operation["parameters"].as_array()?.iter().filter(|p| p["in"] == "query") {
        let name = parameter["name"].as_str()?;
        properties.insert(name.to_owned(), parameter["schema"].clone());
        if parameter["required"] == true {
            required.push(name);
        }
    }
    (!properties.is_empty())
        .then(|| json!({"type": "object", "properties": properties, "required": required}))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn operation() -> Operation {
        Operation {
            measured: RequestMetrics::new(String::new()),
            secured: true,
            offers: vec!["application/json".into(), "text/csv".into()],
            body: None,
            one_or_array: false,
            takes_key: false,
            params: None,
        }
    }

    proptest! {
        #[test]
        fn any_accept_header_is_read(text in "\\PC{0,40}", range in "[a-z*/;=q., 0-9-]{0,30}") {
            for text in [text, range] {
                operation().ruled_out(&text);
                prop_assert_eq!(operation().ruled_out(&format!("{text}, text/csv")), None);
            }
        }
    }

    #[test]
    fn accept() {
        let operation = operation();
        for accepted in ["", "*/*", "text/*", "text/html, text/csv;q=0.1", "Application/JSON; charset=utf-8"]
        {
            assert_eq!(operation.ruled_out(accepted), None, "{accepted}");
        }
        for refused in ["text/html", "image/*", "application/json;q=0, text/csv;q=0"] {
            assert!(operation.ruled_out(refused).is_some(), "{refused}");
        }
    }
}
