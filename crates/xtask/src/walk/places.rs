//! Steps of somebody without an account: a place is found by a misspelt name, by its id and by three words.

use anyhow::Result;

use super::{Walk, check};

/// A place is searched for, and its location read in each of the ways.
pub fn run(walk: &mut Walk) -> Result<()> {
    let base = format!("{}/v1", walk.system);
    walk.step("A buyer searches for a market town and misspells it");
    let found = walk.get(None, &format!("{base}/addresses?query=herefrod&limit=2"), 200)?;
    check::equal(&found, "/text", "Hereford")?;
    check::equal(&found, "/type", "place")?;
    let id = check::text(&found, "/id")?;

    walk.step("The buyer's app asks where that is");
    let place = walk.get(None, &format!("{base}/locations/address?id={id}"), 200)?;
    check::equal(&place, "/address/regionISO", "GB-HEF")?;
    check::equal(&place, "/address/countryISO", "GB")?;
    let words = check::text(&place, "/threeWords")?;

    walk.step("A friend who was told the three words finds the same spot");
    let spot = walk.get(None, &format!("{base}/locations/three-words?query={words}"), 200)?;
    check::equal(&spot, "/threeWords", words)?;
    check::equal(&spot, "/address/name", "Hereford")
}
