//! The point that the parameter `near` names (`docs/api/listings.md`, "Search").

use common::Error;
use common::system::{PlaceClient, PostcodeQuery, PublicCall};
use common::wire::Postcode;

use super::geo::Point;
use super::search::{ListingSearch, ListingSearchParams};

/// The most characters of a postcode.
const MAX_CHARS: usize = 10;

/// Returns the coordinates of a postcode, an outward code or a sector. `None` if it is not known.
///
/// # Errors
/// 503 if system is unavailable.
pub(crate) async fn find_point(
    places: &PlaceClient,
    by: &PublicCall,
    text: &str,
) -> Result<Option<Point>, Error> {
    let Postcode(postcode) = Postcode::parse(text);
    if !has_form_of_postcode(&postcode) {
        return Ok(None);
    }
    let found = places.find_postcode(by, &PostcodeQuery { postcode, country: None }).await;
    let found =
        found.map_err(|cause| Error::Unavailable(cause, "The system service, which has the places,"))?;
    Ok(found.map(|point| Point { lat: point.lat, lon: point.lon }))
}

/// Returns whether a text can be a British or Irish postcode or its beginning.
fn has_form_of_postcode(text: &str) -> bool {
    (2..=MAX_CHARS).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b' ' || byte == b'-')
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Parses a search with the point of its parameter `near`, if it has one.
///
/// # Errors
/// As [`find_point`].
pub(crate) async fn parse_search(
    places: &PlaceClient,
    by: &PublicCall,
    parameters: &ListingSearchParams,
    parse: impl FnOnce(Option<Point>) -> ListingSearch,
) -> Result<ListingSearch, Error> {
    let found = match parameters.near() {
        Some(text) => find_point(places, by, text).await,
        None => Ok(None),
    };
    match found {
        Ok(point) => Ok(parse(point)),
        Err(error) => {
            // The other parameters are checked nevertheless.
            parse(Some(Point { lat: 0.0, lon: 0.0 }));
            Err(error)
        }
    }
}
