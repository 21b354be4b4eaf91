//! What is wrong with a batch and its rows, and the responses that say so.

use std::collections::{BTreeMap, BTreeSet};

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

/// Entries of a response by the number of their row, and in the order in which they were found. Without a number, the
/// upload itself is wrong.
type Entries = BTreeMap<(Option<usize>, usize), FieldError>;

/// What is wrong with a batch.
#[derive(Clone, Debug)]
pub(crate) struct Faults {
    /// The entries of 400 and those of 403, of each at most `limit`, for the first rows.
    invalid: Entries,
    forbidden: Entries,
    limit: usize,
    /// The number of entries found, also those that are not listed.
    found: usize,
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
            invalid: Entries::new(),
            forbidden: Entries::new(),
            limit,
            found: 0,
            failed_rows: BTreeSet::new(),
            forbidden_rows: BTreeSet::new(),
            is_upload_wrong: false,
        }
    }

    /// Returns true if another entry of 400 is listed, whatever its row.
    pub(crate) fn has_room(&self) -> bool {
        self.invalid.len() < self.limit
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
            self.list(None, error);
        }
    }

    /// Adds what is wrong with a row. Without entries, the row is only counted.
    pub(crate) fn add_to_row(&mut self, row: usize, errors: impl IntoIterator<Item = FieldError>) {
        let mut is_forbidden = false;
        for error in errors {
            is_forbidden = error.code == Code::Forbidden;
            self.list(Some(row), error);
        }
        self.failed_rows.insert(row);
        if is_forbidden {
            self.forbidden_rows.insert(row);
        }
    }

    fn list(&mut self, row: Option<usize>, error: FieldError) {
        let entries = if error.code == Code::Forbidden { &mut self.forbidden } else { &mut self.invalid };
        self.found += 1;
        entries.insert((row, self.found), error);
        if entries.len() > self.limit {
            entries.pop_last();
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
        !self.invalid.is_empty() || self.failed_rows.len() > self.forbidden_rows.len()
    }

    /// Returns true if something is wrong with this row.
    pub(crate) fn has_row(&self, row: usize) -> bool {
        self.failed_rows.contains(&row)
    }

    /// Returns the entries of rows in the order of the rows.
    pub(crate) fn of_rows(&self) -> Vec<(usize, &FieldError)> {
        let entries = self.invalid.iter().chain(&self.forbidden);
        let mut entries: Vec<_> =
            entries.filter_map(|((row, found), error)| Some(((*row)?, *found, error))).collect();
        entries.sort_by_key(|(row, found, _)| (*row, *found));
        entries.into_iter().map(|(row, _, error)| (row, error)).collect()
    }

    /// Returns the entries of the rows that are left out.
    pub(crate) fn left_out(&self) -> Vec<FieldError> {
        self.of_rows().into_iter().take(MAX_ERRORS).map(|(_, error)| error.clone()).collect()
    }

    /// Returns the response: 400 if anything is invalid, or else 403.
    pub(crate) fn into_error(self) -> Error {
        let is_invalid = self.is_invalid();
        let failed = self.failed_rows.len() - if is_invalid { self.forbidden_rows.len() } else { 0 };
        let entries = if is_invalid { self.invalid } else { self.forbidden };
        let entries = entries.into_iter().take(MAX_ERRORS);
        let mut entries: Vec<_> = entries.map(|((_, found), error)| (found, error)).collect();
        entries.sort_by_key(|(found, _)| *found);
        let mut errors = ValidationErrors::default();
        errors.extend(entries.into_iter().map(|(_, error)| error));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_the_first_rows() {
        let error = |path: &str| ValidationErrors::one(path, Code::Type, "is wrong");
        let mut faults = Faults::new(2);
        for row in [5, 6, 1] {
            faults.add_to_row(row, error(&format!("rows[{row}]")));
        }
        let paths = |errors: Vec<FieldError>| errors.into_iter().map(|error| error.path).collect::<Vec<_>>();
        assert_eq!(
            (paths(faults.left_out()), faults.failed_rows()),
            (vec!["rows[1]".into(), "rows[5]".into()], 3)
        );
        faults.add_to_upload(error("file"));
        let Error::Validation(errors) = faults.into_error() else { panic!() };
        assert_eq!(paths(errors.into_iter().collect()), ["rows[1]", "file"]);
    }
}
