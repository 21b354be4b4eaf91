//! Request bodies that send a load.

use common::wire::{ExternalId, Name};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::examples;

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
