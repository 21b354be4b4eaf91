//! Errors of a whole file.

use std::io::{self, ErrorKind};

use serde_json::{Map, Value};

use super::Fault;

/// Why a file cannot be read, or not to its end.
#[derive(Debug)]
pub enum TableError {
    /// The file is damaged, truncated or not UTF-8: with the line, if it is known.
    Unreadable(String, Option<u64>),
    /// The file is not an acceptable table.
    Refused {
        /// The kind of the fault.
        fault: Fault,
        /// What is wrong and what to do, to be read after the name of the field.
        message: String,
        /// Figures and names, such as `maximum`.
        data: Map<String, Value>,
    },
    /// The workbook has no worksheet with the requested name: the names of those that it has.
    UnknownSheet(Vec<String>),
    /// The file unpacks to more than this number of bytes.
    TooLarge(usize),
    /// The temporary folder fails.
    Disk(io::Error),
}

impl TableError {
    /// Returns the error for a file that cannot be parsed.
    pub(crate) fn unreadable(message: &str, line: Option<u64>) -> Self {
        Self::Unreadable(message.to_owned(), line)
    }

    /// Returns the error for a file that is not acceptable.
    pub(crate) fn refused(fault: Fault, message: impl Into<String>) -> Self {
        Self::Refused { fault, message: message.into(), data: Map::new() }
    }

    /// Returns the error for a file with more than `maximum` items of a kind.
    pub fn too_many(items: &str, maximum: usize) -> Self {
        let message = format!("must have at most {maximum} {items}");
        Self::refused(Fault::Length, message).with("maximum", maximum)
    }

    /// Adds a member to the `data` of a refused file.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        if let Self::Refused { data, .. } = &mut self {
            data.insert(name.to_owned(), value.into());
        }
        self
    }

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
