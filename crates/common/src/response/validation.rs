//! Invalid fields of a request: the `validation` array of the error body (docs/api/errors.md, "Validation entries").

use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// Why a field is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The field is missing.
    Required,
    /// The field has the wrong JSON type; `data.type`.
    Type,
    /// The text is not in the expected format.
    Format,
    /// The value is not one of the allowed ones; `data.allowed`.
    Enum,
    /// The number is too small or too large; `data.minimum`, `data.maximum`.
    Range,
    /// The text or array is too short or too long; `data.minimum`, `data.maximum`.
    Length,
    /// The value names something that does not exist or that the caller may not use.
    UnknownReference,
    /// The value contradicts another field.
    Inconsistent,
    /// The virus scanner refused the file; `data.signature`.
    Infected,
    /// The caller may not use the value; `data.reason`. Only with 403.
    Forbidden,
}

impl From<tables::Fault> for Code {
    fn from(fault: tables::Fault) -> Self {
        match fault {
            tables::Fault::Type => Self::Type,
            tables::Fault::Format => Self::Format,
            tables::Fault::Length => Self::Length,
        }
    }
}

/// An invalid field.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct FieldError {
    /// The field as the client wrote it: `price.minPrice.amount`, `files[0].id`, the name of a parameter or header.
    pub path: String,
    /// One sentence for a person.
    pub message: String,
    /// For a program.
    pub code: Code,
    /// Details, such as the limit that the value exceeds.
    #[schema(value_type = Object)]
    pub data: Map<String, Value>,
}

/// The invalid fields of a request, one entry each.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ValidationErrors {
    entries: Vec<FieldError>,
    /// Members for the error's `body`.
    #[serde(skip)]
    pub(crate) body: Map<String, Value>,
}

impl ValidationErrors {
    /// Creates a list of one invalid field.
    pub fn one(path: impl Into<String>, code: Code, message: impl Into<String>) -> Self {
        Self::one_with(path, code, message, json!({}))
    }

    /// Creates a list of one invalid field with `data`, a JSON object.
    pub(crate) fn one_with(
        path: impl Into<String>,
        code: Code,
        message: impl Into<String>,
        data: Value,
    ) -> Self {
        let mut errors = Self::default();
        errors.push_with(path, code, message, data);
        errors
    }

    /// Adds an invalid field, unless the field or an object or array that contains it has an entry already.
    pub fn push(&mut self, path: impl Into<String>, code: Code, message: impl Into<String>) {
        self.push_with(path, code, message, json!({}));
    }

    /// Adds an invalid field as [`ValidationErrors::push`] does, with `data`, a JSON object.
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

    /// Returns true if this field, or an object or array that contains it, has an entry.
    pub fn failed(&self, path: &str) -> bool {
        self.entries.iter().any(|entry| {
            path.strip_prefix(entry.path.as_str()).is_some_and(|rest| {
                rest.is_empty() || entry.path.is_empty() || rest.starts_with('.') || rest.starts_with('[')
            })
        })
    }

    /// Names a list instead of its items, each once.
    pub(crate) fn without_indices(&mut self) {
        for entry in std::mem::take(&mut self.entries) {
            let path = entry.path.split('[').next().unwrap_or_default();
            if !self.failed(path) {
                self.entries.push(FieldError { path: path.to_owned(), ..entry });
            }
        }
    }

    /// Replaces the message of the entry with this path and code, if there is one.
    pub fn reword(&mut self, path: &str, code: Code, message: &str) {
        for field_error in self.entries.iter_mut().filter(|entry| entry.path == path && entry.code == code) {
            message.clone_into(&mut field_error.message);
        }
    }

    /// Returns true if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Iterates over the entries in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &FieldError> {
        self.entries.iter()
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `Ok` if there are no entries.
    ///
    /// # Errors
    /// Returns the list itself if it has entries.
    pub fn check(self) -> Result<(), Self> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }
}

/// Adds entries without comparing their paths: the caller ensures that they differ from all others.
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
    fn keeps_one_entry_per_field() {
        let mut errors = ValidationErrors::default();
        errors.push("files", Code::Type, "must be an array");
        errors.push("files[0].id", Code::Required, "is required");
        errors.push("filesystem", Code::Required, "is required");
        errors.push("files", Code::Length, "too many");
        let paths: Vec<_> = errors.iter().map(|entry| entry.path.as_str()).collect();
        assert_eq!(paths, ["files", "filesystem"]);
    }
}
