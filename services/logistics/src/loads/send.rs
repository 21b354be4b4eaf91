//! Sending a load to its driver or carrier (docs/api/loads.md, "Send to a driver or carrier"): request bodies and
//! rules.

use common::wire::{ExternalId, Name};
use common::{Caller, Error, Reason};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::examples;
use crate::loads::model::Load;
use crate::loads::party::{Party, parties};
use crate::loads::status::Action;
use crate::notifications::Event;

/// The driver of a load (docs/api/loads.md).
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(example = json!({ "loadId": examples::LOAD, "driverId": examples::DRIVER }))]
pub(crate) struct SendToDriver {
    /// Id of the load.
    #[schema(required = true, min_length = 1, extensions(("x-text" = json!("line"))))]
    pub(crate) load_id: String,
    /// Claim `sub` of the driver, who may then read the load and prove its delivery.
    #[schema(required = true)]
    pub(crate) driver_id: ExternalId,
}

/// The carrier of a load (docs/api/loads.md).
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(example = json!({
    "loadId": examples::LOAD, "carrierId": "hereford-haulage", "carrierName": "Hereford Haulage",
}))]
pub(crate) struct SendToCarrier {
    /// Id of the load.
    #[schema(required = true, min_length = 1, extensions(("x-text" = json!("line"))))]
    pub(crate) load_id: String,
    /// Id of the organisation, which becomes the carrier of a load without one.
    #[schema(required = true)]
    pub(crate) carrier_id: ExternalId,
    /// Name of the organisation, for a load without carrier. Defaults to the id.
    pub(crate) carrier_name: Option<Name>,
}

/// The recipient of a load.
#[derive(Clone, Debug)]
pub(crate) enum Recipient {
    /// Claim `sub` of the driver.
    Driver(String),
    /// The organisation that carries the load, by id and name.
    Carrier { id: String, name: String },
}

impl Recipient {
    /// Returns the id of the driver or organisation.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Driver(id) | Self::Carrier { id, .. } => id,
        }
    }

    /// Returns the event that reports the sending of a load to this recipient.
    pub(crate) fn event(&self) -> Event {
        match self {
            Self::Driver(_) => Event::SentToDriver,
            Self::Carrier { .. } => Event::SentToCarrier,
        }
    }

    /// Checks that the load can be sent to this recipient. Makes a carrier the carrier of a load without one, and then
    /// returns true.
    ///
    /// # Errors
    /// 409 if the load has ended, or if this is a carrier and the load has another one, or is collected without one.
    pub(crate) fn check_and_assign(&self, load: &mut Load) -> Result<bool, Error> {
        Action::Send.check(load.status)?;
        let Self::Carrier { id, name } = self else { return Ok(false) };
        if load.carrier_id() == Some(id) {
            return Ok(false);
        }
        Action::AssignCarrier.check(load.status)?;
        if load.carrier_id().is_some() {
            return Err(Error::conflict(
                Reason::CarrierDiffers,
                "This load is carried by another organisation.",
            ));
        }
        load.carrier = Some(Party { id: Some(id.clone()), name: name.clone() });
        Ok(true)
    }
}

/// Returns the organisations whose files the caller may share with the carrier: the creator of the load, and also the
/// parties if the creator is none of them. So a carrier that enters a load cannot name a file of the organiser, who
/// would share it by sending the load. `before` is the load before it got this carrier.
///
/// An `admin` may have created the load for others: then its own organisation is never a party, and has no part in it.
pub(crate) fn file_owners<'a>(before: &Load, load: &'a Load, caller: &Caller) -> Vec<&'a str> {
    let mut owners = load.parties();
    let Some(creator) = load.creator_id() else { return owners };
    if owners.contains(&creator) {
        return vec![creator];
    }
    if !caller.admin || before.parties().contains(&creator) {
        owners.push(creator);
    }
    owners
}

/// Returns true if the load may have files that the caller may share with its carrier: those of an owner other than the
/// carrier itself. `before` is the load before it got this carrier.
pub(crate) fn may_share_files(caller: &Caller, before: &Load, load: &Load) -> bool {
    let Some(carrier) = parties(None, load.carrier.as_ref()).pop() else { return false };
    let may_share = |owner: &&str| *owner != carrier && (caller.admin || caller.acts_for(owner));
    file_owners(before, load, caller).iter().any(may_share)
}
