//! Completion of the OpenAPI document with parts that utoipa attributes cannot express.

use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::OpenApi;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

use super::is_public;
use crate::config::DocsLogin;
use crate::response::error::ErrorBody;
use crate::wire;

/// The version of the API (docs/api/versioning.md), which is also that of the programs.
pub(crate) const API_VERSION: &str = env!("CARGO_PKG_VERSION");
/// The guide of a service, relative to `/openapi.json` and to `/docs/openapi.json`.
const GUIDE: &str = "../docs/guide/";
/// The pages of the guide to read first.
const INTRODUCTION: [(&str, &str); 5] = [
    ("Get and send a token", "authentication"),
    ("Conventions of requests and responses", "conventions"),
    ("Errors", "errors"),
    ("Lists: paging, filters, words, CSV", "lists"),
    ("Repeat requests safely", "idempotency"),
];
/// Marks an operation whose body may be absent: `extensions(("x-optional-body" = json!(true)))`.
const OPTIONAL_BODY: &str = "x-optional-body";
/// Marks a POST that ignores `Idempotency-Key`, because each response shows the current state:
/// `extensions(("x-no-idempotency-key" = json!(true)))`.
const NO_IDEMPOTENCY_KEY: &str = "x-no-idempotency-key";

/// Returns the completed document as JSON.
pub(crate) fn finish(openapi: &OpenApi) -> anyhow::Result<Value> {
    let mut document = serde_json::to_value(openapi)?;
    document["info"]["version"] = json!(API_VERSION);
    add_schema::<ErrorBody>(&mut document)?;
    add_text_schemas(&mut document)?;
    for (_, schema) in document["components"]["schemas"].as_object_mut().into_iter().flatten() {
        // Defaults of Rust types are not part of the API.
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
        for (_, property) in properties.into_iter().flatten() {
            property.as_object_mut().map(|p| p.remove("default"));
        }
    }
    for (path, item) in document["paths"].as_object_mut().into_iter().flatten() {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            if operation.as_object_mut().and_then(|o| o.remove(OPTIONAL_BODY)).is_some() {
                operation["requestBody"]["required"] = json!(false);
            }
            if is_public(path) {
                // The same operation under another path; operation ids are unique.
                operation["operationId"] =
                    json!(format!("{}_public", operation["operationId"].as_str().unwrap_or_default()));
            }
            add_responses(operation, method == "post");
            let without_key = operation.as_object_mut().and_then(|o| o.remove(NO_IDEMPOTENCY_KEY)).is_some();
            add_headers(operation, method == "post" && !without_key);
        }
    }
    add_examples(&mut document);
    let about = document["info"]["description"].as_str().unwrap_or_default().trim_end_matches('.');
    let links = INTRODUCTION.map(|(title, page)| format!("- [{title}]({GUIDE}{page})"));
    document["info"]["description"] =
        json!(format!("{about}.\n\nBefore your first request, read:\n\n{}", links.join("\n")));
    document["externalDocs"] = json!({"description": "API guide", "url": GUIDE});
    link_guide(&mut document);
    Ok(document)
}

/// Replaces the paths of pages of docs/api in texts by links to the pages that the service serves.
fn link_guide(value: &mut Value) {
    match value {
        Value::String(text) => {
            let mut parts = text.split("docs/api/");
            let mut linked = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                match part.split_once(".md") {
                    Some((page, rest)) => linked.extend(["[API guide](", GUIDE, page, ")", rest]),
                    None => linked.push_str(part),
                }
            }
            *text = linked;
        }
        Value::Array(items) => items.iter_mut().for_each(link_guide),
        Value::Object(members) => members.values_mut().for_each(link_guide),
        _ => {}
    }
}

fn add_schema<T: ToSchema>(document: &mut Value) -> anyhow::Result<()> {
    let mut schemas = vec![(T::name().into_owned(), T::schema())];
    T::schemas(&mut schemas);
    for (name, schema) in schemas {
        document["components"]["schemas"][name] = serde_json::to_value(schema)?;
    }
    Ok(())
}

/// Adds the schemas of texts that only parameters refer to: utoipa does not collect these.
pub(crate) fn add_text_schemas(document: &mut Value) -> anyhow::Result<()> {
    let text = document["paths"].to_string();
    macro_rules! add {
        ($($name:ident),+) => { $(
            if text.contains(concat!("\"#/components/schemas/", stringify!($name), "\"")) {
                add_schema::<wire::$name>(document)?;
            }
        )+ };
    }
    add!(DateOrDateTime, Name, LongText, Postcode, Reference, Registration, Tag, QueryText, ListedId);
    Ok(())
}

