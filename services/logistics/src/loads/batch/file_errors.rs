//! Errors of uploaded files, and of the temporary folder that holds them.

use std::io;

use common::Error;
use common::validation::ValidationErrors;
use serde_json::json;
use tables::TableError;

/// Returns 503 for an error of the temporary folder, which may be full or missing.
pub(crate) fn disk_error(error: io::Error) -> Error {
    Error::Unavailable(error.into(), "The temporary folder")
}

/// Converts what is wrong with a file to the response. `file` is the name of the file if there are several.
pub(crate) fn table_error(error: TableError, file: Option<&str>) -> Error {
    match error {
        TableError::Unreadable(message, line) => {
            let file = file.map(|name| format!(" {name:?}")).unwrap_or_default();
            let line = line.map(|line| format!(", line {line},")).unwrap_or_default();
            Error::MalformedBody(format!("the file{file}{line} {message}"))
        }
        TableError::Refused { fault, message, mut data } => {
            data.extend(file.map(|name| ("file".to_owned(), json!(name))));
            let mut errors = ValidationErrors::default();
            errors.push_with("file", fault.into(), message, data.into());
            Error::Validation(errors)
        }
        TableError::TooLarge(limit) => Error::PayloadTooLarge(limit),
        TableError::Disk(error) => disk_error(error),
    }
}
