//! Coordinates of postcodes (`docs/api/listings.md`, "Coordinates from postcodes"). A location with a postcode and
//! without coordinates gets those that system knows. While system is unavailable, listings are stored without them and
//! listed in `due_locations`; a background task completes them.

pub(crate) mod store;

use std::time::Duration;

use common::Error;
use common::due::DueLoop;
use common::system::{PlaceClient, PostcodePoint, PostcodeQuery, PublicCall};
use common::wire::Warning;
use database::{Database, Id};
use futures_util::future::join_all;

use self::store::DueLocation;
use super::location::{Coordinates, CoordinatesSource, Location};
use super::model::Listing;

/// Listings that are claimed and looked up at a time: as many calls as a tenant may make at once.
const MAX_CLAIMED: i64 = 4;
/// Interval of the search for due listings.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// The tenant of the look-ups.
const TENANT: &str = "postcodes of listings";

/// What is known of the postcode of a location.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Finding {
    /// The location has coordinates, or no postcode.
    NotNeeded,
    /// The result of a look-up: `None` if the postcode is not known.
    Known(PostcodeQuery, Option<PostcodePoint>),
    /// System was unavailable.
    Unavailable,
}

/// Looks up the postcode of a location that has no coordinates.
pub(crate) async fn find(places: &PlaceClient, by: &PublicCall, location: Option<&Location>) -> Finding {
    let Some(query) = location.and_then(Location::postcode_query) else { return Finding::NotNeeded };
    match places.find_postcode(by, &query).await {
        Ok(point) => Finding::Known(query, point),
        Err(error) => {
            tracing::debug!(error = format!("{error:#}"), "a postcode is looked up later");
            Finding::Unavailable
        }
    }
}

impl Finding {
    /// Returns the warning for a postcode that gives no coordinates.
    pub(crate) fn warning(&self) -> Option<Warning> {
        matches!(self, Self::Known(_, None)).then(|| {
            let message = "gives no coordinates: searches by distance do not find the listing";
            Warning::new("location.address.postcode", "no_coordinates", message)
        })
    }

    /// Gives a listing the coordinates of its postcode, if they are known. Returns true if the postcode is still to be
    /// looked up.
    pub(crate) fn complete(&self, listing: &mut Listing) -> bool {
        let Some(location) = &mut listing.location else { return false };
        let Some(needed) = location.postcode_query() else { return false };
        match self {
            Self::Known(query, point) if *query == needed => {
                location.coordinates = point.and_then(|point| Coordinates::new(point.lat, point.lon));
                location.coordinates_source =
                    location.coordinates.as_ref().map(|_| CoordinatesSource::Postcode);
                false
            }
            _ => true,
        }
    }
}

/// Completes listings whose postcode could not be looked up when they were stored.
pub(crate) struct LocationCompleter<'a> {
    pub db: &'a Database,
    pub places: &'a PlaceClient,
}

impl LocationCompleter<'_> {
    /// Completes due listings as long as the service runs. `completed` is called after listings were changed.
    pub(crate) async fn run(&self, completed: impl Fn()) {
        let mut due = DueLoop::new(POLL_INTERVAL, "listings without coordinates cannot be completed");
        loop {
            due.wait(self.complete_due(&completed).await, None).await;
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
        let finding = find(self.places, &by, due.listing.location.as_ref()).await;
        if finding == Finding::Unavailable {
            self.db.write(move |c| store::postpone(c, id, attempts)).await?;
            return Ok(false);
        }
        self.db.write(move |c| store::finish(c, id, &finding)).await
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listing(location: &serde_json::Value) -> Listing {
        serde_json::from_value(json!({
            "id": database::Id::new(), "userId": "u", "organisationId": "a", "organisationName": "A", "type": "selling",
            "status": "active", "categoryIds": [2], "location": location, "price": {"type": "poa"}, "files": [],
            "description": "", "tags": [], "createdAtUTC": "2026-03-01T09:30:00.000Z",
        }))
        .unwrap()
    }

    fn known(postcode: &str, point: Option<PostcodePoint>) -> Finding {
        Finding::Known(PostcodeQuery { postcode: postcode.into(), country: Some("GB".into()) }, point)
    }

    #[test]
    fn completes_locations_with_the_same_postcode_only() {
        let point = Some(PostcodePoint { lat: 51.9, lon: -3.4 });
        let address = json!({"address": {"postcode": "LD3 7HR", "countryISO": "gb"}});
        let placed = json!({"address": {"postcode": "LD3 7HR"}, "coordinates": {"lat": 1, "lon": 2}});
        let completed = json!({
            "address": {"postcode": "LD3 7HR", "countryISO": "gb"}, "coordinates": {"lat": 51.9, "lon": -3.4},
            "coordinatesSource": "postcode",
        });
        for (finding, location, is_due, expected) in [
            (known("LD3 7HR", point), &address, false, &completed),
            (known("LD3 7HR", None), &address, false, &address),
            (known("HR3 5AB", point), &address, true, &address),
            (Finding::Unavailable, &address, true, &address),
            (Finding::NotNeeded, &address, true, &address),
            (known("LD3 7HR", point), &placed, false, &placed),
            (Finding::Unavailable, &placed, false, &placed),
            (Finding::Unavailable, &json!(null), false, &json!(null)),
        ] {
            let mut listing = listing(location);
            assert_eq!(finding.complete(&mut listing), is_due, "{finding:?} {location}");
            assert_eq!(json!(listing.location), *expected, "{finding:?}");
        }
    }
}