/// Documents the request and response headers that extractors and middleware handle.
fn add_headers(operation: &mut Value, takes_key: bool) {
    let header = |description: &str| json!({"description": description, "schema": {"type": "string"}});
    let paged = operation["parameters"].as_array().is_some_and(|p| p.iter().any(|p| p["name"] == "cursor"));
    let success = &mut operation["responses"]["200"]["headers"];
    success["X-Request-Id"] = header("The id of the request: its own, or a new one");
    if paged {
        success["Link"] = header("RFC 8288: first, prev, next");
        success["X-Total-Count"] = header("Number of all matches, if `count=true`");
    }
    if takes_key {
        success["Idempotency-Replayed"] =
            header("`true` if this is the response to an earlier request with the same key");
        let key = json!({"name": "Idempotency-Key", "in": "header", "required": false,
            "description": "A repeated request with the same key returns the first response and does nothing again",
            "schema": {"type": "string", "minLength": 1, "maxLength": 255}});
        match operation.get_mut("parameters").and_then(Value::as_array_mut) {
            Some(parameters) => parameters.push(key),
            None => operation["parameters"] = json!([key]),
        }
    }
}

/// Returns the error statuses that depend on the kind of operation, with their descriptions.
fn error_statuses(operation: &Value, is_post: bool) -> Vec<(&'static str, &'static str)> {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let has_path_parameter = parameters.into_iter().any(|p| p["in"] == "path");
    let has_body = operation.get("requestBody").is_some();
    let is_open = operation.get("security").is_none();
    let has_ranges = operation["responses"].get("206").is_some();
    let mut statuses = vec![
        ("406", "The Accept header excludes JSON and every format of the operation."),
        ("503", "A dependency is unavailable; nothing was changed, unless `body.outcome` is `unknown`."),
    ];
    statuses.extend(is_open.then_some(("429", "Too many requests from this address.")));
    statuses.extend(has_path_parameter.then_some(("404", "The id in the path names nothing.")));
    // Every POST reads its body: with an Idempotency-Key, the bytes identify a repeated request.
    statuses.extend((has_body || is_post).then_some(("413", "The body is larger than allowed.")));
    statuses.extend(has_body.then_some(("415", "The body has the wrong media type.")));
    statuses.extend(has_ranges.then_some(("416", "The range lies outside the content.")));
    statuses
}

/// Adds the error responses that are not documented yet, and completes the others.
fn add_responses(operation: &mut Value, is_post: bool) {
    for (status, description) in error_statuses(operation, is_post) {
        let response = operation["responses"][status].as_object().cloned().unwrap_or_default();
        if response.is_empty() {
            operation["responses"][status] = json!({ "description": description });
        }
    }
    for (status, response) in operation["responses"].as_object_mut().into_iter().flatten() {
        if response["description"].as_str().unwrap_or_default().is_empty() {
            response["description"] = json!("Success");
        }
        if status.as_str() >= "400" {
            // Errors of the token endpoint have a form of their own.
            let schema = &mut response["content"]["application/json"]["schema"];
            if schema.is_null() {
                *schema = json!({"$ref": "#/components/schemas/ErrorBody"});
            }
        }
    }
}

/// Name of the security scheme.
const SCHEME: &str = "login";

/// Adds the login as a second security scheme, beside `bearer`, to the document and to each operation that needs a
/// token.
pub(crate) fn add_login(document: &mut Value, login: &DocsLogin) {
    let scopes: Map<_, _> = login.scopes.iter().map(|scope| (scope.clone(), json!(""))).collect();
    document["components"]["securitySchemes"][SCHEME] = json!({
        "type": "oauth2",
        "flows": {"authorizationCode": {
            "authorizationUrl": login.authorization_url,
            "tokenUrl": login.token_url,
            "scopes": scopes,
        }},
    });
    let items = document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
    for operation in items.filter_map(Value::as_object_mut).flat_map(|item| item.values_mut()) {
        if let Some(security) = operation.get_mut("security").and_then(Value::as_array_mut) {
            security.push(json!({SCHEME: []}));
        }
    }
}

/// Returns the schema of a text that is one of these values, for parameters with `schema_with`.
pub fn text_choice(values: &[&str]) -> Object {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(values.iter().copied())).build()
}

