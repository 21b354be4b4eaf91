//! Validation by a published JSON Schema. All invalid fields are reported at once.

mod errors;
mod normalize;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;

use database::Timestamp;
use jsonschema::{Draft, Validator};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::response::validation::{Code, ValidationErrors};
use normalize::{Blanks, lift_text_forms, normalize_blanks};

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
        errors::remove_failed(value, &failures);
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

/// Returns the components that a schema refers to, directly or not. Each compiled schema has its own copies of these;
/// copies of all components would take several MB.
fn referenced_components(schema: &Value, components: &Value) -> Map<String, Value> {
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
fn resolve<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let pointer = schema["$ref"].as_str().and_then(|target| target.strip_prefix('#'));
    pointer.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

/// Returns true if the member at this pointer is a date or a date-time.
fn is_date(pointer: &[String], root: &Value) -> bool {
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
fn branches(schema: &Value) -> impl Iterator<Item = &Value> {
    ["allOf", "oneOf", "anyOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten()
}

/// The compiled schema of a type, for values that are not JSON bodies, such as rows of a batch.
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
