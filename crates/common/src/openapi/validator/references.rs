//! References (`$ref`) of a schema to the components of the OpenAPI document.

use serde_json::{Map, Value};

/// Returns the components that a schema refers to, directly or not. Each compiled schema has its own copies of these;
/// copies of all components would take several MB.
pub(super) fn referenced_components(schema: &Value, components: &Value) -> Map<String, Value> {
    let (mut referenced, mut pending) = (Map::new(), vec![schema]);
    while let Some(value) = pending.pop() {
        let name = value["$ref"].as_str().and_then(|target| target.strip_prefix("#/components/schemas/"));
        if let Some((name, schema)) = name.and_then(|name| Some((name, components.get(name)?)))
            && referenced.insert(name.to_owned(), schema.clone()).is_none()
        {
            pending.push(schema);
        }
        pending.extend(value.as_object().into_iter().flat_map(Map::values));
        pending.extend(value.as_array().into_iter().flatten());
    }
    referenced
}

/// Returns the target of the schema's `$ref`, or the schema itself.
pub(super) fn resolve<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let pointer = schema["$ref"].as_str().and_then(|target| target.strip_prefix('#'));
    pointer.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn collects_direct_and_indirect_references() {
        let to = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
        let components = json!({
            "A": {"type": "array", "items": to("B")},
            "B": {"type": "object", "properties": {"a": to("A"), "c": {"oneOf": [{"type": "null"}, to("C")]}}},
            "C": {"type": "string"},
            "D": to("A"),
        });
        let referenced = referenced_components(&json!({"properties": {"a": to("A")}}), &components);
        assert_eq!(referenced.keys().collect::<Vec<_>>(), ["A", "B", "C"]);
    }
}
