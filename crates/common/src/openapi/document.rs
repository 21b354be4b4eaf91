//! The last touches to the OpenAPI document that no attribute can give.

use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa::openapi::OpenApi;

use crate::middleware::public_cors;
use crate::response::error::ErrorBody;
use crate::wire;

/// Marks an operation whose body is one object or an array of exactly one (contract, section 4, "Bodies"):
/// `extensions(("x-one-or-array" = json!(true)))`.
const ONE_OR_ARRAY: &str = "x-one-or-array";
/// Marks a POST that takes no `Idempotency-Key`, because each response shows the current state:
/// `extensions(("x-no-idempotency-key" = json!(true)))`.
const NO_IDEMPOTENCY_KEY: &str = "x-no-idempotency-key";

/// The finished document as JSON.
pub(crate) fn finish(openapi: &OpenApi) -> anyhow::Result<Value> {
    let mut document = serde_json::to_value(openapi)?;
    add_schema::<ErrorBody>(&mut document)?;
    add_texts(&mut document)?;
    for (_, schema) in document["components"]["schemas"].as_object_mut().into_iter().flatten() {
        // What a Rust type begins with is no promise to a client.
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
        for (_, property) in properties.into_iter().flatten() {
            property.as_object_mut().map(|p| p.remove("default"));
        }
    }
    for (path, item) in document["paths"].as_object_mut().into_iter().flatten() {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            one_or_array(operation);
            if public_cors::is(path) {
                // The same operation by another way, and ids are unique.
                operation["operationId"] =
                    json!(format!("{}_public", operation["operationId"].as_str().unwrap_or_default()));
            }
            responses(operation, method == "post");
            let without_key = operation.as_object_mut().and_then(|o| o.remove(NO_IDEMPOTENCY_KEY)).is_some();
            headers(operation, method == "post" && !without_key);
        }
    }
    Ok(document)
}

fn add_schema<T: ToSchema>(document: &mut Value) -> anyhow::Result<()> {
    let mut schemas = vec![(T::name().into_owned(), T::schema())];
    T::schemas(&mut schemas);
    for (name, schema) in schemas {
        document["components"]["schemas"][name] = serde_json::to_value(schema)?;
    }
    Ok(())
}

/// The shared texts that only parameters refer to, which utoipa does not collect.
fn add_texts(document: &mut Value) -> anyhow::Result<()> {
    let text = document["paths"].to_string();
    macro_rules! add {
        ($($name:ident),+) => { $(
            if text.contains(concat!("\"#/components/schemas/", stringify!($name), "\"")) {
                add_schema::<wire::$name>(document)?;
            }
        )+ };
    }
    add!(DateOrDateTime, Name, LongText, Postcode, Reference, Registration, Tag, QueryText);
    Ok(())
}

fn one_or_array(operation: &mut Value) {
    let marked = operation.as_object_mut().and_then(|o| o.remove(ONE_OR_ARRAY)).is_some();
    if let Some(schema) =
        operation.pointer_mut("/requestBody/content/application~1json/schema").filter(|_| marked)
    {
        let one = schema.take();
        *schema = json!({"oneOf": [one, {"type": "array", "items": one, "minItems": 1, "maxItems": 1}]});
    }
}

/// The request and answer headers that the plumbing adds.
fn headers(operation: &mut Value, takes_key: bool) {
    let header = |about: &str| json!({"description": about, "schema": {"type": "string"}});
    let paged = operation["parameters"].as_array().is_some_and(|p| p.iter().any(|p| p["name"] == "cursor"));
    let success = &mut operation["responses"]["200"]["headers"];
    success["X-Request-Id"] = header("The request's own, or a new one");
    if paged {
        success["Link"] = header("RFC 8288: first, prev, next");
        success["X-Total-Count"] = header("All matches, if `count=true`");
    }
    if takes_key {
        success["Idempotency-Replayed"] = header("`true` where a first answer is repeated");
        let key = json!({"name": "Idempotency-Key", "in": "header", "required": false,
            "description": "A repeat with the same key is answered as the first was, and does nothing",
            "schema": {"type": "string", "minLength": 1, "maxLength": 255}});
        match operation.get_mut("parameters").and_then(Value::as_array_mut) {
            Some(parameters) => parameters.push(key),
            None => operation["parameters"] = json!([key]),
        }
    }
}

/// The statuses that an operation answers beside those that all have.
fn others(operation: &Value, post: bool) -> Vec<(&'static str, &'static str)> {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let named = parameters.into_iter().any(|p| p["in"] == "path");
    let body = operation.get("requestBody").is_some();
    let open = operation.get("security").is_none();
    let ranges = operation["responses"].get("206").is_some();
    let mut others = vec![
        ("406", "The Accept header rules the answer out."),
        ("503", "A dependency is out of reach; nothing was changed, unless `body.outcome` is `unknown`."),
    ];
    others.extend(open.then_some(("429", "Too many requests from this address.")));
    others.extend(named.then_some(("404", "There is nothing by that id.")));
    // A POST reads a body of whatever kind: with an Idempotency-Key its bytes identify a repeat.
    others.extend((body || post).then_some(("413", "The body is larger than is taken.")));
    others.extend(body.then_some(("415", "The body is of another type.")));
    others.extend(ranges.then_some(("416", "The range lies outside of the content.")));
    others
}

fn responses(operation: &mut Value, post: bool) {
    for (status, about) in others(operation, post) {
        let response = operation["responses"][status].as_object().cloned().unwrap_or_default();
        if response.is_empty() {
            operation["responses"][status] = json!({ "description": about });
        }
    }

    for (status, response) in operation["responses"].as_object_mut().into_iter().flatten() {
        if response["description"].as_str().unwrap_or_default().is_empty() {
            response["description"] = json!("Success");
        }
        if status.as_str() >= "400" {
            response["content"]["application/json"]["schema"] =
                json!({"$ref": "#/components/schemas/ErrorBody"});
        }
    }
}
