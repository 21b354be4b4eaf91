//! What is wrong with a batch and its rows, and the responses that say so.

use std::collections::BTreeSet;

use common::validation::{Code, FieldError, ValidationErrors};
use common::{Error, Reason};
use serde_json::{Value, json};

use crate::loads::form::FOREIGN;

/// The maximum number of entries in a response (docs/api/batches.md, "Import").
pub(crate) const MAX_ERRORS: usize = 1_000;
/// The maximum number of entries in the column of problems of a sheet.
pub(crate) const MAX_PROBLEMS: usize = 50_000;

/// Message for a batch that names organisations that have blocked its sender.
const BLOCKED: &str =
    "An organisation that rows name has blocked the one that names it as organiser or carrier.";

/// An entry of a response.
#[derive(Clone, Debug)]
struct Entry {
    /// The number of the row. `None`: the upload itself is wrong.
    row: Option<usize>,
    error: FieldError,
}

/// What is wrong with a batch.
#[derive(Clone, Debug)]
pub(crate) struct Faults {
    /// Those of 400 and of 403, at most `limit` of each.
    entries: Vec<Entry>,
    invalid: usize,
    forbidden: usize,
    limit: usize,
    /// The rows with entries, also those that are not listed.
    failed_rows: BTreeSet<usize>,
    /// Those that only have entries of 403.
    forbidden_rows: BTreeSet<usize>,
    is_upload_wrong: bool,
}

impl Faults {
    /// Returns an empty list with room for this number of entries.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            entries: Vec::new(),
            invalid: 0,
            forbidden: 0,
            limit,
            failed_rows: BTreeSet::new(),
            forbidden_rows: BTreeSet::new(),
            is_upload_wrong: false,
        }
    }

    /// Returns true if another entry of 400 is listed.
    pub(crate) fn has_room(&self) -> bool {
        self.invalid < self.limit
    }

    /// Returns true if nothing is wrong.
    pub(crate) fn is_empty(&self) -> bool {
        self.failed_rows.is_empty() && !self.is_upload_wrong
    }

    /// Returns true if the upload itself is wrong.
    pub(crate) fn has_upload_faults(&self) -> bool {
        self.is_upload_wrong
    }

    /// Returns the number of rows that are left out.
    pub(crate) fn failed_rows(&self) -> usize {
        self.failed_rows.len()
    }

    /// Adds what is wrong with the upload itself.
    pub(crate) fn add_to_upload(&mut self, errors: impl IntoIterator<Item = FieldError>) {
        for error in errors {
            self.is_upload_wrong = true;
            if self.has_room() {
                self.invalid += 1;
                self.entries.push(Entry { row: None, error });
            }
        }
    }

    /// Adds what is wrong with a row. Without entries, the row is only counted.
    pub(crate) fn add_to_row(&mut self, row: usize, errors: impl IntoIterator<Item = FieldError>) {
        let mut is_forbidden = false;
        for error in errors {
            is_forbidden = error.code == Code::Forbidden;
            let count = if is_forbidden { &mut self.forbidden } else { &mut self.invalid };
            if *count < self.limit {
                *count += 1;
                self.entries.push(Entry { row: Some(row), error });
            }
        }
        self.failed_rows.insert(row);
        if is_forbidden {
            self.forbidden_rows.insert(row);
        }
    }

    /// Returns the first rows that have entries, without forbidden ones if a refusal does not name these.
    pub(crate) fn rows(&self, are_refused: bool) -> BTreeSet<usize> {
        let is_named =
            |row: &&usize| !(are_refused && self.is_invalid() && self.forbidden_rows.contains(row));
        self.failed_rows.iter().filter(is_named).copied().take(MAX_ERRORS).collect()
    }

    /// Returns true if anything is wrong besides what is forbidden.
    fn is_invalid(&self) -> bool {
        self.invalid > 0 || self.failed_rows.len() > self.forbidden_rows.len()
    }

    /// Returns true if something is wrong with this row.
    pub(crate) fn has_row(&self, row: usize) -> bool {
        self.failed_rows.contains(&row)
    }

    /// Returns the entries of rows in the order of the rows.
    pub(crate) fn of_rows(&self) -> Vec<(usize, &FieldError)> {
        let mut entries: Vec<_> =
            self.entries.iter().filter_map(|entry| Some((entry.row?, &entry.error))).collect();
        entries.sort_by_key(|(row, _)| *row);
        entries
    }

    /// Returns the entries of the rows that are left out.
    pub(crate) fn left_out(&self) -> Vec<FieldError> {
        self.of_rows().into_iter().take(MAX_ERRORS).map(|(_, error)| error.clone()).collect()
    }

    /// Returns the response: 400 if anything is invalid, or else 403.
    pub(crate) fn into_error(self) -> Error {
        let is_forbidden = |entry: &Entry| entry.error.code == Code::Forbidden;
        let is_invalid = self.is_invalid();
        let failed = self.failed_rows.len() - if is_invalid { self.forbidden_rows.len() } else { 0 };
        let mut errors = ValidationErrors::default();
        let entries = self.entries.into_iter().filter(|entry| is_forbidden(entry) != is_invalid);
        errors.extend(entries.take(MAX_ERRORS).map(|entry| entry.error));
        if is_invalid {
            return Error::Validation(errors).with("failedRows", failed);
        }
        let reason = json!(Reason::Blocked);
        let is_blocked = errors.iter().all(|error| error.data.get("reason") == Some(&reason));
        let message = if is_blocked { BLOCKED } else { FOREIGN };
        let error = Error::ForbiddenFields(errors, message).with("failedRows", failed);
        if is_blocked { error.with("reason", reason) } else { error }
    }
}

/// Returns the entry of a new row of another organisation.
pub(crate) fn foreign() -> (Code, &'static str) {
    (Code::Forbidden, "neither organiser nor carrier is your own organisation")
}

/// Members for the `body` of an error, or for an answer.
pub(crate) type Members = Vec<(&'static str, Value)>;

/// Adds members to the `body` of an error.
pub(crate) fn with_members(error: Error, members: &Members) -> Error {
    members.iter().fold(error, |error, (name, value)| error.with(name, value.clone()))
}
