//! The parameters of saved searches: those of a listing search that select listings, with the rules of its query.

use std::sync::Arc;

use common::validation::{Code, ValidationErrors};
use common::{Format, QueryValidator, UnknownParameters};
use serde_json::{Map, Value, json};

use crate::categories::Categories;
use crate::listings::{ListingSearch, ListingSearchParams};

/// Texts, or arrays of texts, by the names of parameters.
pub(crate) type Parameters = Map<String, Value>;

/// Parameters of the search that do not select listings. The request that reads the listings has some of them.
const NOT_STORED: [&str; 9] =
    ["limit", "offset", "cursor", "count", "sortBy", "sortDesc", "format", "bom", "docs"];

/// The most texts of one parameter.
const MAX_TEXTS: usize = 50;

/// The rules on the parameters of saved searches.
pub(crate) struct ParameterRules {
    validator: QueryValidator<ListingSearchParams>,
    categories: Arc<Categories>,
}

impl ParameterRules {
    /// Compiles the rules.
    ///
    /// # Errors
    /// If the description of the search is invalid, which is a defect of it.
    pub(crate) fn new(categories: Arc<Categories>) -> anyhow::Result<Self> {
        Ok(Self { validator: QueryValidator::new(ListingSearchParams::descriptions())?, categories })
    }

    /// Returns true if a saved search can have the parameter.
    fn is_stored(&self, name: &str) -> bool {
        self.validator.knows(name) && !NOT_STORED.contains(&name)
    }

    /// Validates all parameters of a saved search together, as a request of the search does.
    pub(crate) fn check_all(&self, parameters: &Parameters, errors: &mut ValidationErrors) {
        let (read, mut own) = self.read(parameters);
        read.parse(Format::Json, &self.categories, &mut own);
        push_all(own, PREFIX, errors);
    }

    /// Validates parameters one by one. `null` removes a parameter in a patch; otherwise it counts as absent.
    pub(crate) fn check_each(&self, parameters: &Parameters, errors: &mut ValidationErrors) {
        push_all(self.read(parameters).1, PREFIX, errors);
    }

    /// Adds errors for parameters that the search does not have, if the service refuses them: for the first 20.
    pub(crate) fn check_unknown(
        &self,
        parameters: &Parameters,
        unknown: UnknownParameters,
        errors: &mut ValidationErrors,
    ) {
        let stored = self.validator.names().into_iter().filter(|name| !NOT_STORED.contains(name));
        let stored: Vec<_> = stored.collect();
        unknown.check(PREFIX, &self.unknown_names(parameters), &stored, errors);
    }

    /// Reads parameters and validates each.
    fn read(&self, parameters: &Parameters) -> (ListingSearchParams, ValidationErrors) {
        let mut errors = self.check_texts(parameters);
        let (read, invalid) = self.validator.check(pairs(parameters));
        push_all(invalid, "", &mut errors);
        (read, errors)
    }

    /// Checks what a query cannot have: values of other types, and parameters that are not stored.
    fn check_texts(&self, parameters: &Parameters) -> ValidationErrors {
        let mut errors = ValidationErrors::default();
        for (name, value) in parameters.iter().filter(|(name, _)| self.validator.knows(name)) {
            let type_error = |path: String, errors: &mut ValidationErrors| {
                let message = "must be a text or an array of texts";
                errors.push_with(path, Code::Type, message, json!({ "type": "string" }));
            };
            match value {
                _ if NOT_STORED.contains(&name.as_str()) => {
                    let message = "is not stored: it belongs to the request that reads the listings";
                    errors.push(name, Code::Inconsistent, message);
                }
                Value::Null | Value::String(_) => {}
                Value::Array(texts) if texts.len() > MAX_TEXTS => {
                    let message = format!("must have at most {MAX_TEXTS} entries");
                    errors.push_with(name, Code::Length, message, json!({ "maximum": MAX_TEXTS }));
                }
                Value::Array(texts) => {
                    for (i, _) in texts.iter().enumerate().filter(|(_, text)| !text.is_string()) {
                        type_error(format!("{name}[{i}]"), &mut errors);
                    }
                }
                _ => type_error(name.clone(), &mut errors),
            }
        }
        errors
    }

    /// Returns the names that the search does not have.
    pub(crate) fn unknown_names(&self, parameters: &Parameters) -> Vec<String> {
        parameters.keys().filter(|name| !self.validator.knows(name)).cloned().collect()
    }

    /// Applies a merge patch of valid parameters: `null` and blank texts remove a parameter. Unknown ones are ignored.
    pub(crate) fn merge(&self, patch: &Parameters, into: &mut Parameters) {
        for (name, value) in patch.iter().filter(|(name, _)| self.is_stored(name)) {
            if texts(value).all(|text| text.trim().is_empty()) {
                into.remove(name);
            } else {
                into.insert(name.clone(), value.clone());
            }
        }
    }

    /// Returns the search of valid parameters, with parameters of the request that reads the listings.
    ///
    /// # Errors
    /// If a parameter is invalid: one of the request, or a stored one that another version of the service accepted.
    pub(crate) fn search(
        &self,
        parameters: &Parameters,
        of_request: &[(&str, String)],
    ) -> Result<ListingSearch, ValidationErrors> {
        let of_request = of_request.iter().map(|(name, text)| (*name, text.as_str()));
        let (read, mut errors) = self.validator.check(pairs(parameters).chain(of_request));
        let search = read.parse(Format::Json, &self.categories, &mut errors);
        errors.check()?;
        Ok(search)
    }
}

/// The path of the parameters in a request.
const PREFIX: &str = "parameters.";

/// Adds errors with a prefix of their paths.
fn push_all(from: ValidationErrors, prefix: &str, to: &mut ValidationErrors) {
    for error in from {
        to.push_with(format!("{prefix}{}", error.path), error.code, error.message, Value::Object(error.data));
    }
}

/// Returns the texts of a parameter.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let one = value.as_str();
    let several = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    one.into_iter().chain(several)
}

/// Returns the parameters as names and texts of a query.
fn pairs(parameters: &Parameters) -> impl Iterator<Item = (&str, &str)> {
    let all = parameters.iter().filter(|(name, _)| !NOT_STORED.contains(&name.as_str()));
    all.flat_map(|(name, value)| texts(value).map(move |text| (name.as_str(), text)))
}
