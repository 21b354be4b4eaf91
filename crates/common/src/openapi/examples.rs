//! Examples of bodies of requests and responses (CONTRIBUTING.md, "Add an operation").
//!
//! A request type has its example in `#[schema(example = …)]`. Here it becomes the example of each media type of the
//! bodies that have this type. The fields of a form get theirs from it: Swagger UI fills in each field by itself,
//! also a file, which it then sends as text.

use serde_json::{Map, Value};

const COMPONENTS: &str = "#/components/schemas/";

/// Adds the examples.
pub(super) fn complete(document: &mut Value) {
    let examples = examples_by_schema(document);
    let mut forms = Vec::new();
    let items = document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
    for operation in items.filter_map(Value::as_object_mut).flat_map(|item| item.values_mut()) {
        let content = operation.pointer_mut("/requestBody/content").and_then(Value::as_object_mut);
        for (media_type, body) in content.into_iter().flatten() {
            let name = body.pointer("/schema/$ref").and_then(Value::as_str);
            let name = name.and_then(|name| name.strip_prefix(COMPONENTS)).unwrap_or_default().to_owned();
            let Some(example) = examples.get(&name) else { continue };
            body["example"] = example.clone();
            if media_type.starts_with("multipart/") {
                forms.push(name);
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
    fn bodies_and_fields_of_forms_have_the_example_of_their_schema() {
        let body = |media_type: &str, name: &str| {
            let schema = json!({ "$ref": format!("{COMPONENTS}{name}") });
            json!({ "requestBody": { "content": { media_type: { "schema": schema } } } })
        };
        let mut document = json!({
            "paths": { "/v1/a": { "post": body("application/json", "A"), "put": body("multipart/form-data", "B") } },
            "components": { "schemas": {
                "A": { "example": { "n": 1 } },
                "B": { "example": { "name": "x", "file": ["y"] }, "properties": { "name": {}, "file": {} } },
            } },
        });
        complete(&mut document);
        let example = |method: &str, media_type: &str| {
            document["paths"]["/v1/a"][method]["requestBody"]["content"][media_type]["example"].clone()
        };
        assert_eq!(example("post", "application/json"), json!({ "n": 1 }));
        assert_eq!(example("put", "multipart/form-data"), json!({ "name": "x", "file": ["y"] }));
        let fields = &document["components"]["schemas"]["B"]["properties"];
        assert_eq!(fields, &json!({ "name": { "example": "x" }, "file": { "example": ["y"] } }));
    }
}
