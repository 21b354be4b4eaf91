//! The operations of a service, as its OpenAPI document lists them.

use serde_json::Value;

use crate::App;

/// An id that identifies no resource.
pub(crate) const UNKNOWN_ID: &str = "0190f5fe-0000-7000-8000-000000000000";

/// An operation of the OpenAPI document.
pub(crate) struct Operation {
    /// The `operationId`.
    pub(crate) id: String,
    /// HTTP method in upper case.
    pub(crate) method: String,
    /// Path with parameters in braces.
    pub(crate) pattern: String,
    /// Names of the query parameters.
    pub(crate) query: Vec<String>,
    /// Whether the document requires a bearer token.
    pub(crate) secured: bool,
}

impl Operation {
    /// Returns the path with [`UNKNOWN_ID`] as every parameter.
    pub(crate) fn path(&self) -> String {
        let segment = |s: &str| if s.starts_with('{') { UNKNOWN_ID.to_owned() } else { s.to_owned() };
        self.pattern.split('/').map(segment).collect::<Vec<_>>().join("/")
    }

    /// Returns whether a path, without its query, matches the pattern.
    pub(crate) fn matches(&self, path: &str) -> bool {
        let path = path.split('?').next().unwrap_or_default();
        let (segments, pattern) = (path.split('/'), self.pattern.split('/'));
        segments.clone().count() == pattern.clone().count()
            && segments.zip(pattern).all(|(segment, pattern)| segment == pattern || pattern.starts_with('{'))
    }
}

/// Reads the operations of a service from its `/openapi.json`.
pub(crate) async fn operations(app: &App) -> Vec<Operation> {
    let document = app.get("/openapi.json").send().await.ok();
    let mut operations = Vec::new();
    for (pattern, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let query = parameters.filter(|p| p["in"] == "query");
            let bearer = |s: &Value| s.get("bearer").is_some();
            operations.push(Operation {
                id: operation["operationId"].as_str().expect("an operation id").to_owned(),
                method: method.to_uppercase(),
                pattern: pattern.clone(),
                query: query.map(|p| p["name"].as_str().expect("a name").to_owned()).collect(),
                secured: operation["security"].as_array().is_some_and(|s| s.iter().any(bearer)),
            });
        }
    }
    assert!(!operations.is_empty(), "the document has no operations");
    operations
}
