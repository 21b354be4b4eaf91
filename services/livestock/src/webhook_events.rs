//! The events that the service sends to webhooks (docs/api/webhooks.md, "Events").

use serde_json::Value;
use webhooks::{DataSchema, EventDescription};

/// A listing became visible to everybody.
pub(crate) const PUBLISHED: &str = "listing.published";
/// An active listing was edited.
pub(crate) const UPDATED: &str = "listing.updated";
/// A saved search found a listing for the first time.
pub(crate) const MATCHED: &str = "listing.matched";
/// A listing was closed.
pub(crate) const CLOSED: &str = "listing.closed";

/// Somebody enquired about a listing.
pub(crate) const ENQUIRY: &str = "listing.enquiry";

const fn of_listing(name: &'static str, summary: &'static str) -> EventDescription {
    EventDescription {
        name,
        summary,
        schema: "ListingEventMessage",
        data: &[("listing", DataSchema::Named("Listing"))],
        optional: &[
            ("userId", DataSchema::Text),
            ("organisationId", DataSchema::Text),
            ("changes", DataSchema::Changes),
        ],
        is_subscribable: true,
    }
}

const EVENTS: [EventDescription; 5] = [
    of_listing(PUBLISHED, "A listing was published."),
    of_listing(UPDATED, "An active listing was edited."),
    of_listing(CLOSED, "A listing was closed."),
    EventDescription {
        name: MATCHED,
        summary: "Saved searches of users of the organisation found a listing for the first time.",
        optional: &[],
        schema: "ListingMatchedMessage",
        data: &[
            ("savedSearchId", DataSchema::Id),
            ("name", DataSchema::Text),
            ("userId", DataSchema::Text),
            ("matches", DataSchema::Matches),
            ("listing", DataSchema::Named("Listing")),
        ],
        is_subscribable: true,
    },
    EventDescription {
        name: ENQUIRY,
        summary: "Somebody enquired about a listing.",
        schema: "ListingEnquiryMessage",
        data: &[("listing", DataSchema::Named("Listing")), ("enquiry", DataSchema::Named("Enquiry"))],
        optional: &[],
        is_subscribable: true,
    },
];

/// Adds the events to the OpenAPI document.
pub(crate) fn describe(document: &mut Value) {
    webhooks::describe(document, &EVENTS);
}

/// Describes the metrics of webhooks and sets them to 0.
pub(crate) fn register_metrics() {
    webhooks::register_metrics(&EVENTS.map(|event| event.name));
}
