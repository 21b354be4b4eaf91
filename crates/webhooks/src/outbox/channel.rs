//! What an outbox needs for its delivery.

use std::future::Future;

use common::Error;
use database::AnyConnection;

use super::metrics::OutboxMetrics;
use super::model::{Claimed, Failure, Outbox, Outcome};

/// Delivers the messages of an outbox.
pub trait Channel: Send + Sync + 'static {
    /// The outbox.
    const OUTBOX: Outbox;
    /// The metrics of the outbox.
    const METRICS: OutboxMetrics;

    /// Attempts one delivery.
    ///
    /// # Errors
    /// If the receiver did not acknowledge the message.
    fn deliver(&self, claimed: &Claimed) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Makes further changes in the transaction that records an outcome.
    ///
    /// # Errors
    /// If the database fails.
    fn record(_c: &mut AnyConnection, _claimed: &Claimed, _outcome: &Outcome) -> Result<(), Error> {
        Ok(())
    }

    /// Logs a recorded outcome.
    fn report(&self, claimed: &Claimed, outcome: &Outcome);
}
