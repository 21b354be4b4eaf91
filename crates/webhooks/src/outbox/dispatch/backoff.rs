//! Attempts of a message and the backoff between them (docs/api/webhooks.md, "Delivery").

use std::time::Duration;

/// Number of attempts after which a message has failed.
pub(super) const MAX_ATTEMPTS: i32 = 10;
/// Longest backoff between two attempts.
const MAX_BACKOFF: Duration = Duration::from_secs(8 * 3600);

/// Returns the backoff after this many failed attempts: `first` after one, tripled for each further one, of which a
/// random part up to a half is left out, so that messages that failed together are not retried together.
pub(super) fn backoff(attempts: i32, first: Duration) -> Duration {
    let factor = 3_u32.saturating_pow(u32::try_from(attempts - 1).unwrap_or_default());
    let longest = first.saturating_mul(factor).min(MAX_BACKOFF);
    longest.mul_f64(rand::random_range(0.5..=1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_triples_up_to_eight_hours_with_jitter() {
        let first = Duration::from_secs(15);
        for (attempts, longest) in
            [(1, 15), (2, 45), (5, 1215), (8, 8 * 3600), (9, 8 * 3600), (i32::MAX, 8 * 3600)]
        {
            for _ in 0..100 {
                let seconds = backoff(attempts, first).as_secs_f64();
                let range = f64::from(longest) / 2.0..=f64::from(longest);
                assert!(range.contains(&seconds), "{attempts}: {seconds}");
            }
        }
        assert_ne!(backoff(9, first), backoff(9, first));
        assert_eq!(backoff(9, Duration::ZERO), Duration::ZERO);
    }
}
