//! The enquiry that the examples of the OpenAPI document name, and the sample for tests of webhooks.

use common::Error;
use database::{AnyConnection, Id, Timestamp};
use diesel::prelude::*;
use serde_json::{Value, json};

use super::model::{Enquiry, EnquiryStatus};
use crate::examples;
use crate::listings::take_event_numbers;
use crate::schema::enquiries::{self, dsl as q};

const MESSAGE: &str = "Are the steers still for sale, and can I see them on Saturday?";
const NAME: &str = "Tom Price";
const PHONE: &str = "+44 7700 900123";

fn id(text: &str) -> Result<Id, Error> {
    Id::parse(text).ok_or_else(|| Error::Internal(anyhow::anyhow!("an example is no id")))
}

/// Stores the enquiry, unless it exists.
pub(crate) fn create_demo_enquiry(c: &mut AnyConnection) -> Result<(), Error> {
    let of_id = q::enquiries.filter(q::id.eq(id(examples::ENQUIRY)?));
    if diesel::select(diesel::dsl::exists(of_id)).get_result(c)? {
        return Ok(());
    }
    let row = (
        q::id.eq(id(examples::ENQUIRY)?),
        q::listing_id.eq(id(examples::LISTING)?),
        q::organisation_id.eq("penybont-farm"),
        q::revision.eq(1),
        q::user_id.eq("tom"),
        q::day.eq(0),
        q::slot.eq(1),
        q::message.eq(MESSAGE),
        q::name.eq(NAME),
        q::phone.eq(PHONE),
        q::status.eq(EnquiryStatus::Open.as_str()),
        q::created_at.eq(Timestamp::now()),
    );
    match c {
        AnyConnection::Postgres(c) => diesel::insert_into(enquiries::table).values(row).execute(c)?,
        AnyConnection::Sqlite(_) => {
            let place = (q::n.eq(take_event_numbers(c, 1)?), q::position.eq(database::feed::SQLITE_POSITION));
            diesel::insert_into(enquiries::table).values((place, row)).execute(c)?
        }
    };
    Ok(())
}

/// Returns the data of the event about a listing.
///
/// # Errors
/// If the listing cannot be serialized.
pub(crate) fn sample_event(listing: &Value) -> Result<Value, Error> {
    let enquiry = Enquiry {
        id: id(examples::ENQUIRY)?,
        listing_id: id(examples::LISTING)?,
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
