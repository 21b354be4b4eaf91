//! Errors of a whole file.

use std::io::{self, ErrorKind};

use common::Error;
use common::validation::{Code, ValidationErrors};
use serde_json::{Map, Value, json};

use crate::loads::batch::disk::disk_error;

/// Why a file cannot be read, or not to its end.
#[derive(Debug)]
pub(crate) enum TableError {
    /// The file is damaged, truncated or not UTF-8: 400 `malformed_body`. With the line, if it is known.
    Unreadable(String, Option<u64>),
    /// The file is not an acceptable table: 400 with an error at `file`.
    Refused { code: Code, message: String, data: Map<String, Value> },
    /// The file unpacks to more than this number of bytes: 413.
    TooLarge(usize),
    /// The temporary folder fails: 503.
    Disk(io::Error),
}

impl TableError {
    /// Returns the error for a file that cannot be parsed.
    pub(crate) fn unreadable(message: &str, line: Option<u64>) -> Self {
        Self::Unreadable(message.to_owned(), line)
    }

    /// Returns the error for a file that is not acceptable.
    pub(crate) fn refused(code: Code, message: impl Into<String>) -> Self {
        Self::Refused { code, message: message.into(), data: Map::new() }
    }

    /// Returns the error for a file with more than `maximum` items of a kind.
    pub(crate) fn too_many(items: &str, maximum: usize) -> Self {
        let message = format!("must have at most {maximum} {items}");
        Self::refused(Code::Length, message).with("maximum", maximum)
    }

    /// Adds a member to the `data` of a refused file.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        if let Self::Refused { data, .. } = &mut self {
            data.insert(name.to_owned(), value.into());
        }
        self
    }

    /// Converts the error to the response. `file` is the name of the file if there are several.
    pub(crate) fn into_error(self, file: Option<&str>) -> Error {
        match self {
            Self::Unreadable(message, line) => {
                let file = file.map(|name| format!(" {name:?}")).unwrap_or_default();
                let line = line.map(|line| format!(", line {line},")).unwrap_or_default();
                Error::MalformedBody(format!("the file{file}{line} {message}"))
            }
            Self::Refused { code, message, mut data } => {
                data.extend(file.map(|name| ("file".to_owned(), json!(name))));
                let mut errors = ValidationErrors::default();
                errors.push_with("file", code, message, data.into());
                Error::Validation(errors)
            }
            Self::TooLarge(limit) => Error::PayloadTooLarge(limit),
            Self::Disk(error) => disk_error(error),
        }
    }
}

impl TableError {
    /// Returns the error for a failure to read an uploaded file: that of the operating system, or what a library finds
    /// wrong with the content.
    pub(crate) fn of_reading(error: io::Error) -> Self {
        // An offset before the start of the file comes from the content.
        if error.raw_os_error().is_some() && error.kind() != ErrorKind::InvalidInput {
            Self::Disk(error)
        } else {
            Self::unreadable("is damaged, truncated or compressed in an unusual way: save it again", None)
        }
    }
}
