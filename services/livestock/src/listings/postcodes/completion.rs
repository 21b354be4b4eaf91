//! The background task that completes listings whose postcode could not be looked up when they were stored.

use std::time::Duration;

use common::system::{PlaceClient, PublicCall};
use common::{Error, FailureStreak};
use database::{Database, Id};
use futures_util::future::join_all;

use super::finder::{self, Finding};
use super::store::{self, DueLocation};

/// Listings that are claimed and looked up at a time: as many calls as a tenant may make at once.
const MAX_CLAIMED: i64 = 4;
/// Interval of the search for due listings.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// The tenant of the look-ups.
const TENANT: &str = "postcodes of listings";

/// Completes listings.
pub(crate) struct LocationCompleter<'a> {
    pub db: &'a Database,
    pub places: &'a PlaceClient,
}

impl LocationCompleter<'_> {
    /// Completes due listings as long as the service runs. `completed` is called after listings were changed.
    pub(crate) async fn run(&self, completed: impl Fn()) {
        let mut failures = FailureStreak::default();
        loop {
            let idle = POLL_INTERVAL.mul_f64(rand::random_range(0.8..1.2));
            let next = self.complete_due(&completed).await;
            if let Some(error) = failures.first(&next) {
                tracing::warn!(
                    error = format!("{error:?}"),
                    "listings without coordinates cannot be completed"
                );
            }
            tokio::time::sleep(next.ok().flatten().map_or(idle, |next| next.min(idle))).await;
        }
    }

    /// Looks up all due postcodes. Returns how long until the next one is due, or `None` if there is none.
    async fn complete_due(&self, completed: &impl Fn()) -> Result<Option<Duration>, Error> {
        loop {
            // While the circuit breaker is open, claims would only write to the database.
            if let Some(wait) = self.places.blocked_for() {
                return Ok(Some(wait));
            }
            match self.db.read(store::next_due_in).await? {
                Some(wait) if wait.is_zero() => {}
                other => return Ok(other),
            }
            let claimed = self.db.write(|c| store::claim(c, MAX_CLAIMED)).await?;
            let results = join_all(claimed.into_iter().map(|due| self.complete(due))).await;
            let results = results.into_iter().collect::<Result<Vec<_>, _>>()?;
            if results.contains(&true) {
                completed();
            }
            if results.is_empty() {
                // Another replica claimed them first.
                return Ok(None);
            }
        }
    }

    /// Looks up the postcode of a listing and stores the result. Returns true if the listing got coordinates.
    async fn complete(&self, due: DueLocation) -> Result<bool, Error> {
        let (id, attempts): (Id, i32) = (due.listing.id, due.attempts);
        let by = PublicCall::background(TENANT, &id.to_string());
        let finding = finder::find(self.places, &by, due.listing.location.as_ref()).await;
        if finding == Finding::Unavailable {
            self.db.write(move |c| store::postpone(c, id, attempts)).await?;
            return Ok(false);
        }
        self.db.write(move |c| store::finish(c, id, &finding)).await
    }
}
