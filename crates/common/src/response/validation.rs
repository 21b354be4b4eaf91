//! What is wrong with a request, field by field: the `validation` array of the error body.

use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::Error;

/// Why a field was refused (contract, section 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The field is missing.
    Required,
    /// The field is of another JSON type.
    Type,
    /// The text is not in the expected format.
    Format,
    /// The value is none of the allowed ones; `data.allowed`.
    Enum,
    /// The number is too small or too large; `data.minimum`, `data.maximum`.
    Range,
    /// The text or array is too short or too long; `data.minimum`, `data.maximum`.
    Length,
    /// The value names something that does not exist or that the caller may not use.
    UnknownReference,
    /// The value contradicts another field.
    Inconsistent,
    /// The file has a virus; `data.signature`.
    Infected,
}

/// One failed field.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct FieldError {
    /// The member as the client wrote it: `price.minPrice.amount`, `files[0].id`, a parameter's name.
    pub path: String,
    /// One sentence for a person.
    pub message: String,
    /// For a program.
    pub code: Code,
    /// What helps to mend it.
    #[schema(value_type = Object)]
    pub data: Map<String, Value>,
}

/// All failed fields of a request, one entry each.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ValidationErrors {
    entries: Vec<FieldError>,
    /// Members for the error's `body`.
    #[serde(skip)]
    pub(crate) body: Map<String, Value>,
}

impl ValidationErrors {
    /// One failed field, as an error.
    pub fn one(path: impl Into<String>, code: Code, message: impl Into<String>) -> Error {
        let mut errors = Self::default();
        errors.push(path, code, message);
        Error::Validation(errors)
    }

    /// Adds a failed field; the first entry for a field, or for what holds it, stands.
    pub fn push(&mut self, path: impl Into<String>, code: Code, message: impl Into<String>) {
        self.push_with(path, code, message, json!({}));
    }

    /// As [`ValidationErrors::push`], with what helps to mend it.
    pub fn push_with(
        &mut self,
        path: impl Into<String>,
        code: Code,
        message: impl Into<String>,
        data: Value,
    ) {
        let (path, message) = (path.into(), message.into());
        if self.failed(&path) {
            return;
        }
        let data = if let Value::Object(data) = data { data } else { Map::new() };
        self.entries.push(FieldError { path, message, code, data });
    }

    /// True when this field, or one that holds it, has an entry.
    pub fn failed(&self, path: &str) -> bool {
        self.entries.iter().any(|p| {
            path.strip_prefix(p.path.as_str()).is_some_and(|rest| {
                rest.is_empty() || p.path.is_empty() || rest.starts_with('.') || rest.starts_with('[')
            })
        })
    }

    /// Gives the entry of a field a better message.
    pub fn reword(&mut self, path: &str, code: Code, message: &str) {
        for field_error in self.entries.iter_mut().filter(|p| p.path == path && p.code == code) {
            message.clone_into(&mut field_error.message);
        }
    }

    /// Nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries, in the order found.
    pub fn iter(&self) -> impl Iterator<Item = &FieldError> {
        self.entries.iter()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// An error if anything is wrong.
    pub fn check(self) -> Result<(), Error> {
        if self.is_empty() { Ok(()) } else { Err(Error::Validation(self)) }
    }
}

/// Entries whose paths are known to differ from all others.
impl Extend<FieldError> for ValidationErrors {
    fn extend<I: IntoIterator<Item = FieldError>>(&mut self, entries: I) {
        self.entries.extend(entries);
    }
}

impl IntoIterator for ValidationErrors {
    type Item = FieldError;
    type IntoIter = std::vec::IntoIter<FieldError>;
    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_entry_for_each_field() {
        let mut errors = ValidationErrors::default();
        errors.push("files", Code::Type, "must be an array");
        errors.push("files[0].id", Code::Required, "is required");
        errors.push("filesystem", Code::Required, "is required");
        errors.push("files", Code::Length, "too many");
        let paths: Vec<_> = errors.iter().map(|p| p.path.as_str()).collect();
        assert_eq!(paths, ["files", "filesystem"]);
    }
}
