//! Validation by a published JSON Schema. All invalid fields are reported at once.

mod errors;
mod normalize;
mod prune;
mod references;
#[cfg(test)]
mod tests;

use database::Timestamp;
use jsonschema::{Draft, Validator};
use serde_json::{Value, json};

use crate::response::validation::{Code, ValidationErrors};
use normalize::{Blanks, lift_text_forms, normalize_blanks};
use references::{is_date, referenced_components, resolve};

/// Maximum number of validation entries. Each entry is compared with the others.
const MAX_ERRORS: usize = 1000;

/// Maximum number of entries of an array whose schema states no limit. An invalid entry takes far more memory than its
/// byte in the body.
const MAX_ITEMS: u64 = 10_000;

/// A compiled schema and its source.
pub(crate) struct Schema {
    validator: Validator,
    root: Value,
}

impl Schema {
    /// Compiles a schema of the OpenAPI document whose components are `components`.
    ///
    /// # Errors
    /// Fails if the schema is invalid, which is a defect of the document.
    pub(crate) fn new(schema: &Value, components: &Value) -> anyhow::Result<Self> {
        let mut root = schema.clone();
        root["components"] = json!({ "schemas": referenced_components(schema, &components["schemas"]) });
        limit_arrays(&mut root);
        let source = root.clone();
        lift_text_forms(&mut root, &source);
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .should_validate_formats(true)
            .should_ignore_unknown_formats(true)
            // Dates are parsed by the same function everywhere.
            .with_format("date", |text: &str| text.len() == 10 && Timestamp::parse(text).is_some())
            .with_format("date-time", |text: &str| text.len() != 10 && Timestamp::parse(text).is_some())
            .offline()
            .build(&root)
            .map_err(|e| anyhow::anyhow!("a schema of the OpenAPI document does not compile: {e}"))?;
        Ok(Self { validator, root })
    }

    /// Normalizes a value and returns whether it is valid. Much faster than [`Schema::check`] for an invalid value.
    pub(crate) fn is_valid(&self, value: &mut Value) -> bool {
        self.normalize_and_validate(value, Blanks::All)
    }

    /// Normalizes and validates a value. Removes the invalid members, so that further rules can check the valid ones.
    pub(crate) fn check(&self, value: &mut Value) -> ValidationErrors {
        self.check_with(value, Blanks::All)
    }

    /// Normalizes and validates a merge patch as [`Schema::check`] does. A blank text removes only texts.
    pub(crate) fn check_patch(&self, patch: &mut Value) -> ValidationErrors {
        self.check_with(patch, Blanks::Texts)
    }

    fn normalize_and_validate(&self, value: &mut Value, blanks: Blanks) -> bool {
        normalize_blanks(value, &self.root, &self.root, blanks);
        self.validator.is_valid(value)
    }

    fn check_with(&self, value: &mut Value, blanks: Blanks) -> ValidationErrors {
        let mut errors = ValidationErrors::default();
        // Most values are valid, which is faster to determine than a list of errors.
        if self.normalize_and_validate(value, blanks) {
            return errors;
        }
        let schema_errors = self.validator.iter_errors(value).take(MAX_ERRORS);
        let mut failures: Vec<_> = schema_errors.flat_map(|error| errors::failures(&error)).collect();
        for failure in failures.iter_mut().filter(|failure| failure.code == Code::Type) {
            if is_date(&failure.pointer, &self.root) {
                errors::DATE_MESSAGE.clone_into(&mut failure.message);
            }
        }
        for failure in &failures {
            errors.push_with(failure.path(), failure.code, failure.message.as_str(), failure.data.clone());
        }
        prune::remove_failed(value, &failures);
        errors
    }

    /// Returns the names of the members of the root object.
    pub(crate) fn property_names(&self) -> Vec<&str> {
        self.root["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect()
    }

    /// Returns the name and the schema of a query parameter. Some libraries write `name[]` for the values of a
    /// parameter that can be repeated.
    pub(crate) fn parameter<'a>(&'a self, name: &'a str) -> Option<(&'a str, &'a Value)> {
        let of_array = || {
            let name = name.strip_suffix("[]")?;
            Some((name, self.property(name).filter(|schema| is_array_type(&schema["type"]))?))
        };
        self.property(name).map(|schema| (name, schema)).or_else(of_array)
    }

    /// Returns the schema of a member of the root object.
    pub(crate) fn property(&self, name: &str) -> Option<&Value> {
        self.root["properties"].get(name).map(|schema| resolve(schema, &self.root))
    }
}

/// Adds `maxItems` to the schema of each array that states none.
fn limit_arrays(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.get("type").is_some_and(is_array_type) {
                members.entry("maxItems").or_insert(json!(MAX_ITEMS));
            }
            members.values_mut().for_each(limit_arrays);
        }
        Value::Array(items) => items.iter_mut().for_each(limit_arrays),
        _ => {}
    }
}

fn is_array_type(types: &Value) -> bool {
    types == "array" || types.as_array().is_some_and(|types| types.iter().any(|name| name == "array"))
}
