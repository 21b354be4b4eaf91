//! The OpenAPI document as clients read it: without the constructs that common code generators cannot handle.
//! Validation uses the document before this step, which is exact.

use serde_json::{Map, Value, json};

/// Base URL of the operations where no `public_url` is set. It is relative to the documentation page.
const RELATIVE_BASE: &str = "../";
/// Media type in the document for stored content of any type.
const BINARY: &str = "application/octet-stream";

/// Returns the document to publish. `public_url` is the base URL that clients use, if it is known.
pub(crate) fn publish(document: &Value, public_url: Option<&str>) -> Value {
    let mut published = document.clone();
    published["servers"] = json!([{ "url": public_url.unwrap_or(RELATIVE_BASE) }]);
    simplify(&mut published);
    let texts = take_texts(&mut published);
    inline(&mut published, &texts);
    open_union_members(&mut published);
    published
}

/// Adds `additionalProperties: true` to the members of each union that has it. Otherwise a generated client that takes
/// one member for another drops the properties that only the other has.
fn open_union_members(document: &mut Value) {
    let Some(schemas) = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut) else {
        return;
    };
    let unions = schemas.values().filter(|schema| schema["additionalProperties"] == true);
    let members = unions.filter_map(|union| union["anyOf"].as_array()).flatten();
    let names = members.filter_map(|member| member["$ref"].as_str()?.rsplit('/').next());
    for name in names.map(str::to_owned).collect::<Vec<_>>() {
        schemas[&name]["additionalProperties"] = json!(true);
    }
}

/// Removes the schemas of plain texts from the components and returns them by reference.
fn take_texts(document: &mut Value) -> Map<String, Value> {
    let schemas = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut);
    let Some(schemas) = schemas else { return Map::new() };
    let is_text = |schema: &Value| schema["type"] == "string" && schema.get("enum").is_none();
    let names: Vec<_> =
        schemas.iter().filter(|(_, schema)| is_text(schema)).map(|(name, _)| name.clone()).collect();
    let take = |name: String| Some((format!("#/components/schemas/{name}"), schemas.remove(&name)?));
    names.into_iter().filter_map(take).collect()
}

/// Returns the members except examples, which are values: their members are not those of a schema.
fn schema_parts(members: &mut Map<String, Value>) -> impl Iterator<Item = &mut Value> {
    members.iter_mut().filter(|(name, _)| *name != "example").map(|(_, part)| part)
}

/// Replaces references to texts by their schemas. Generators take a reference beside a description for an object.
fn inline(part: &mut Value, texts: &Map<String, Value>) {
    match part {
        Value::Array(items) => items.iter_mut().for_each(|item| inline(item, texts)),
        Value::Object(members) => {
            schema_parts(members).for_each(|member| inline(member, texts));
            let text = members.get("$ref").and_then(Value::as_str).and_then(|name| texts.get(name));
            if let Some(Value::Object(text)) = text.cloned() {
                members.remove("$ref");
                for (name, value) in text {
                    members.entry(name).or_insert(value);
                }
            }
            make_nullable(members);
        }
        _ => {}
    }
}

/// Replaces `oneOf: [text, null]` by a text that may be null.
fn make_nullable(members: &mut Map<String, Value>) {
    let Some(Value::Array(branches)) = members.get("oneOf") else { return };
    let is_null = |schema: &Value| schema["type"] == "null";
    let text = branches.iter().find(|schema| schema["type"] == "string" && schema.get("enum").is_none());
    let Some(Value::Object(text)) =
        text.filter(|_| branches.len() == 2 && branches.iter().any(is_null)).cloned()
    else {
        return;
    };
    members.remove("oneOf");
    for (name, value) in text {
        members.entry(name).or_insert(value);
    }
    members.insert("type".to_owned(), json!(["string", "null"]));
}

/// Simplifies a part of the document: a schema that also allows a shorthand becomes its main form.
fn simplify(part: &mut Value) {
    match part {
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Object(members) => {
            if let Some(Value::Array(types)) = members.get("type")
                && !types.iter().any(|name| name == "null")
            {
                let first = types.first().cloned().unwrap_or_default();
                members.insert("type".to_owned(), first);
            }
            let texts = members.get("anyOf").and_then(Value::as_array);
            if let Some(texts) = texts.filter(|all| all.iter().all(|schema| schema["type"] == "string")) {
                let formats: Vec<_> = texts.iter().filter_map(|schema| schema["format"].as_str()).collect();
                let format = formats.join("-or-");
                members.remove("anyOf");
                members.insert("type".to_owned(), json!("string"));
                members.insert("format".to_owned(), json!(format));
            }
            if members.contains_key("in")
                && let Some(Value::Array(types)) = members.get_mut("schema").and_then(|s| s.get_mut("type"))
            {
                types.retain(|name| name != "null"); // a parameter is absent instead
            }
            if let Some(Value::Object(content)) = members.get_mut("content")
                && let Some(stored) = content.remove("*/*")
            {
                content.insert(BINARY.to_owned(), stored);
            }
            schema_parts(members).for_each(simplify);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_constructs_that_generators_refuse() {
        let document = json!({
            "paths": { "/v1/files/{id}": { "get": {
                "parameters": [{ "in": "header", "schema": { "type": ["string", "null"] } }],
                "responses": { "200": { "content": { "*/*": { "schema": { "type": "string", "format": "binary" } } } } }
            } } },
            "components": { "schemas": {
                "Day": { "anyOf": [{ "type": "string", "format": "date" }, { "type": "string", "format": "date-time" }] },
                "Ids": { "type": ["array", "string"], "items": { "type": ["string", "null"] }, "example": { "type": ["x"] } },
                "Any": { "anyOf": [{ "$ref": "#/components/schemas/Ids" }], "additionalProperties": true },
                "Load": { "properties": {
                    "day": { "oneOf": [{ "$ref": "#/components/schemas/Day" }, { "type": "null" }], "description": "Due" },
                    "first": { "$ref": "#/components/schemas/Day", "description": "The first" }
                } }
            } }
        });
        let expected = json!({
            "servers": [{ "url": "../" }],
            "paths": { "/v1/files/{id}": { "get": {
                "parameters": [{ "in": "header", "schema": { "type": "string" } }],
                "responses": { "200": { "content": {
                    "application/octet-stream": { "schema": { "type": "string", "format": "binary" } }
                } } }
            } } },
            "components": { "schemas": {
                "Ids": {
                    "type": "array", "items": { "type": ["string", "null"] }, "example": { "type": ["x"] },
                    "additionalProperties": true
                },
                "Any": { "anyOf": [{ "$ref": "#/components/schemas/Ids" }], "additionalProperties": true },
                "Load": { "properties": {
                    "day": { "type": ["string", "null"], "format": "date-or-date-time", "description": "Due" },
                    "first": { "type": "string", "format": "date-or-date-time", "description": "The first" }
                } }
            } }
        });
        assert_eq!(publish(&document, None), expected);
        let base = "https://drover.example/system";
        assert_eq!(publish(&document, Some(base))["servers"], json!([{ "url": base }]));
    }
}
