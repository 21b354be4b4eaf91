//! The parameters of saved searches: those of a listing search that select listings, with the rules of its query.

use std::sync::Arc;

use common::validation::{Code, ValidationErrors};
use common::{Format, QueryValidator};
use serde_json::{Map, Value, json};

use crate::categories::Categories;
use crate::listings::{ListingSearch, ListingSearchParams, Point};

/// Texts, or arrays of texts, by the names of parameters.
pub(crate) type Parameters = Map<String, Value>;

/// Parameters of the search that do not select listings. The request that reads the listings has some of them.
const NOT_STORED: [&str; 10] =
    ["limit", "offset", "cursor", "count", "sortBy", "sortDesc", "format", "bom", "docs", "clusterZoom"];
/// The parameter that names a point. The point is looked up when a search is saved.
pub(super) const NEAR: &str = "near";

/// The most texts of one parameter.
const MAX_TEXTS: usize = 50;
/// The most bytes of all parameters as JSON.
const MAX_BYTES: usize = 4 << 10;
/// The most values of all parameters of a search with `notify`, which is held in memory.
const MAX_NOTIFY_VALUES: usize = 50;

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

    /// Validates all parameters of a saved search together, as a request of the search does. The point that `near`
    /// names is not looked up.
    pub(crate) fn check_all(&self, parameters: &Parameters, errors: &mut ValidationErrors) {
        let (read, mut own) = self.read(parameters);
        read.parse(Format::Json, &self.categories, Some(Point { lat: 0.0, lon: 0.0 }), &mut own);
        push_all(own, PREFIX, errors);
    }

    /// Validates parameters one by one. `null` removes a parameter in a patch; otherwise it counts as absent.
    pub(crate) fn check_each(&self, parameters: &Parameters, errors: &mut ValidationErrors) {
        push_all(self.read(parameters).1, PREFIX, errors);
    }

    /// Refuses parameters that the search does not have.
    pub(crate) fn check_names(&self, parameters: &Parameters, errors: &mut ValidationErrors) {
        let stored = self.validator.names().into_iter().filter(|name| !NOT_STORED.contains(name));
        let stored: Vec<_> = stored.collect();
        let names = parameters.keys().map(String::as_str);
        let unknown = names.filter(|name| self.validator.canonical_name(name).is_none());
        self.validator.refuse_names(PREFIX, unknown, &stored, errors);
    }

    /// Refuses several texts for parameters of which the search takes one. Searches that an earlier release saved may
    /// have them.
    pub(crate) fn check_repeats(&self, parameters: &Parameters, errors: &mut ValidationErrors) {
        for (name, value) in self.normalized(parameters) {
            if value.as_array().is_some_and(|texts| texts.len() > 1) && !self.validator.takes_list(&name) {
                let message = "must be one text: the search takes one value";
                let path = format!("{PREFIX}{name}");
                errors.push_with(path, Code::Type, message, json!({ "type": "string" }));
            }
        }
    }

    /// Checks that the parameters of a search to store are within the limits.
    pub(crate) fn check_size(&self, parameters: &Parameters, notify: bool, errors: &mut ValidationErrors) {
        let too_long = |message: String, maximum: usize, errors: &mut ValidationErrors| {
            errors.push_with("parameters", Code::Length, message, json!({ "maximum": maximum }));
        };
        if json!(parameters).to_string().len() > MAX_BYTES {
            too_long(format!("must have at most {MAX_BYTES} bytes as JSON"), MAX_BYTES, errors);
        }
        let values = pairs(parameters).map(|(name, text)| {
            let is_list = self.validator.takes_list(name);
            if is_list { text.split(',').filter(|value| !value.trim().is_empty()).count() } else { 1 }
        });
        if notify && values.sum::<usize>() > MAX_NOTIFY_VALUES {
            let message = format!("must have at most {MAX_NOTIFY_VALUES} values in all with notify");
            too_long(message, MAX_NOTIFY_VALUES, errors);
        }
    }

    /// Returns the parameters under their canonical names, without unknown ones. The texts of a parameter with several
    /// names are those of an array.
    fn normalized(&self, parameters: &Parameters) -> Parameters {
        let mut normalized = Parameters::new();
        for (name, value) in parameters {
            let Some(name) = self.validator.canonical_name(name) else { continue };
            match normalized.get_mut(name) {
                None => _ = normalized.insert(name.to_owned(), value.clone()),
                Some(present) => {
                    let entries = |value: &Value| value.as_array().cloned().unwrap_or(vec![value.clone()]);
                    *present = [entries(present), entries(value)].concat().into();
                }
            }
        }
        normalized
    }

    /// Reads parameters and validates each.
    fn read(&self, parameters: &Parameters) -> (ListingSearchParams, ValidationErrors) {
        let parameters = self.normalized(parameters);
        let mut errors = check_texts(&parameters);
        let (read, invalid) = self.validator.check(pairs(&parameters));
        push_all(invalid, "", &mut errors);
        (read, errors)
    }

    /// Applies a merge patch of valid parameters: `null` and blank texts remove a parameter.
    pub(crate) fn merge(&self, patch: &Parameters, into: &mut Parameters) {
        for (name, value) in self.normalized(patch) {
            if is_blank(&value) {
                into.remove(&name);
            } else {
                into.insert(name, value);
            }
        }
    }

    /// Returns the search of valid parameters, with parameters of the request that reads the listings. `near` is the
    /// point that the parameter of that name names.
    ///
    /// # Errors
    /// If a parameter is invalid: one of the request, or a stored one that another version of the service accepted.
    pub(crate) fn search(
        &self,
        parameters: &Parameters,
        near: Option<Point>,
        of_request: &[(&str, String)],
    ) -> Result<ListingSearch, ValidationErrors> {
        let of_request = of_request.iter().map(|(name, text)| (*name, text.as_str()));
        let (read, mut errors) = self.validator.check(pairs(parameters).chain(of_request));
        let search = read.parse(Format::Json, &self.categories, near, &mut errors);
        errors.check()?;
        Ok(search)
    }
}

