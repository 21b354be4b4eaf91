//! The columns of a sheet.

/// The columns of a sheet: the name in the API, and what people read.
pub(crate) const COLUMNS: [(&str, &str); 17] = [
    ("reference", "Reference"),
    ("deliveryDateISO", "Delivery date"),
    ("carrierName", "Haulier"),
    ("carrierId", "Haulier, id"),
    ("organiserName", "Organiser"),
    ("organiserId", "Organiser, id"),
    ("commodityName", "Commodity"),
    ("commodityId", "Commodity, number"),
    ("weight", "Planned t"),
    ("weightNet", "Net t"),
    ("weightUnit", "Unit"),
    ("pickupPostcode", "From, postcode"),
    ("dropoffPostcode", "To, postcode"),
    ("vehicleRegistration", "Vehicle"),
    ("ticketNumber", "Ticket"),
    ("tags", "Tags"),
    ("id", "Id of the load"),
];

/// Returns what people read for a column.
pub(crate) fn column_label(name: &str) -> &str {
    COLUMNS.iter().find(|(known, _)| *known == name).map_or(name, |(_, label)| label)
}
