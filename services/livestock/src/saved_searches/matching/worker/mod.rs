//! The background work that follows the events of listings.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Error, FailureStreak};
use database::{Database, Id};
use tokio::time::sleep;

use super::loaded_searches::LoadedSearches;
use super::model::{EventRow, Lease, ListingMatches, Recorded, SavedSearchCursor};
use super::{metrics, store};
use crate::listings::Status;
use crate::saved_searches::parameters::ParameterRules;

/// Interval in which events and changes of searches are looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Interval in which a replica without the lease requests it, and in which a failed round is repeated.
const RETRY_INTERVAL: Duration = Duration::from_secs(3);
/// Duration of the lease. If the replica that has it is killed, another one goes on after this time.
const LEASE_DURATION: Duration = Duration::from_secs(15);
/// Age at which the lease is extended.
const LEASE_RENEWAL: Duration = Duration::from_secs(5);
/// Interval in which old changes of searches and old matches of the feed are deleted.
const PRUNE_INTERVAL: Duration = Duration::from_secs(600);
/// Matches after which a transaction takes no further listing; those of a listing are not split. Other writes of
/// SQLite wait for them, about 10 ms. More matches in a transaction cost less each: they change the same pages.
const MAX_RECORDED: usize = 2_000;

/// Matches listings with saved searches while this replica has the lease.
pub(crate) struct Matcher {
    db: Database,
    rules: Arc<ParameterRules>,
    /// Identifies this process in the lease.
    replica: Id,
    /// `None` without the lease.
    held: Option<Held>,
    /// When old changes and matches were deleted last.
    pruned_at: Option<Instant>,
}

/// Ends the lease of a replica that stops, if it has it, so that another one goes on at once.
pub(crate) async fn release_lease(db: &Database, replica: Id) {
    if let Err(error) = db.write(move |c| store::release_lease(c, replica)).await {
        tracing::debug!(error = format!("{error:?}"), "the lease of the matching ends by itself");
    }
}

/// What a replica has with the lease.
struct Held {
    searches: LoadedSearches,
    /// When the lease was requested last.
    requested_at: Instant,
}

/// The outcome of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    /// There may be more events.
    More,
    /// There was no event.
    Idle,
    /// Searches had changed since they were matched. They were read again, and the same events come next.
    Changed,
    /// Another replica has the lease.
    HeldByAnother,
}

impl Matcher {
    /// Creates the matcher of a process, which `replica` identifies.
    pub(crate) fn new(db: &Database, rules: &Arc<ParameterRules>, replica: Id) -> Self {
        Self { db: db.clone(), rules: rules.clone(), replica, held: None, pruned_at: None }
    }

    /// Matches listings for as long as the service runs. `matched` is called after matches were stored.
    pub(crate) async fn run(mut self, matched: impl Fn()) {
        let mut failures = FailureStreak::default();
        loop {
            let result = self.round(&matched).await;
            if let Some(error) = failures.first(&result) {
                tracing::warn!(
                    error = format!("{error:?}"),
                    "listings could not be matched with saved searches; retrying in 3 s"
                );
            }
            match result {
                Ok(Round::More) => {}
                Ok(Round::Idle | Round::Changed) => sleep(POLL_INTERVAL).await,
                Ok(Round::HeldByAnother) | Err(_) => sleep(RETRY_INTERVAL).await,
            }
        }
    }

    /// Reads the changes of searches, and matches the listings of the next events.
    async fn round(&mut self, matched: &impl Fn()) -> Result<Round, Error> {
        if !self.hold_lease().await? {
            return Ok(Round::HeldByAnother);
        }
        let Some(held) = &mut self.held else { return Ok(Round::HeldByAnother) };
        let (events, cursor) = self.db.read(store::next_events).await?;
        // After the events: searches that were saved before them are loaded. Also without events: a change is deleted
        // an hour later.
        if !held.searches.refresh().await? {
            tracing::warn!("the database was moved to another server: all saved searches are read again");
            self.forget_searches();
            return Ok(Round::More);
        }
        let position = held.searches.position;
        self.prune(position).await?;
        if events.is_empty() {
            return Ok(Round::Idle);
        }
        self.match_listings(&events, cursor, matched).await
    }

    /// Matches the listings of events and stores the matches.
    async fn match_listings(
        &mut self,
        events: &[EventRow],
        cursor: SavedSearchCursor,
        matched: &impl Fn(),
    ) -> Result<Round, Error> {
        let Some(held) = &mut self.held else { return Ok(Round::HeldByAnother) };
        let found = held.searches.find(events).await?;
        self.forget_closed(events).await?;
        self.record(found, cursor, matched).await
    }

