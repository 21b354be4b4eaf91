//! Query parameters that come from a body or from the database, validated like those of a request.

use std::borrow::Cow;
use std::future::{Ready, ready};
use std::marker::PhantomData;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use utoipa::openapi::path::Parameter;

use super::query::pairs_to_json;
use crate::openapi::unknown_parameters::{self, MAX_REPORTED, UNKNOWN_MESSAGE};
use crate::openapi::validator::Schema;
use crate::openapi::{add_text_schemas, parameters_schema};
use crate::response::validation::{Code, ValidationErrors};
use crate::{Error, JsonResponse};

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

    /// Returns true if there is a parameter with this name.
    pub fn knows(&self, name: &str) -> bool {
        self.0.property(name).is_some()
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

/// What the service does with unknown query parameters, for a body that contains query parameters: ignores and names
/// them, or refuses them (docs/api/conventions.md, "JSON").
#[derive(Clone, Copy, Debug)]
pub struct UnknownParameters {
    is_strict: bool,
}

impl UnknownParameters {
    /// Adds errors for unknown parameters if the service refuses them: for the first 20, because a body may have very
    /// many. The paths of the errors are the names after `prefix`.
    pub fn check(&self, prefix: &str, names: &[String], allowed: &[&str], errors: &mut ValidationErrors) {
        for name in names.iter().take(MAX_REPORTED).filter(|_| self.is_strict) {
            let path = format!("{prefix}{name}");
            errors.push_with(path, Code::Enum, UNKNOWN_MESSAGE, json!({ "allowed": allowed }));
        }
    }

    /// Names unknown parameters in a response.
    #[must_use]
    pub fn name_in(response: JsonResponse, names: &[String]) -> JsonResponse {
        if names.is_empty() {
            return response;
        }
        response.header("X-Unknown-Parameters", unknown_parameters::encode_names(names))
    }
}

impl FromRequest for UnknownParameters {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self { is_strict: unknown_parameters::is_strict(request) }))
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

    #[test]
    fn a_limited_number_of_unknown_parameters_is_refused() {
        let names: Vec<_> = (0..100_000).map(|n| format!("a{n}")).collect();
        for (is_strict, expected) in [(true, 20), (false, 0)] {
            let mut errors = ValidationErrors::default();
            UnknownParameters { is_strict }.check("parameters.", &names, &["b"], &mut errors);
            assert_eq!(errors.len(), expected);
            let first = errors.iter().next().map(|error| (error.path.as_str(), error.code));
            assert_eq!(first, is_strict.then_some(("parameters.a0", Code::Enum)));
        }
    }

    #[test]
    fn texts_are_read_as_those_of_a_query() {
        let parameters = || Some(ParameterIn::Query);
        let all = [PageParams::into_params(parameters), Animals::into_params(parameters)].concat();
        let validator = QueryValidator::<Animals>::new(all).unwrap();
        let pairs = [("breeds", "a, b"), ("age", "1"), ("age", " 2.5 "), ("count", "true"), ("other", "x")];
        let (read, errors) = validator.check(pairs.into_iter());
        assert!(errors.is_empty() && read.page.count, "{errors:?}");
        assert_eq!(read.breeds.iter().map(|breed| &**breed).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(read.age, Some(2.5));
        assert!(validator.knows("limit") && !validator.knows("other"));
        let (_, errors) = validator.check([("breeds", "a,b,c"), ("age", "-1"), ("limit", "x")].into_iter());
        let mut found: Vec<_> = errors.iter().map(|error| (error.path.as_str(), error.code)).collect();
        found.sort_by_key(|(path, _)| *path);
        assert_eq!(found, [("age", Code::Range), ("breeds", Code::Length), ("limit", Code::Type)]);
    }
}