const COMPONENTS: &str = "#/components/schemas/";

/// Adds the examples of bodies (CONTRIBUTING.md, "Add an operation").
///
/// A request type has its example in `#[schema(example = …)]`, and so may the type of a response. Here it becomes the
/// example of each media type of the bodies that have this type. The fields of a form get theirs from it: Swagger UI
/// fills in each field by itself, also a file, which it then sends as text.
fn add_examples(document: &mut Value) {
    let examples = examples_by_schema(document);
    let mut forms = Vec::new();
    let items = document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
    for operation in items.filter_map(Value::as_object_mut).flat_map(|item| item.values_mut()) {
        for place in ["/requestBody/content", "/responses/200/content"] {
            let content = operation.pointer_mut(place).and_then(Value::as_object_mut);
            for (media_type, body) in content.into_iter().flatten() {
                let name = body.pointer("/schema/$ref").and_then(Value::as_str);
                let name = name.and_then(|name| name.strip_prefix(COMPONENTS)).unwrap_or_default().to_owned();
                let Some(example) = examples.get(&name) else { continue };
                // A response may have one of its own.
                if body.get("example").is_none() {
                    body["example"] = example.clone();
                }
                if media_type.starts_with("multipart/") {
                    forms.push(name);
                }
            }
        }
    }
    for name in forms {
        let fields = document["components"]["schemas"][&name]["properties"].as_object_mut();
        for (field, schema) in fields.into_iter().flatten() {
            if let Some(example) = examples[&name].get(field) {
                schema["example"] = example.clone();
            }
        }
    }
}

/// Adds the examples of successful responses. `examples` is JSON: by operation and media type.
pub(crate) fn add_response_examples(document: &mut Value, examples: &str) -> serde_json::Result<()> {
    let examples: Value = serde_json::from_str(examples)?;
    let items = document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
    for operation in items.filter_map(Value::as_object_mut).flat_map(|item| item.values_mut()) {
        let examples = &examples[operation["operationId"].as_str().unwrap_or_default()];
        let content = operation.pointer_mut("/responses/200/content").and_then(Value::as_object_mut);
        for (media_type, body) in content.into_iter().flatten() {
            if let Some(example) = examples.get(media_type) {
                body["example"] = example.clone();
            }
        }
    }
    Ok(())
}

fn examples_by_schema(document: &Value) -> Map<String, Value> {
    let schemas = document["components"]["schemas"].as_object().into_iter().flatten();
    schemas.filter_map(|(name, schema)| Some((name.clone(), schema.get("example")?.clone()))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_the_values() {
        let schema = serde_json::to_value(text_choice(&["active", "archived"])).unwrap();
        assert_eq!(schema, json!({"type": "string", "enum": ["active", "archived"]}));
    }

    #[test]
    fn bodies_and_fields_of_forms_have_the_example_of_their_schema() {
        let content = |media_type: &str, name: &str| {
            let schema = json!({ "$ref": format!("{COMPONENTS}{name}") });
            json!({ "content": { media_type: { "schema": schema } } })
        };
        let body = |media_type: &str, name: &str| json!({ "requestBody": content(media_type, name) });
        let response = json!({ "responses": { "200": content("application/geo+json", "A") } });
        let mut document = json!({
            "paths": { "/v1/a": {
                "get": response, "post": body("application/json", "A"), "put": body("multipart/form-data", "B"),
            } },
            "components": { "schemas": {
                "A": { "example": { "n": 1 } },
                "B": { "example": { "name": "x", "file": ["y"] }, "properties": { "name": {}, "file": {} } },
            } },
        });
        add_examples(&mut document);
        let example = |method: &str, media_type: &str| {
            document["paths"]["/v1/a"][method]["requestBody"]["content"][media_type]["example"].clone()
        };
        assert_eq!(example("post", "application/json"), json!({ "n": 1 }));
        let response = &document["paths"]["/v1/a"]["get"]["responses"]["200"]["content"];
        assert_eq!(response["application/geo+json"]["example"], json!({ "n": 1 }));
        assert_eq!(example("put", "multipart/form-data"), json!({ "name": "x", "file": ["y"] }));
        let fields = &document["components"]["schemas"]["B"]["properties"];
        assert_eq!(fields, &json!({ "name": { "example": "x" }, "file": { "example": ["y"] } }));
    }
}
