//! The enquiry that the examples of the OpenAPI document name, and the sample for tests of webhooks.

use common::Error;
use database::{AnyConnection, Id, Timestamp};
use serde_json::{Value, json};

use super::store::{self, NewEnquiry};
use crate::examples;
use crate::listings::{Enquiry, EnquiryStatus};

const MESSAGE: &str = "Are the steers still for sale, and can I see them on Saturday?";
const NAME: &str = "Tom Price";
const PHONE: &str = "+44 7700 900123";

fn id(text: &str) -> Result<Id, Error> {
    Id::parse(text).ok_or_else(|| Error::Internal(anyhow::anyhow!("an example is no id")))
}

/// Stores the enquiry, unless it exists.
pub(crate) fn create_demo_enquiry(c: &mut AnyConnection) -> Result<(), Error> {
    if store::exists(c, id(examples::ENQUIRY)?)? {
        return Ok(());
    }
    let enquiry = NewEnquiry {
        id: id(examples::ENQUIRY)?,
        listing_id: id(examples::LISTING)?,
        organisation_id: "penybont-farm",
        revision: 1,
        user_id: "tom",
        day: 0,
        slot: 1,
        message: MESSAGE,
        name: NAME,
        phone: Some(PHONE),
        email: None,
        status: EnquiryStatus::Open.as_str(),
        created_at: Timestamp::now(),
    };
    store::insert(c, &enquiry).map(drop)
}

/// Returns the data of the event about a listing.
///
/// # Errors
/// If the listing cannot be serialized.
pub(crate) fn sample_event(listing: &Value) -> Result<Value, Error> {
    let enquiry = Enquiry {
        id: id(examples::ENQUIRY)?,
        listing_id: id(listing["id"].as_str().unwrap_or_default())?,
        message: MESSAGE.to_owned(),
        name: NAME.to_owned(),
        phone: Some(PHONE.to_owned()),
        email: None,
        status: EnquiryStatus::Open.as_str().to_owned(),
        created_at: Timestamp::now(),
        answered_at: None,
    };
    Ok(json!({ "listing": listing, "enquiry": serde_json::to_value(enquiry)? }))
}
