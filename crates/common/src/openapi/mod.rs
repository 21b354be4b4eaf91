//! The OpenAPI document of a service and the index of its operations. Fallback routes, content negotiation and
//! validation use the document, so that it cannot differ from what the service does.

mod document;
mod published;
pub(crate) mod unknown_parameters;
pub(crate) mod validator;

use std::collections::HashMap;
use std::rc::Rc;

use actix_web::dev::ServiceRequest;
use actix_web::http::Method;
use actix_web::{HttpMessage, HttpRequest};
use anyhow::bail;
use metrics::Gauge;
use serde_json::{Map, Value, json};
use validator::Schema;

use crate::Error;
use crate::response::negotiate::Accept;
use crate::telemetry::metrics::{RequestMetrics, requests_in_flight};

pub use document::text_choice;
pub(crate) use document::{API_VERSION, add_login, add_response_examples, add_text_schemas, finish};
pub(crate) use published::publish;
pub use validator::SchemaValidator;

/// Marks an operation whose body is one object or an array of exactly one (docs/api/conventions.md, "JSON"):
/// `extensions(("x-one-or-array" = json!(true)))`.
const ONE_OR_ARRAY: &str = "x-one-or-array";
/// Lists the roles that may call an operation: those of `viewer` and `weighbridge`, or only `admin` if it requires that
/// role (docs/api/authentication.md, "Roles"): `extensions(("x-roles" = json!(["viewer"])))`. Every operation that
/// needs a token declares it.
const ROLES: &str = "x-roles";
/// The media type of merge patches (RFC 7396).
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";

/// Returns true for paths and route patterns of the group for browsers (docs/api/browsers.md).
pub(crate) fn is_public(path: &str) -> bool {
    path.starts_with("/v1/public/")
}

/// The operations of a service, by route pattern and method.
pub struct Api {
    /// The OpenAPI 3.1 document as JSON, as it is published.
    pub document: String,
    operations: HashMap<String, HashMap<Method, Operation>>,
    /// Metrics of requests that match no operation.
    pub(crate) others: RequestMetrics,
    pub(crate) in_flight: Gauge,
}

/// The form of a JSON body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyForm {
    Plain,
    /// One object, or an array of exactly one.
    OneOrArray,
    /// An RFC 7396 merge patch.
    MergePatch,
}

/// An operation as its documentation describes it.
pub(crate) struct Operation {
    /// Metrics, labelled with the operation id, such as `create_load_as_organiser`.
    pub(crate) metrics: RequestMetrics,
    /// True if the operation requires a token.
    pub(crate) secured: bool,
    /// The roles that may call it.
    roles: Vec<String>,
    /// Media types of the successful response; `*/*` for stored content of any type.
    media_types: Vec<String>,
    /// The schema of the JSON request body.
    pub(crate) body: Option<Schema>,
    /// True if a request may have no body.
    pub(crate) body_is_optional: bool,
    pub(crate) body_form: BodyForm,
    /// True if an `Idempotency-Key` is documented. Other operations ignore the header.
    pub(crate) takes_key: bool,
    /// The schema of the query parameters, as an object.
    pub(crate) params: Option<Schema>,
}

impl Api {
    /// Compiles the document. `public_url` is the base URL that clients use, if it is known.
    ///
    /// # Errors
    /// Fails if a method or a schema of the document is invalid.
    pub fn new(document: &Value, public_url: Option<&str>) -> anyhow::Result<Self> {
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
        let document = publish(document, public_url).to_string();
        Ok(Self { document, operations, others, in_flight: requests_in_flight() })
    }

    /// Returns the pages of a site, which has no document, as operations without rules: each by its method and pattern.
    pub(crate) fn of_pages(pages: impl IntoIterator<Item = (Method, String)>) -> Self {
        let mut operations = HashMap::<_, HashMap<_, _>>::new();
        for (method, pattern) in pages {
            let operation = Operation {
                metrics: RequestMetrics::new(format!("{method} {pattern}")),
                secured: false,
                roles: Vec::new(),
                media_types: Vec::new(),
                body: None,
                body_is_optional: true,
                body_form: BodyForm::Plain,
                takes_key: false,
                params: None,
            };
            operations.entry(pattern).or_default().insert(method, operation);
        }
        let others = RequestMetrics::new("none".to_owned());
        Self { document: String::new(), operations, others, in_flight: requests_in_flight() }
    }

    /// Returns true unless these are the pages of a site.
    pub(crate) fn has_document(&self) -> bool {
        !self.document.is_empty()
    }

    /// Returns the operation of a route pattern and method.
    pub(crate) fn operation(&self, pattern: &str, method: &Method) -> Option<&Operation> {
        self.operations.get(pattern)?.get(method)
    }

