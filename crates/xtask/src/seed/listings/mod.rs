//! Listings of the sample market: of all categories and states.

mod body;
mod lots;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use stack::http::Body;
use stack::random::Random;

use self::body::{Listing, listing};
use super::market::{Market, id_of};
use super::people::{FARMS, Person};
use super::photo;

/// Number of listings.
pub const COUNT: usize = 200;

/// Every so many-th listing is on the wishlist of the buyer.
const WISHLIST_PERIOD: usize = 23;
/// User id of the buyer.
const BUYER: &str = "tom";

/// Creates the listings that do not exist. Returns how many those are.
pub fn create(market: &Market<'_>, locations: &[Value]) -> Result<usize> {
    let existing = existing(market)?;
    let mut created = 0;
    for number in 1..=COUNT {
        let listing = listing(number, locations, market.today);
        if !existing.contains(&listing.tag) {
            create_one(market, number, listing).with_context(|| format!("listing {number}"))?;
            created += 1;
        }
    }
    Ok(created)
}

fn create_one(market: &Market<'_>, number: usize, listing: Listing) -> Result<()> {
    let Listing { farmer, path, mut body, photo, state, .. } = listing;
    if let Some((subject, name)) = photo {
        let png = photo::listing(subject, number)?;
        let file = market.upload(farmer, "image", &name, &format!("photograph-{number}"), png)?;
        body["files"] = json!([{"id": file}]);
    }
    let url = format!("{}/v1/listings", market.livestock);
    let created =
        market.post(farmer, &format!("{url}/{path}"), &format!("listing-{number}"), &Body::Json(body))?;
    let url = format!("{url}/{}", id_of(&created)?);
    if !["draft", "active"].contains(&state) {
        let body = Body::Json(json!({"status": state}));
        market.post(farmer, &format!("{url}/close"), &format!("close-{number}"), &body)?;
    }
    let buyer = buyer();
    if number.is_multiple_of(WISHLIST_PERIOD) && farmer != buyer && state != "draft" {
        market.put(buyer, &format!("{url}/wishlist"))?;
    }
    Ok(())
}

/// The CSV exports of all listings, drafts of the farms included.
fn existing(market: &Market<'_>) -> Result<String> {
    let export = |person: Person, status: &str| -> Result<String> {
        let url = format!("{}/v1/listings?format=CSV&f:status={status}", market.livestock);
        Ok(String::from_utf8_lossy(&market.get(person, &url)?.bytes).into_owned())
    };
    let mut all = String::new();
    for status in ["", "sold", "found", "cancelled"] {
        all += &export(buyer(), status)?;
    }
    for farm in &FARMS {
        all += &export(farm.person, "draft")?;
    }
    Ok(all)
}

fn buyer() -> Person {
    FARMS.iter().map(|farm| farm.person).find(|person| person.user == BUYER).unwrap_or(FARMS[0].person)
}

/// Draws an index with a probability in proportion to its share.
pub(super) fn weighted(random: &mut Random, shares: impl Iterator<Item = usize> + Clone) -> usize {
    let mut left = random.below(shares.clone().sum());
    shares
        .enumerate()
        .find(|(_, share)| {
            let here = left < *share;
            left = left.saturating_sub(*share);
            here
        })
        .map_or(0, |(index, _)| index)
}
