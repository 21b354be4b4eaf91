//! The columns of loads as CSV: what search and export write, batch takes back (contract, section 4).

/// In the order that they are written.
pub(super) const COLUMNS: [&str; 20] = [
    "id",
    "reference",
    "status",
    "deliveryDateISO",
    "organiserId",
    "organiserName",
    "carrierId",
    "carrierName",
    "commodityId",
    "commodityName",
    "weight",
    "weightNet",
    "weightUnit",
    "vehicleRegistration",
    "ticketNumber",
    "pickupPostcode",
    "dropoffPostcode",
    "tags",
    "files",
    "completedAtUTC",
];
