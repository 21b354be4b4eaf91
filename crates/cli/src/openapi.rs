//! The OpenAPI documents of the services, as they were when this program was built.

use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::error::Failure;
use crate::profile::Service;

/// The checked-in documents, in the order of [`Service::ALL`].
const TEXTS: [&str; 3] = [
    include_str!("../../../services/system/openapi.json"),
    include_str!("../../../services/logistics/openapi.json"),
    include_str!("../../../services/livestock/openapi.json"),
];
const METHODS: [Method; 5] = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
/// Members of a schema that assistants do not get: they are long, and the service validates the values anyway.
const LEFT_OUT: [&str; 4] = ["pattern", "example", "examples", "propertyNames"];

/// The OpenAPI document of a service.
pub struct Document {
    /// The service.
    pub service: Service,
    /// The document.
    pub root: Value,
}

/// An operation of a service.
pub struct Operation<'a> {
    /// The document.
    pub document: &'a Document,
    /// The method.
    pub method: Method,
    /// The path, with parameters in braces.
    pub path: &'a str,
    /// The object of the operation.
    pub definition: &'a Value,
}

/// Parses the documents.
pub fn documents() -> Result<Vec<Document>, Failure> {
    let parse = |(service, text): (&Service, &str)| match serde_json::from_str(text) {
        Ok(root) => Ok(Document { service: *service, root }),
        Err(error) => {
            Err(Failure::Local(format!("Cannot parse the OpenAPI document of {}: {error}.", service.name())))
        }
    };
    Service::ALL.iter().zip(TEXTS).map(parse).collect()
}

impl Document {
    /// Returns the operations, sorted by path.
    pub fn operations(&self) -> impl Iterator<Item = Operation<'_>> {
        let paths = self.root["paths"].as_object().into_iter().flatten();
        paths.flat_map(move |(path, item)| {
            METHODS.into_iter().filter_map(move |method| {
                let definition = item.get(method.as_str().to_lowercase())?;
                Some(Operation { document: self, method, path, definition })
            })
        })
    }

    /// Returns a schema that needs no other one: references are replaced, and `allOf` is merged.
    pub fn resolved(&self, schema: &Value) -> Value {
        let Some(object) = schema.as_object() else {
            return match schema {
                Value::Array(items) => items.iter().map(|item| self.resolved(item)).collect(),
                other => other.clone(),
            };
        };
        let mut merged = Map::new();
        if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix('#')) {
            let target = self.root.pointer(name).map(|target| self.resolved(target));
            merge(&mut merged, target.unwrap_or_default());
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            merge(&mut merged, self.resolved(part));
        }
        for (name, value) in object {
            let is_left_out = name.starts_with("x-") || LEFT_OUT.contains(&name.as_str());
            if name == "properties" {
                // The names in it are those of members, so none of them is left out.
                let members = value.as_object().into_iter().flatten();
                let members: Map<_, _> =
                    members.map(|(name, value)| (name.clone(), self.resolved(value))).collect();
                merge(&mut merged, json!({"properties": members}));
            } else if !is_left_out && name != "$ref" && name != "allOf" {
                merge(&mut merged, json!({name.clone(): self.resolved(value)}));
            }
        }
        merged.into()
    }
}

/// Adds the members of an object schema to another one.
fn merge(schema: &mut Map<String, Value>, other: Value) {
    let Value::Object(other) = other else { return };
    for (name, value) in other {
        match (schema.get_mut(&name), value) {
            (Some(Value::Object(old)), Value::Object(new)) if name == "properties" => old.extend(new),
            (Some(Value::Array(old)), Value::Array(new)) if name == "required" => old.extend(new),
            (_, value) => {
                schema.insert(name, value);
            }
        }
    }
}

impl<'a> Operation<'a> {
    /// The `operationId`, unique in its document.
    pub fn id(&self) -> &'a str {
        self.definition["operationId"].as_str().unwrap_or_default()
    }

    /// The title.
    pub fn summary(&self) -> &'a str {
        self.definition["summary"].as_str().unwrap_or_default()
    }

    /// The parameters in the path and the query, by name, in their order.
    pub fn parameters(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let all = self.definition["parameters"].as_array().into_iter().flatten();
        let sent = all.filter(|parameter| parameter["in"] != "header");
        sent.filter_map(|parameter| Some((parameter["name"].as_str()?, parameter)))
    }

    /// The media type of the body and its object.
    pub fn body(&self) -> Option<(&'a str, &'a Value)> {
        let content = self.definition["requestBody"]["content"].as_object()?;
        content.iter().next().map(|(media, body)| (media.as_str(), body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resolved_body_is_one_object_without_references() {
        let documents = documents().unwrap();
        let logistics = &documents[Service::Logistics as usize];
        let create =
            logistics.operations().find(|operation| operation.id() == "create_load_as_organiser").unwrap();
        let schema = logistics.resolved(&create.body().unwrap().1["schema"]);
        assert_eq!(schema["properties"]["weight"]["description"], "In tonnes.");
        assert!(schema["required"].as_array().unwrap().contains(&json!("reference")));
        assert!(schema["required"].as_array().unwrap().contains(&json!("organiserId")));
        let text = schema.to_string();
        assert!(!text.contains("$ref") && !text.contains("allOf") && !text.contains("\"pattern\""), "{text}");
    }
}
