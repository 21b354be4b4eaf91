//! Steps around the proof of delivery: the haulier gives it, the merchant reads it, a stranger may not.

use anyhow::Result;
use serde_json::json;

use super::loads::HaulierLoad;
use super::people::People;
use super::samples::{SIGNED_TICKET, TICKET};
use super::{Walk, check};

const NET: f64 = 29.12;
const REGISTRATION: &str = "VX21 KLM";
const TICKET_NUMBER: &str = "WB-20417";

/// The haulier's load is completed and looked at from three sides.
pub fn run(walk: &mut Walk, people: &People, load: &HaulierLoad) -> Result<()> {
    let haulier = &people.haulier;
    walk.step("The haulier uploads the signed ticket");
    let file = walk.upload(haulier, "images", "weighbridge", &SIGNED_TICKET)?;
    let signed = check::text(&file, "/id")?;

    walk.step("The haulier records the proof of delivery");
    let body = json!({
        "loadId": load.id,
        "weightNet": NET,
        "ticketNumber": TICKET_NUMBER,
        "vehicleRegistration": REGISTRATION,
        "files": [{"id": signed}],
    });
    let url = format!("{}/v1/loads/{}", walk.logistics, load.id);
    let proven = walk.post(Some(haulier), &format!("{url}/proof-of-delivery"), body, 200)?;
    check::equal(&proven, "/status", "completed")?;

    walk.step("The merchant reads the completed load and opens both tickets");
    let read = walk.get(Some(&people.merchant), &url, 200)?;
    check::equal(&read, "/status", "completed")?;
    check::equal(&read, "/weightNet/weight", NET)?;
    check::equal(&read, "/ticketNumber", TICKET_NUMBER)?;
    check::equal(&read, "/vehicleRegistration", REGISTRATION)?;
    check::contains_id(&read, "/files", &load.ticket)?;
    check::contains_id(&read, "/files", signed)?;
    walk.download(&people.merchant, &load.ticket_url, &TICKET)?;
    walk.download(&people.merchant, check::text(&file, "/info/url")?, &SIGNED_TICKET)?;

    walk.step("A stranger sees neither the load nor the ticket");
    let refused = walk.get(Some(&people.stranger), &url, 403)?;
    check::error(&refused, "forbidden")?;
    let refused = walk.get(Some(&people.stranger), &load.ticket_url, 403)?;
    check::error(&refused, "forbidden")
}
