//! The operations of a service, as its OpenAPI document lists them.

use serde_json::Value;

use super::app::App;

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
    /// The example of the JSON body: `null` without such a body.
    pub(crate) example: Value,
    /// The example, with every text of its schema.
    pub(crate) body: Value,
    /// Whether it takes an `Idempotency-Key`.
    pub(crate) takes_key: bool,
    /// Whether the document requires a bearer token.
    pub(crate) secured: bool,
    /// The roles in `x-roles`; `None` without that extension.
    pub(crate) roles: Option<Vec<String>>,
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
            let takes_key = parameters.clone().any(|p| p["name"] == "Idempotency-Key");
            let query = parameters.filter(|p| p["in"] == "query");
            let bearer = |s: &Value| s.get("bearer").is_some();
            let content = &operation["requestBody"]["content"]["application/json"];
            operations.push(Operation {
                example: content["example"].clone(),
                body: with_all_texts(&document, &content["schema"], content["example"].clone()),
                id: operation["operationId"].as_str().expect("an operation id").to_owned(),
                method: method.to_uppercase(),
                pattern: pattern.clone(),
                query: query.map(|p| p["name"].as_str().expect("a name").to_owned()).collect(),
                roles: operation["x-roles"].as_array().map(|roles| {
                    roles.iter().map(|role| role.as_str().expect("a role").to_owned()).collect()
                }),
                takes_key,
                secured: operation["security"].as_array().is_some_and(|s| s.iter().any(bearer)),
            });
        }
    }
    assert!(!operations.is_empty(), "the document has no operations");
    operations
}

/// Adds the members of a schema that are texts to an example, if it is an object.
fn with_all_texts(document: &Value, schema: &Value, mut example: Value) -> Value {
    let schema = match schema["$ref"].as_str() {
        Some(path) => document.pointer(path.trim_start_matches('#')).expect("a schema"),
        None => schema,
    };
    let is_text = |schema: &Value| {
        let kind = &schema["type"];
        kind == "string" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "string"))
    };
    if let (Some(properties), Some(members)) = (schema["properties"].as_object(), example.as_object_mut()) {
        for (name, _) in properties.iter().filter(|(_, schema)| is_text(schema)) {
            members.entry(name.clone()).or_insert("a".into());
        }
    }
    example
}
