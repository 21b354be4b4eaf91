//! Validation by the JSON Schema of a type, for values that are not JSON bodies, such as rows of a batch.

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
    /// Fails if the schema is invalid, which is a defect of the type.
    pub fn new() -> anyhow::Result<Self> {
        let (mut schemas, mut components) = (Vec::new(), json!({ "schemas": {} }));
        T::schemas(&mut schemas);
        for (name, schema) in schemas {
            components["schemas"][name] = serde_json::to_value(schema)?;
        }
        Ok(Self(Schema::new(&serde_json::to_value(T::schema())?, &components)?, PhantomData))
    }

    /// Normalizes and validates a value. Returns it with the default value for each invalid member, and the errors.
    pub fn check(&self, mut value: Value) -> (T, ValidationErrors) {
        let errors = self.0.check(&mut value);
        Self::parse(value, errors)
    }

    /// Normalizes and validates the result of a merge patch as [`SchemaValidator::check`] does. A blank text removes
    /// only texts.
    pub fn check_patched(&self, mut value: Value) -> (T, ValidationErrors) {
        let errors = self.0.check_patch(&mut value);
        Self::parse(value, errors)
    }

    fn parse(value: Value, mut errors: ValidationErrors) -> (T, ValidationErrors) {
        let value = serde_json::from_value(value).unwrap_or_else(|error| {
            // `Schema::check` removes what the type cannot represent, unless there are too many errors.
            if errors.is_empty() {
                errors.push("", Code::Type, error.to_string());
            }
            T::default()
        });
        (value, errors)
    }

    /// Normalizes a value and returns it if it is valid. Much faster than [`SchemaValidator::check`] for an invalid
    /// value.
    pub fn valid(&self, mut value: Value) -> Option<T> {
        if self.0.is_valid(&mut value) { serde_json::from_value(value).ok() } else { None }
    }
}
