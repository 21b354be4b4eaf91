//! Steps of a market: a draft is published, wished for, reported and sold.

use anyhow::Result;
use serde_json::json;

use super::people::People;
use super::samples::HEIFERS;
use super::{Walk, check, listings};
use crate::client::Body;

/// A listing goes all its way.
pub fn run(walk: &mut Walk, people: &People) -> Result<()> {
    let (farmer, neighbour) = (&people.farmer, &people.neighbour);

    walk.step("The farmer prepares another lot, with a photograph that is not for everybody yet");
    let file = walk.upload(farmer, "images", "misc", &HEIFERS)?;
    let mut body = listings::listing(check::text(&file, "/id")?, &walk.stamp);
    body["isDraft"] = json!(true);
    let created = walk.post(Some(farmer), &format!("{}/v1/listings/cattle", walk.livestock), body, 200)?;
    let id = check::text(&created, "/id")?;
    let url = format!("{}/v1/listings/{id}", walk.livestock);
    let drafts = walk.get(Some(farmer), &format!("{}/v1/listings?f:status=draft", walk.livestock), 200)?;
    check::contains_id(&drafts, "", id)?;

    walk.step("The other farm sees neither the draft nor its photograph");
    let photo = check::text(&file, "/info/url")?;
    for secret in [&url, photo] {
        let refused = walk.get(Some(neighbour), secret, 403)?;
        check::error(&refused, "forbidden")?;
    }

    walk.step("The farmer publishes it, and the other farm sees both");
    walk.call(Some(farmer), "POST", &format!("{url}/publish"), &Body::Empty, 200)?;
    let read = walk.get(Some(neighbour), &url, 200)?;
    check::equal(&read, "/status", "active")?;
    walk.download(neighbour, photo, &HEIFERS)?;

    walk.step("The other farm keeps an eye on it");
    walk.call(Some(neighbour), "PUT", &format!("{url}/wishlist"), &Body::Empty, 200)?;

    walk.step("Somebody reports it, which counts once");
    let complaint = json!({"reason": "misleading", "message": "The photograph is an old one."});
    let report = format!("{url}/report");
    walk.post(Some(&people.stranger), &report, complaint.clone(), 200)?;
    let again = walk.post(Some(&people.stranger), &report, complaint, 409)?;
    check::error(&again, "conflict")?;

    walk.step("The farmer sells them, which stays so");
    let close = format!("{url}/close");
    walk.post(Some(farmer), &close, json!({"status": "sold"}), 200)?;
    let late = walk.post(Some(farmer), &close, json!({"status": "cancelled"}), 409)?;
    check::error(&late, "conflict")?;

    walk.step("The other farm sees on its wishlist that they are sold");
    let wished = format!("{}/v1/listings?isWishlisted=true&limit=1", walk.livestock);
    let found = walk.get(Some(neighbour), &wished, 200)?;
    check::equal(&found, "/0/id", id)?;
    check::equal(&found, "/0/status", "sold")
}
