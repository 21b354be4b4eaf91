//! Work that is due at times which the database stores, such as sharing files and looking up postcodes.

use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::Error;
use crate::telemetry::logs::FailureStreak;

/// Maximum backoff between attempts.
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// Returns the backoff after this number of failed attempts: 1 s, then twice as long each time, up to 30 s.
pub fn backoff(attempts: i32) -> Duration {
    let doublings = u32::try_from(attempts.max(1)).unwrap_or(u32::MAX) - 1;
    Duration::from_secs(1_u64.checked_shl(doublings.min(32)).unwrap_or(u64::MAX)).min(MAX_BACKOFF)
}

/// How long a loop that does due work waits between its rounds.
pub struct DueLoop {
    /// How long it waits at most: other replicas add work too.
    interval: Duration,
    /// What is logged about the first of consecutive failures.
    failure: &'static str,
    failures: FailureStreak,
}

impl DueLoop {
    /// Creates a loop that looks for work about once in each `interval`.
    pub fn new(interval: Duration, failure: &'static str) -> Self {
        Self { interval, failure, failures: FailureStreak::default() }
    }

    /// Waits until the next work is due or `wake` is notified. `next` is the result of the last round: how long until
    /// the next work is due, if it is known.
    pub async fn wait(&mut self, next: Result<Option<Duration>, Error>, wake: Option<&Notify>) {
        let idle = self.interval.mul_f64(rand::random_range(0.8..1.2));
        if let Some(error) = self.failures.first(&next) {
            tracing::warn!(error = format!("{error:?}"), "{}", self.failure);
        }
        let time = next.ok().flatten().map_or(idle, |next| next.min(idle));
        if let Some(wake) = wake {
            let _ = timeout(time, wake.notified()).await;
        } else {
            sleep(time).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_up_to_half_a_minute() {
        let seconds = [0, 1, 2, 3, 5, 6, 7, 40, i32::MAX].map(|attempts| backoff(attempts).as_secs());
        assert_eq!(seconds, [1, 1, 2, 4, 16, 30, 30, 30, 30]);
    }
}
