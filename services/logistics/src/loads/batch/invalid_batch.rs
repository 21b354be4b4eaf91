//! A batch with errors, and how its refused rows are reported with them.

use std::sync::Arc;

use common::Error;
use common::validation::ValidationErrors;

use super::existing::{Existing, refuse_existing};
use super::model::{MAX_ERRORS, rows_error};
use super::row::RowIdentity;

/// A batch that is not stored because of errors in its rows.
pub(crate) struct InvalidBatch {
    errors: ValidationErrors,
    failed_rows: usize,
    /// The valid rows that are errors too if their loads exist.
    refusable: Arc<[RowIdentity]>,
}

impl InvalidBatch {
    /// Returns a batch with these errors.
    pub(crate) fn new(errors: ValidationErrors, failed_rows: usize, refusable: Vec<RowIdentity>) -> Self {
        Self { errors, failed_rows, refusable: refusable.into() }
    }

    /// Returns the valid rows that are errors too if their loads exist.
    pub(crate) fn refusable(&self) -> Arc<[RowIdentity]> {
        self.refusable.clone()
    }

    /// Adds an error for each of these rows whose load exists.
    pub(crate) fn refuse(&mut self, existing: &[Option<Existing>]) {
        self.failed_rows += refuse_existing(&self.refusable, existing, MAX_ERRORS, &mut self.errors);
    }

    /// Returns the response.
    pub(crate) fn into_error(self) -> Error {
        rows_error(self.errors, self.failed_rows)
    }
}