    /// Returns the methods of a pattern as an `Allow` header, or `None` if the pattern has no operation.
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
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        let success = operation["responses"]["200"]["content"].as_object();
        let id = operation["operationId"].as_str().unwrap_or_default();
        let secured =
            operation["security"].as_array().is_some_and(|s| s.iter().any(|s| s.get("bearer").is_some()));
        Ok(Self {
            metrics: RequestMetrics::new(id.to_owned()),
            secured,
            roles: match operation[ROLES].as_array() {
                Some(names) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                None if secured => bail!("the operation {id} does not declare its roles ({ROLES})"),
                None => Vec::new(),
            },
            media_types: success.into_iter().flat_map(|content| content.keys().cloned()).collect(),
            body: (!body.is_null()).then(|| Schema::new(body, components)).transpose()?,
            body_is_optional: operation["requestBody"]["required"] != true,
            body_form: match &operation[ONE_OR_ARRAY] {
                Value::Bool(true) => BodyForm::OneOrArray,
                _ if operation["requestBody"]["content"].get(MERGE_PATCH).is_some() => BodyForm::MergePatch,
                _ => BodyForm::Plain,
            },
            takes_key: operation["parameters"]
                .as_array()
                .is_some_and(|parameters| parameters.iter().any(|p| p["name"] == "Idempotency-Key")),
            params: parameters_schema(operation).map(|s| Schema::new(&s, components)).transpose()?,
        })
    }

    /// Returns true if callers whom this role restricts may call the operation.
    pub(crate) fn admits(&self, role: &str) -> bool {
        self.roles.iter().any(|admitted| admitted == role)
    }

    /// Returns true if the operation has this query parameter.
    pub(crate) fn has_parameter(&self, name: &str) -> bool {
        self.params.as_ref().is_some_and(|schema| schema.parameter(name).is_some())
    }

    /// Returns the names of the query parameters.
    pub(crate) fn parameter_names(&self) -> Vec<&str> {
        self.params.as_ref().map(Schema::property_names).unwrap_or_default()
    }

    /// Returns true if the operation serves stored content without a token, by a signed link.
    pub(crate) fn is_link(&self) -> bool {
        !self.secured && self.media_types.iter().any(|name| name == "*/*")
    }

    /// Returns true if `Accept` can choose between formats.
    pub(crate) fn has_formats(&self) -> bool {
        self.media_types.len() > 1 || self.media_types.iter().any(|media_type| media_type == "*/*")
    }

    /// Checks the `Accept` header.
    ///
    /// # Errors
    /// 406 if the header excludes every media type of the operation, and JSON, the media type of errors.
    pub(crate) fn check_accept(&self, accept: &Accept) -> Result<(), Error> {
        let is_allowed = |media_type: &str| media_type == "*/*" || accept.allows(media_type);
        let mut media_types = self.media_types.iter().map(String::as_str).chain(["application/json"]);
        if media_types.any(is_allowed) {
            return Ok(());
        }
        Err(Error::NotAcceptable(match &self.media_types[..] {
            [] => "application/json".to_owned(),
            media_types => media_types.join(" or "),
        }))
    }
}

/// Returns the query parameters of an operation as the schema of an object.
pub(crate) fn parameters_schema(operation: &Value) -> Option<Value> {
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

/// The pattern of the route that the router will choose, such as `/v1/loads/{id}`; `None` if no route matches.
#[derive(Clone, Default)]
pub(crate) struct Route(Option<Rc<str>>);

impl Route {
    /// Finds the route as the router does: by the decoded path, in which `%63` is `c`.
    pub(crate) fn find(request: &ServiceRequest) -> Self {
        Self(request.resource_map().match_pattern(request.match_info().as_str()).map(Rc::from))
    }

    /// Returns the route that the outermost layer has [found](Self::find) and stored in the extensions.
    pub(crate) fn of(request: &HttpRequest) -> Self {
        request.extensions().get::<Self>().cloned().unwrap_or_default()
    }

    /// Returns the pattern.
    pub(crate) fn pattern(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Returns the documented operation with this method on the route, if there is one.
    pub(crate) fn operation<'a>(&self, api: &'a Api, method: &Method) -> Option<&'a Operation> {
        api.operation(self.pattern()?, method)
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{ACCEPT, HeaderMap, HeaderValue};
    use proptest::prelude::*;

    use super::*;

    fn operation(media_types: &[&str]) -> Operation {
        Operation {
            metrics: RequestMetrics::new(String::new()),
            secured: true,
            roles: Vec::new(),
            media_types: media_types.iter().map(ToString::to_string).collect(),
            body: None,
            body_is_optional: false,
            body_form: BodyForm::Plain,
            takes_key: false,
            params: None,
        }
    }

    fn is_acceptable(media_types: &[&str], accept: &[u8]) -> bool {
        let value = HeaderValue::from_bytes(accept).ok();
        let headers = HeaderMap::from_iter(value.map(|value| (ACCEPT, value)));
        operation(media_types).check_accept(&Accept::parse(&headers)).is_ok()
    }

    const JSON_OR_CSV: [&str; 2] = ["application/json", "text/csv"];

    proptest! {
        #[test]
        fn accepts_any_header_with_a_supported_type(text in "\\PC{0,40}", range in "[a-z*/;=q., 0-9-]{0,30}") {
            for text in [text, range] {
                is_acceptable(&JSON_OR_CSV, text.as_bytes());
                let with_csv = format!("{text}, text/csv");
                prop_assert!(is_acceptable(&JSON_OR_CSV, with_csv.as_bytes()));
            }
        }
    }

    #[test]
    fn checks_the_accept_header() {
        for accept in ["", "*/*", "text/*", "text/html, text/csv;q=0.1", "Application/JSON; charset=utf-8"] {
            assert!(is_acceptable(&JSON_OR_CSV, accept.as_bytes()), "{accept}");
        }
        for accept in ["text/html", "image/*", "application/json;q=0, text/csv;q=0", "*/*;q=0"] {
            assert!(!is_acceptable(&JSON_OR_CSV, accept.as_bytes()), "{accept}");
        }
    }

    #[test]
    fn a_refused_json_is_not_acceptable_despite_a_wildcard() {
        let accept = b"application/json;q=0, */*";
        assert!(!is_acceptable(&["application/json"], accept));
        assert!(is_acceptable(&JSON_OR_CSV, accept), "CSV is acceptable");
        assert!(is_acceptable(&["*/*"], accept), "stored content of any type is acceptable");
    }
}
