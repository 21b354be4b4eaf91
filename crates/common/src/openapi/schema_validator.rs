//! Validation by a type's JSON Schema for values that come by other ways than a JSON body, such as rows of a table.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::validator::Schema;
use crate::response::validation::{Code, ValidationErrors};

/// The compiled schema of a type.
pub struct SchemaValidator<T>(Schema, PhantomData<fn() -> T>);

impl<T: ToSchema + DeserializeOwned + Default> SchemaValidator<T> {
    /// Compiles the schema.
    ///
    /// # Errors
    /// If the type has no schema that compiles, which is a mistake in the type.
    pub fn new() -> anyhow::Result<Self> {
        let (mut schemas, mut components) = (Vec::new(), json!({ "schemas": {} }));
        T::schemas(&mut schemas);
        for (name, schema) in schemas {
            components["schemas"][name] = serde_json::to_value(schema)?;
        }
        Ok(Self(Schema::new(&serde_json::to_value(T::schema())?, &components)?, PhantomData))
    }

    /// The value, with defaults for members that failed, and what is wrong with them.
    pub fn check(&self, mut value: Value) -> (T, ValidationErrors) {
        let mut errors = self.0.check(&mut value);
        let value = serde_json::from_value(value).unwrap_or_else(|error| {
            // The schema leaves nothing that the type cannot hold, unless it found too much to take it all out.
            if errors.is_empty() {
                errors.push("", Code::Type, error.to_string());
            }
            T::default()
        });
        (value, errors)
    }

    /// The value; nothing if anything is wrong with it. Takes far less time than [`SchemaValidator::check`] for a value that fails.
    pub fn valid(&self, mut value: Value) -> Option<T> {
        if self.0.is_valid(&mut value) { serde_json::from_value(value).ok() } else { None }
    }
}
