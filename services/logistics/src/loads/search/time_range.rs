//! Ranges of times, from two query parameters.

use common::validation::{Code, ValidationErrors};
use common::wire::DateOrDateTime;
use database::Timestamp;

/// The times from a first to a last instant, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimeRange {
    /// The first instant, if the range has one.
    pub(crate) start: Option<Timestamp>,
    /// The last instant, if the range has one.
    pub(crate) end: Option<Timestamp>,
}

impl TimeRange {
    /// Returns the range of the parameters `startDateISO` and `endDateISO`. An end without a time of day includes its
    /// whole day. Adds an error if the start is after the end.
    pub(crate) fn new(
        start: Option<&DateOrDateTime>,
        end: Option<&DateOrDateTime>,
        errors: &mut ValidationErrors,
    ) -> Self {
        let (start, end) = (start.and_then(DateOrDateTime::start), end.and_then(DateOrDateTime::end));
        if start.zip(end).is_some_and(|(start, end)| start > end) {
            errors.push("startDateISO", Code::Inconsistent, "must not be after endDateISO");
        }
        Self { start, end }
    }

    /// Returns true if the range has a first or a last instant.
    pub(crate) fn is_limited(self) -> bool {
        self.start.or(self.end).is_some()
    }
}
