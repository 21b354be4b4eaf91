//! The results of earlier reads of the events, which requests that waited for them share.

use std::time::Duration;

use common::Error;

/// A request that has waited longer than this for a read that failed does not start another read.
const MAX_WAIT_BEFORE_RETRY: Duration = Duration::from_secs(1);

/// The results of the previous reads.
#[derive(Default)]
pub(crate) struct LastRead {
    /// The number of the last read that succeeded.
    succeeded: u64,
    /// The failure of the last read; `None` if it succeeded.
    failure: Option<ReadFailure>,
}

impl LastRead {
    /// Records the result of a read.
    pub(crate) fn record(&mut self, number: u64, result: &Result<(), Error>) {
        match result {
            Ok(()) => *self = Self { succeeded: number, failure: None },
            Err(error) => self.failure = Some(ReadFailure::of(error)),
        }
    }

    /// Returns the result that earlier reads have for a request, or `None` if the request must start a read. `started`
    /// is the number of reads that were started before the request, `waited` the time since its arrival.
    pub(crate) fn result_for(&self, started: u64, waited: Duration) -> Option<Result<(), Error>> {
        if self.succeeded > started {
            return Some(Ok(()));
        }
        let failure = self.failure.as_ref().filter(|_| waited > MAX_WAIT_BEFORE_RETRY)?;
        Some(Err(failure.to_error()))
    }
}

/// The failure of a read, for the requests that waited for the read.
struct ReadFailure {
    /// The cause, for the log.
    cause: String,
    /// The dependency that was unavailable; `None` for an internal error.
    dependency: Option<&'static str>,
}

impl ReadFailure {
    fn of(error: &Error) -> Self {
        let (cause, dependency) = match error {
            Error::Unavailable(cause, dependency) => (format!("{cause:#}"), Some(*dependency)),
            Error::Internal(cause) => (format!("{cause:#}"), None),
            other => (other.to_string(), None),
        };
        Self { cause, dependency }
    }

    /// Returns the error of a request that waited: 503 for an unavailable dependency, 500 for an internal error.
    fn to_error(&self) -> Error {
        let cause = anyhow::anyhow!("reading the events failed for an earlier request: {}", self.cause);
        match self.dependency {
            Some(dependency) => Error::Unavailable(cause, dependency),
            None => Error::Internal(cause),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(2);

    #[test]
    fn requests_that_waited_for_a_failed_read_get_its_failure() {
        let mut last_read = LastRead::default();
        let unavailable = || Error::Unavailable(anyhow::anyhow!("connection refused"), "The database");
        last_read.record(1, &Err(unavailable()));
        assert!(last_read.result_for(0, Duration::ZERO).is_none(), "starts a read of its own");
        let Some(Err(Error::Unavailable(cause, "The database"))) = last_read.result_for(0, LONG) else {
            panic!("no 503")
        };
        let cause = format!("{cause:#}");
        assert!(cause.contains("connection refused") && !cause.contains("timed out"), "{cause}");
        last_read.record(2, &Err(Error::Internal(anyhow::anyhow!("no such column"))));
        let Some(Err(Error::Internal(cause))) = last_read.result_for(0, LONG) else { panic!("no 500") };
        assert!(format!("{cause:#}").contains("no such column"), "{cause:#}");
    }

    #[test]
    fn requests_share_a_read_that_started_after_their_arrival() {
        let mut last_read = LastRead::default();
        last_read.record(1, &Err(Error::Internal(anyhow::anyhow!("no such column"))));
        last_read.record(2, &Ok(()));
        assert!(matches!(last_read.result_for(1, LONG), Some(Ok(()))));
        assert!(last_read.result_for(2, LONG).is_none(), "the read started before the request");
    }
}
