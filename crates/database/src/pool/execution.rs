//! Running a call on a connection of the pool.

use std::sync::atomic::Ordering;
use std::time::Instant;

use diesel::r2d2::R2D2Connection;

use super::Inner;
use super::call::{Assignment, Call};
use super::manager::{Checkout, ManagedConnection};
use crate::metrics::DatabaseMetrics;
use crate::postgres::PlanMode;
use crate::{DatabaseFailure, Error};

/// Ends a call when its thread returns or panics.
pub(super) struct EndGuard<'a> {
    pub call: &'a Call,
    pub metrics: &'a DatabaseMetrics,
}

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        if self.call.end() {
            self.metrics.abandoned.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Inner {
    /// Runs `f` on a connection of the pool. If the connection turns out to be dead, or its server to be read-only
    /// while there may be another one, runs it again on another connection, until `deadline`.
    pub(super) fn execute<T, E: DatabaseFailure>(
        &self,
        call: &Call,
        deadline: Instant,
        plan_mode: PlanMode,
        mut f: impl FnMut(&mut ManagedConnection, &Call) -> Result<T, E>,
    ) -> Result<T, E> {
        loop {
            call.set_awaits_connection(true);
            let mut checkout = self.checkout(deadline, plan_mode).inspect_err(|_| {
                if call.fail_without_connection() {
                    self.metrics.unreachable.increment(1);
                }
            })?;
            call.set_awaits_connection(false);
            let prepared = checkout.prepare(self.schema, plan_mode).map_err(|e| E::from(Error::from(e)));
            let generation = checkout.generation;
            let result = prepared.and_then(|backend| {
                if call.assign(Assignment { backend, generation }) {
                    f(&mut checkout, call)
                } else {
                    Err(Error::abandoned().into())
                }
            });
            let failure = result.as_ref().err().and_then(DatabaseFailure::database);
            let is_unavailable = matches!(failure, Some(Error::Unavailable(..)));
            let is_read_only = failure.is_some_and(Error::is_read_only);
            if is_read_only {
                checkout.retire();
            }
            if !is_unavailable && !matches!(failure, Some(Error::CommitUnknown(_))) {
                self.record_success();
            }
            // A restarted server leaves dead connections in the pool. Each is found by the call that gets it; Diesel
            // does not always notice, so the connection is pinged.
            let is_dead =
                is_unavailable && (checkout.connection.is_broken() || checkout.connection.ping().is_err());
            let has_moved = is_read_only && self.leave_server(generation);
            if !(is_dead || has_moved) || Instant::now() > deadline {
                return result;
            }
        }
    }

    /// Stops reusing connections of a server that has become read-only, if there may be another server. Returns true if
    /// the refused call, which has changed nothing, may run there.
    fn leave_server(&self, generation: u64) -> bool {
        if let Some(watchdog) = self.watchdog.as_ref().filter(|_| self.selects_server) {
            watchdog.advance_generation(generation);
        }
        self.selects_server
    }

    /// Takes an idle connection or waits for a new one. Discards those opened before the server last
    /// stalled or became read-only.
    ///
    /// Prefers a connection in the mode of the call: changing the mode takes a round trip. If all idle ones were looked
    /// at, r2d2 opens another one. So calls in several modes soon have enough connections in each.
    fn checkout(&self, deadline: Instant, plan_mode: PlanMode) -> Result<Checkout, Error> {
        // They return to the pool at the end.
        let mut others = Vec::new();
        loop {
            let checkout = if others.is_empty() {
                self.wait_for_connection(deadline)?
            } else {
                let Some(checkout) = self.connections.try_get() else { return Ok(others.swap_remove(0)) };
                checkout
            };
            if !checkout.is_current() {
                continue;
            }
            if self.watchdog.is_none() || checkout.has_mode(plan_mode) {
                return Ok(checkout);
            }
            others.push(checkout);
        }
    }

    fn wait_for_connection(&self, deadline: Instant) -> Result<Checkout, Error> {
        let remaining = deadline.saturating_duration_since(Instant::now());
        let checkout = self.connections.get_timeout(remaining);
        checkout.map_err(|e| Error::unavailable(e.to_string().replace('\n', " ")))
    }

    fn record_success(&self) {
        let elapsed = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_success_ms.store(elapsed, Ordering::Relaxed);
    }
}
