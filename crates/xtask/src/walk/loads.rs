//! Steps of haulier and merchant: tickets, contracts, loads, finding them again.

use anyhow::Result;
use serde_json::json;

use super::people::People;
use super::samples::{CONTRACT, TICKET};
use super::{Walk, check, date};

/// What later steps need of the haulier's load.
pub struct HaulierLoad {
    /// Id of the load.
    pub id: String,
    /// Id of the ticket's file.
    pub ticket: String,
    /// Download address of the ticket.
    pub ticket_url: String,
}

/// What later steps need of the merchant's load.
pub struct MerchantLoad {
    /// Id of the load.
    pub id: String,
    /// Download address of the contract.
    pub contract_url: String,
}

/// Both parties create a load with a document; the haulier finds the own one.
pub fn run(walk: &mut Walk, people: &People) -> Result<(HaulierLoad, MerchantLoad)> {
    let load = create_as_carrier(walk, people)?;
    let other = create_as_organiser(walk, people)?;
    walk.step("The haulier finds the load by its reference");
    let url = format!(
        "{}/v1/loads?query={}&f:carrierId={}",
        walk.logistics,
        carrier_reference(walk),
        people.haulier.org
    );
    let found = walk.get(Some(&people.haulier), &url, 200)?;
    check::contains_id(&found, "", &load.id)?;
    check::equal(&found, "/0/reference", carrier_reference(walk))?;
    Ok((load, other))
}

fn carrier_reference(walk: &Walk) -> String {
    format!("HH-{}", walk.stamp)
}

fn create_as_carrier(walk: &mut Walk, people: &People) -> Result<HaulierLoad> {
    let (haulier, merchant) = (&people.haulier, &people.merchant);
    walk.step("The haulier uploads a photograph of the weighbridge ticket");
    let file = walk.upload(haulier, "images", "weighbridge", &TICKET)?;
    let ticket = check::text(&file, "/id")?.to_owned();
    let ticket_url = check::text(&file, "/info/url")?.to_owned();

    walk.step("The haulier enters a load (carrier form) with that ticket");
    let body = json!({
        "organisationId": merchant.org,
        "organisationName": merchant.org_name,
        "carrierId": haulier.org,
        "carrierName": haulier.org_name,
        "commodityId": 1,
        "reference": carrier_reference(walk),
        "deliveryDateISO": date::tomorrow(),
        "weight": 29.4,
        "pickupPostcode": "HR4 9AR",
        "dropoffPostcode": "SY8 1EG",
        "tags": ["harvest"],
        "files": [{"id": ticket}],
    });
    let load = walk.post(Some(haulier), &format!("{}/v1/loads/carrier", walk.logistics), body, 200)?;
    check::uuid(&load, "/id")?;
    check::equal(&load, "/status", "upcoming")?;
    check::equal(&load, "/carrier/id", haulier.org)?;
    check::equal(&load, "/organiser/id", merchant.org)?;
    check::equal(&load, "/organiser/name", merchant.org_name)?;
    check::equal(&load, "/commodity/id", 1)?;
    check::equal(&load, "/weight/weight", 29.4)?;
    check::equal(&load, "/pickupPostcode", "HR4 9AR")?;
    check::equal(&load, "/files/0/id", ticket.as_str())?;
    check::equal(&load, "/files/0/name", check::text(&file, "/info/name")?)?;
    check::equal(&load, "/files/0/url", ticket_url.as_str())?;
    check::equal(&load, "/files/0/userName", haulier.name)?;
    Ok(HaulierLoad { id: check::text(&load, "/id")?.to_owned(), ticket, ticket_url })
}

fn create_as_organiser(walk: &mut Walk, people: &People) -> Result<MerchantLoad> {
    let merchant = &people.merchant;
    walk.step("The merchant uploads the contract of sale");
    let file = walk.upload(merchant, "files", "contract", &CONTRACT)?;
    let contract = check::text(&file, "/id")?;

    walk.step("The merchant enters a load (organiser form) with that contract");
    let body = json!({
        "organiserId": merchant.org,
        "organiserName": merchant.org_name,
        "commodityId": 1,
        "reference": format!("BG-{}", walk.stamp),
        "deliveryDateISO": date::tomorrow(),
        "weight": 28,
        "weightNet": null,
        "files": [{"id": contract}],
        "tags": ["contract"],
    });
    let load = walk.post(Some(merchant), &format!("{}/v1/loads/organiser", walk.logistics), body, 200)?;
    check::equal(&load, "/status", "upcoming")?;
    check::equal(&load, "/organiser/id", merchant.org)?;
    // Only the id was sent; name and address come from the system service.
    check::equal(&load, "/files/0/name", check::text(&file, "/info/name")?)?;
    let contract_url = check::text(&file, "/info/url")?.to_owned();
    check::equal(&load, "/files/0/url", contract_url.as_str())?;
    Ok(MerchantLoad { id: check::text(&load, "/id")?.to_owned(), contract_url })
}
