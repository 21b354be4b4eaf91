//! Schemas of texts that have few values.

use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

/// Returns the schema of a text that is one of these values, for parameters with `schema_with`.
pub fn text_choice(values: &[&str]) -> Object {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(values.iter().copied())).build()
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
}
