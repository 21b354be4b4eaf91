//! What is wrong with a file as a whole, so that its rows cannot be read, or not to the end.

use std::io::ErrorKind;

use common::Error;
use common::validation::{Code, ValidationErrors};
use serde_json::{Map, Value, json};

#[derive(Debug)]
pub enum TableError {
    /// Damaged, cut off, not UTF-8: 400 `malformed_body`.
    Unreadable(String, Option<u64>),
    /// No table that is taken: an entry at `file`.
    Refused { code: Code, message: String, data: Map<String, Value> },
    /// It unpacks to more than so many bytes: 413.
    TooLarge(usize),
    /// The disk: 503.
    Disk(std::io::Error),
}

impl TableError {
    pub fn unreadable(why: &str, line: Option<u64>) -> Self {
        Self::Unreadable(why.to_owned(), line)
    }

    pub fn refused(code: Code, message: impl Into<String>) -> Self {
        Self::Refused { code, message: message.into(), data: Map::new() }
    }

    /// More of something than is taken.
    pub fn too_many(what: &str, maximum: usize) -> Self {
        let message = format!("must have at most {maximum} {what}");
        Self::refused(Code::Length, message).with("maximum", maximum)
    }

    /// With something that helps to mend it.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        if let Self::Refused { data, .. } = &mut self {
            data.insert(name.to_owned(), value.into());
        }
        self
    }

    /// As the answer to the request; `file` is its name if there are several.
    pub fn into_error(self, file: Option<&str>) -> Error {
        let file = file.map(|name| ("file", name));
        match self {
            Self::Unreadable(why, line) => {
                let file = file.map(|(_, name)| format!(" {name:?}")).unwrap_or_default();
                let line = line.map(|line| format!(", line {line},")).unwrap_or_default();
                Error::MalformedBody(format!("the file{file}{line} {why}"))
            }
            Self::Refused { code, message, data } => {
                let mut data = json!(data);
                if let Some((member, name)) = file {
                    data[member] = json!(name);
                }
                let mut errors = ValidationErrors::default();
                errors.push_with("file", code, message, data);
                Error::Validation(errors)
            }
            Self::TooLarge(limit) => Error::PayloadTooLarge(limit),
            Self::Disk(error) => Error::Unavailable(error.into(), "The temporary folder"),
        }
    }
}

impl From<std::io::Error> for TableError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::InvalidInput | ErrorKind::InvalidData => {
                Self::unreadable("is damaged or cut off", None)
            }
            _ => Self::Disk(error),
        }
    }
}
