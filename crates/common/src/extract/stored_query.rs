//! Query parameters that come from a body or from the database, validated like those of a request.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use utoipa::openapi::path::Parameter;

use super::query::{has_type, pairs_to_json};
use crate::openapi::unknown_parameters::{MAX_REPORTED, UNKNOWN_MESSAGE};
use crate::openapi::validator::Schema;
use crate::openapi::{add_text_schemas, parameters_schema};
use crate::response::validation::{Code, ValidationErrors};

/// The compiled schemas of the query parameters that `T` is read from.
pub struct QueryValidator<T>(Schema, PhantomData<fn() -> T>);

impl<T: DeserializeOwned + Default> QueryValidator<T> {
    /// Compiles the schemas of parameters, as `utoipa::IntoParams` returns them.
    ///
    /// # Errors
    /// Fails if a schema is invalid, which is a defect of the parameters.
    pub fn new(parameters: Vec<Parameter>) -> anyhow::Result<Self> {
        let mut document = json!({ "paths": parameters, "components": { "schemas": {} } });
        add_text_schemas(&mut document)?;
        let schema = parameters_schema(&json!({ "parameters": document["paths"] }));
        Ok(Self(Schema::new(&schema.unwrap_or_default(), &document["components"])?, PhantomData))
    }

    /// Returns the name of the parameter that a name means: `name[]` means `name` if the parameter may be repeated, as
    /// libraries name arrays. `None` if there is no such parameter.
    pub fn canonical_name<'a>(&self, name: &'a str) -> Option<&'a str> {
        let repeatable = || name.strip_suffix("[]").filter(|name| self.takes_list(name));
        if self.0.property(name).is_some() { Some(name) } else { repeatable() }
    }

    /// Returns true if a parameter may be repeated, and has several values separated by commas.
    pub fn takes_list(&self, name: &str) -> bool {
        self.0.property(name).is_some_and(|schema| has_type(schema, "array"))
    }

    /// Adds an error for each of the first 20 names: no parameter has these names. The paths of the errors are the
    /// names after `prefix`. `allowed` are the names that the client may use.
    pub fn refuse_names<'a>(
        &self,
        prefix: &str,
        names: impl Iterator<Item = &'a str>,
        allowed: &[&str],
        errors: &mut ValidationErrors,
    ) {
        for name in names.take(MAX_REPORTED) {
            let path = format!("{prefix}{name}");
            errors.push_with(path, Code::Enum, UNKNOWN_MESSAGE, json!({ "allowed": allowed }));
        }
    }

    /// Returns the names of the parameters.
    pub fn names(&self) -> Vec<&str> {
        self.0.property_names()
    }

    /// Validates names and texts as those of a query, which may repeat a name. Ignores unknown names. Parameters that
    /// the schema refuses have their default value.
    pub fn check<'a>(&self, pairs: impl Iterator<Item = (&'a str, &'a str)>) -> (T, ValidationErrors) {
        let pairs = pairs.map(|(name, text)| (Cow::Borrowed(name), Cow::Borrowed(text)));
        let mut value = Value::Object(pairs_to_json(pairs, &self.0));
        let mut errors = self.0.check(&mut value);
        let value = serde_json::from_value(value).unwrap_or_else(|error| {
            // `Schema::check` removes what the type cannot represent, unless there are too many errors.
            if errors.is_empty() {
                errors.push("", Code::Type, error.to_string());
            }
            T::default()
        });
        (value, errors)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use utoipa::IntoParams;
    use utoipa::openapi::path::ParameterIn;

    use super::*;
    use crate::PageParams;
    use crate::wire::QueryText;

    #[derive(Debug, Default, Deserialize, IntoParams)]
    #[serde(default)]
    struct Animals {
        #[serde(flatten)]
        #[param(ignore)]
        page: PageParams,
        #[param(max_items = 2)]
        breeds: Vec<QueryText>,
        #[param(minimum = 0)]
        age: Option<f64>,
    }

    fn animals() -> QueryValidator<Animals> {
        let parameters = || Some(ParameterIn::Query);
        let all = [PageParams::into_params(parameters), Animals::into_params(parameters)].concat();
        QueryValidator::new(all).unwrap()
    }

    #[test]
    fn a_limited_number_of_unknown_parameters_is_refused() {
        let names: Vec<_> = (0..100_000).map(|n| format!("a{n}")).collect();
        let mut errors = ValidationErrors::default();
        let names = names.iter().map(String::as_str);
        animals().refuse_names("parameters.", names, &["b"], &mut errors);
        assert_eq!(errors.len(), 20);
        let first = errors.iter().next().map(|error| (error.path.as_str(), error.code));
        assert_eq!(first, Some(("parameters.a0", Code::Enum)));
    }

    #[test]
    fn brackets_name_parameters_that_may_be_repeated() {
        let validator = animals();
        for (name, means) in [
            ("breeds", Some("breeds")),
            ("breeds[]", Some("breeds")),
            ("breeds[][]", None),
            ("age[]", None),
            ("other", None),
            ("[]", None),
        ] {
            assert_eq!(validator.canonical_name(name), means, "{name}");
        }
    }

    #[test]
    fn texts_are_read_as_those_of_a_query() {
        let validator = animals();
        let pairs = [("breeds", "a, b"), ("age", "1"), ("age", " 2.5 "), ("count", "true"), ("other", "x")];
        let (read, errors) = validator.check(pairs.into_iter());
        assert!(errors.is_empty() && read.page.count, "{errors:?}");
        assert_eq!(read.breeds.iter().map(|breed| &**breed).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(read.age, Some(2.5));
        let (_, errors) = validator.check([("breeds", "a,b,c"), ("age", "-1"), ("limit", "x")].into_iter());
        let mut found: Vec<_> = errors.iter().map(|error| (error.path.as_str(), error.code)).collect();
        found.sort_by_key(|(path, _)| *path);
        assert_eq!(found, [("age", Code::Range), ("breeds", Code::Length), ("limit", Code::Type)]);
    }
}