/// Checks what a query cannot have: values of other types, and parameters that are not stored.
fn check_texts(parameters: &Parameters) -> ValidationErrors {
    let mut errors = ValidationErrors::default();
    for (name, value) in parameters {
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

/// The path of the parameters in a request.
pub(super) const PREFIX: &str = "parameters.";

/// Adds errors with a prefix of their paths.
fn push_all(from: ValidationErrors, prefix: &str, to: &mut ValidationErrors) {
    for error in from {
        to.push_with(format!("{prefix}{}", error.path), error.code, error.message, Value::Object(error.data));
    }
}

/// Returns the texts of a parameter.
pub(super) fn texts(value: &Value) -> impl DoubleEndedIterator<Item = &str> {
    let one = value.as_str();
    let several = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    one.into_iter().chain(several)
}

/// Returns whether a parameter counts as absent, and in a patch is removed: `null` and blank texts.
fn is_blank(value: &Value) -> bool {
    texts(value).all(|text| text.trim().is_empty())
}

/// Returns the text of the parameter `near`, if it is to be looked up.
pub(super) fn near(parameters: &Parameters) -> Option<&str> {
    let is_given = |name| parameters.get(name).is_some_and(|value| !is_blank(value));
    if is_given("latitude") || is_given("longitude") {
        return None;
    }
    texts(parameters.get(NEAR)?).next_back().filter(|text| !text.trim().is_empty())
}

/// Returns the parameters as names and texts of a query.
fn pairs(parameters: &Parameters) -> impl Iterator<Item = (&str, &str)> {
    let all = parameters.iter().filter(|(name, _)| !NOT_STORED.contains(&name.as_str()));
    all.flat_map(|(name, value)| texts(value).map(move |text| (name.as_str(), text)))
}
