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

/// Returns true if the member at this pointer is a date or a date-time.
pub(super) fn is_date(pointer: &[String], root: &Value) -> bool {
    let schema = pointer.iter().try_fold(root, |schema, name| member(schema, name, root));
    schema.is_some_and(|schema| allows_date_time(schema, root))
}

fn member<'a>(schema: &'a Value, name: &str, root: &'a Value) -> Option<&'a Value> {
    let schema = resolve(schema, root);
    let own = schema["properties"].get(name).or_else(|| schema.get("items"));
    own.or_else(|| branches(schema).find_map(|branch| member(branch, name, root)))
}

fn allows_date_time(schema: &Value, root: &Value) -> bool {
    let schema = resolve(schema, root);
    schema["format"] == "date-time" || branches(schema).any(|branch| allows_date_time(branch, root))
}

/// Returns the alternatives and parts of a schema.
pub(super) fn branches(schema: &Value) -> impl Iterator<Item = &Value> {
    ["allOf", "oneOf", "anyOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten()
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
