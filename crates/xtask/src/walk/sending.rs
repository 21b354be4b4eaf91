//! Steps of sending: the merchant's load goes to a haulier, from there to a driver, who proves its delivery.

use anyhow::Result;
use serde_json::json;

use super::loads::MerchantLoad;
use super::people::People;
use super::samples::CONTRACT;
use super::{Walk, check};

/// The merchant's load finds its haulier and its driver.
pub fn run(walk: &mut Walk, people: &People, load: &MerchantLoad) -> Result<()> {
    let (haulier, driver) = (&people.haulier, &people.driver);
    let url = format!("{}/v1/loads/{}", walk.logistics, load.id);

    walk.step("The merchant sends the load to the haulier");
    let body = json!({"loadId": load.id, "carrierId": haulier.org, "carrierName": haulier.org_name});
    let way = format!("{}/v1/loads/send-to-carrier", walk.logistics);
    let sent = walk.post(Some(&people.merchant), &way, body, 200)?;
    check::equal(&sent, "/status", "success")?;
    check::uuid(&sent, "/id")?;

    walk.step("It is the haulier's to carry now, with the contract");
    let read = walk.get(Some(haulier), &url, 200)?;
    check::equal(&read, "/carrier/id", haulier.org)?;
    check::equal(&read, "/carrier/name", haulier.org_name)?;
    walk.download(haulier, &load.contract_url, &CONTRACT)?;

    walk.step("The haulier sends it on to a driver, who sees it from then on");
    walk.get(Some(driver), &url, 403)?;
    let body = json!({"loadId": load.id, "driverId": driver.id});
    let sent = walk.post(Some(haulier), &format!("{}/v1/loads/send-to-driver", walk.logistics), body, 200)?;
    let notification = check::text(&sent, "/id")?;
    walk.get(Some(driver), &url, 200)?;

    walk.step("The driver proves the delivery");
    let body = json!({"weightNet": 27.9, "ticketNumber": "WB-20418", "vehicleRegistration": "cx70 dai", "files": null});
    let proven = walk.post(Some(driver), &format!("{url}/proof-of-delivery"), body, 200)?;
    check::equal(&proven, "/status", "completed")?;
    check::equal(&proven, "/vehicleRegistration", "CX70 DAI")?;

    walk.step("The merchant looks who was notified");
    let log = walk.get(Some(&people.merchant), &format!("{url}/notifications"), 200)?;
    check::contains_id(&log, "", notification)?;
    check::equal(&log, "/0/event", "load.sent_to_driver")
}