    /// Requests the lease if it is due, and loads the searches with a new lease.
    async fn hold_lease(&mut self) -> Result<bool, Error> {
        if self.held.as_ref().is_some_and(|held| !held.searches.is_usable()) {
            self.forget_searches();
        }
        let is_due = |held: &Held| !self.db.is_sqlite() && held.requested_at.elapsed() > LEASE_RENEWAL;
        if self.held.as_ref().is_some_and(|held| !is_due(held)) {
            return Ok(true);
        }
        let (requested_at, replica) = (Instant::now(), self.replica);
        let lease = self.db.write(move |c| store::request_lease(c, replica, LEASE_DURATION)).await?;
        match (lease, &mut self.held) {
            (Lease::HeldByAnother, _) => {
                self.forget_searches();
                return Ok(false);
            }
            (Lease::Kept, Some(held)) => held.requested_at = requested_at,
            (Lease::Kept | Lease::Acquired, _) => {
                self.forget_searches();
                let searches = LoadedSearches::load(&self.db, &self.rules).await?;
                self.held = Some(Held { searches, requested_at });
            }
        }
        Ok(true)
    }

    fn forget_searches(&mut self) {
        self.held = None;
        metrics::loaded().set(0.0);
    }

    /// Forgets which searches closed listings have matched.
    async fn forget_closed(&self, events: &[EventRow]) -> Result<(), Error> {
        let is_open = |event: &&EventRow| Status::OPEN.iter().any(|open| open.as_str() == event.to_status);
        let closed = events.iter().filter(|event| !is_open(event));
        let closed: Vec<Id> = closed.map(|event| event.listing_id).collect();
        loop {
            let closed = closed.clone();
            if closed.is_empty() || !self.db.write(move |c| store::forget_matches(c, &closed)).await? {
                return Ok(());
            }
        }
    }

    /// Stores matches in parts, the cursor with the last one. If the process ends in between, the events are matched
    /// again, and the stored matches are left out.
    async fn record(
        &mut self,
        found: Vec<ListingMatches>,
        cursor: SavedSearchCursor,
        matched: &impl Fn(),
    ) -> Result<Round, Error> {
        let mut parts: VecDeque<_> = split(found).into_iter().map(Arc::new).collect();
        while let Some(part) = parts.pop_front() {
            let (replica, listings, next) = (self.replica, part.clone(), parts.is_empty().then_some(cursor));
            let started = Instant::now();
            match self.db.write(move |c| store::record(c, replica, &listings, next)).await? {
                Recorded::Stored { matches, is_complete } => {
                    if matches > 0 {
                        metrics::matches().increment(matches as u64);
                        metrics::store_seconds().record(started.elapsed());
                        matched();
                    }
                    if !is_complete {
                        parts.push_front(part);
                    }
                }
                Recorded::Changed(searches) => {
                    if let Some(held) = &mut self.held {
                        held.searches.reload(&searches).await?;
                    }
                    return Ok(Round::Changed);
                }
                Recorded::LeaseLost => {
                    self.forget_searches();
                    return Ok(Round::HeldByAnother);
                }
            }
        }
        Ok(Round::More)
    }

    /// Deletes old changes of searches before a position, and old matches of the feed, from time to time.
    async fn prune(&mut self, before: i64) -> Result<(), Error> {
        if self.pruned_at.is_none_or(|at| at.elapsed() > PRUNE_INTERVAL) {
            while self.db.write(move |c| store::prune_changes(c, before)).await? {}
            while self.db.write(store::prune_match_events).await? {}
            self.pruned_at = Some(Instant::now());
        }
        Ok(())
    }
}

/// Splits listings into parts with about [`MAX_RECORDED`] matches, at least one part. The matches of a listing stay
/// together, because they are one event for each organisation.
fn split(found: Vec<ListingMatches>) -> Vec<Vec<ListingMatches>> {
    let (mut parts, mut room) = (vec![Vec::new()], MAX_RECORDED);
    for listing in found.into_iter().filter(|listing| !listing.searches.is_empty()) {
        if room == 0 {
            parts.push(Vec::new());
            room = MAX_RECORDED;
        }
        room = room.saturating_sub(listing.searches.len());
        if let Some(part) = parts.last_mut() {
            part.push(listing);
        }
    }
    parts
}
