//! Logging of repeated tasks: of several failures in a row only the first is logged.

/// Whether the last run of a repeated task failed.
#[derive(Debug, Default)]
pub struct FailureStreak {
    failing: bool,
}

impl FailureStreak {
    /// Records a result. Returns the error if it is the first since the last success, and so is to be logged.
    pub fn first<'r, T, E>(&mut self, result: &'r Result<T, E>) -> Option<&'r E> {
        let was_failing = std::mem::replace(&mut self.failing, result.is_err());
        result.as_ref().err().filter(|_| !was_failing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_after_a_success_is_returned() {
        let mut streak = FailureStreak::default();
        let results = [Ok(()), Err(1), Err(2), Ok(()), Ok(()), Err(3), Err(4)];
        let first: Vec<_> = results.iter().filter_map(|result| streak.first(result)).collect();
        assert_eq!(first, [&1, &3]);
        assert_eq!(FailureStreak::default().first(&Err::<(), _>(5)), Some(&5), "also at the start");
    }
}
