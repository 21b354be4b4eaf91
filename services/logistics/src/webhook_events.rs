//! The events that the service sends to webhooks (docs/api/webhooks.md, "Events").

use common::Error;
use serde_json::Value;
use webhooks::{DataSchema, EventDescription};

use crate::commodities::Catalogue;
use crate::loads::sample_event;
use crate::notifications;

/// What the history has of the changes of loads.
const DETAILS: &[(&str, DataSchema)] =
    &[("userId", DataSchema::Text), ("organisationId", DataSchema::Text), ("changes", DataSchema::Changes)];
/// As [`DETAILS`], with the driver or the carrier to whom a load was sent.
const DETAILS_OF_SENDING: &[(&str, DataSchema)] = &[
    ("userId", DataSchema::Text),
    ("organisationId", DataSchema::Text),
    ("changes", DataSchema::Changes),
    ("driverId", DataSchema::Text),
    ("carrierId", DataSchema::Text),
];
/// `data` of the events of loads.
const LOAD: &[(&str, DataSchema)] = &[("load", DataSchema::Named("Load"))];
/// `data` of the revocation of a driver. To a carrier that lost the load, `load` has `id` and `reference` only.
const REVOKED_DRIVER: &[(&str, DataSchema)] =
    &[("driverId", DataSchema::Text), ("load", DataSchema::Named("Load"))];
/// `data` of a note.
const NOTE: &[(&str, DataSchema)] = &[("load", DataSchema::Named("Load")), ("text", DataSchema::Text)];
/// Who wrote a note.
const AUTHOR: &[(&str, DataSchema)] = &[("userId", DataSchema::Text), ("organisationId", DataSchema::Text)];
/// `data` of the event of a carrier that lost a load.
const RELEASED: &[(&str, DataSchema)] =
    &[("load", DataSchema::Object(&[("id", DataSchema::Id), ("reference", DataSchema::Text)]))];
/// `data` of the notifications to the webhook of the deployment.
const NOTIFICATION: &[(&str, DataSchema)] = &[
    ("notificationId", DataSchema::Id),
    ("loadId", DataSchema::Id),
    ("recipientId", DataSchema::Text),
    ("load", DataSchema::Named("Load")),
];

/// `data` of what all drivers of a load are told, to the webhook of the deployment.
const TO_DRIVERS: &[(&str, DataSchema)] = &[
    ("notificationId", DataSchema::Id),
    ("loadId", DataSchema::Id),
    ("recipientIds", DataSchema::Texts),
    ("load", DataSchema::Named("Load")),
];

const fn of_load(name: &'static str, summary: &'static str) -> EventDescription {
    EventDescription {
        name,
        summary,
        schema: "LoadEventMessage",
        data: LOAD,
        optional: DETAILS_OF_SENDING,
        is_subscribable: true,
    }
}

const fn notification(event: notifications::Event, summary: &'static str) -> EventDescription {
    EventDescription {
        name: event.into_str(),
        summary,
        schema: "NotificationMessage",
        data: NOTIFICATION,
        optional: &[],
        is_subscribable: false,
    }
}

const fn to_drivers(event: notifications::Event, summary: &'static str) -> EventDescription {
    EventDescription {
        name: event.into_str(),
        summary,
        schema: "DriversMessage",
        data: TO_DRIVERS,
        optional: &[],
        is_subscribable: false,
    }
}

const EVENTS: [EventDescription; 18] = [
    of_load("load.created", "A load was created."),
    of_load("load.updated", "A load was edited."),
    of_load("load.cancelled", "A load was cancelled."),
    of_load("load.collected", "The collection of a load was recorded."),
    of_load("load.rejected", "A load was rejected."),
    of_load("load.reopened", "A load was reopened: its cancellation, rejection or completion was undone."),
    of_load("load.completed", "The delivery of a load was proven."),
    of_load("load.corrected", "The proof of delivery of a load was corrected."),
    of_load("load.accepted", "The organiser accepted a load that its carrier created."),
    of_load("load.sent_to_driver", "A load was sent to a driver."),
    of_load("load.sent_to_carrier", "A load was sent to its carrier."),
    EventDescription {
        name: "load.driver_revoked",
        summary: "A driver of a load was revoked.",
        schema: "DriverRevokedMessage",
        data: REVOKED_DRIVER,
        optional: DETAILS,
        is_subscribable: true,
    },
    EventDescription {
        name: "load.noted",
        summary: "Somebody wrote a note on a load.",
        schema: "LoadNotedMessage",
        data: NOTE,
        optional: AUTHOR,
        is_subscribable: true,
    },
    EventDescription {
        name: "load.released",
        summary: "The organisation is no longer the carrier of a load.",
        schema: "LoadReleasedMessage",
        data: RELEASED,
        optional: &[],
        is_subscribable: true,
    },
    notification(
        notifications::Event::SentToDriver,
        "A load was sent to a driver: to the webhook of the deployment (`service.webhook_url`).",
    ),
    notification(
        notifications::Event::SentToCarrier,
        "A load was sent to its carrier: to the webhook of the deployment (`service.webhook_url`).",
    ),
    to_drivers(
        notifications::Event::Cancelled,
        "A load was cancelled: to the webhook of the deployment (`service.webhook_url`).",
    ),
    to_drivers(
        notifications::Event::Rejected,
        "A load was rejected: to the webhook of the deployment (`service.webhook_url`).",
    ),
];

/// Adds the events to the OpenAPI document.
pub(crate) fn describe(document: &mut Value) {
    webhooks::describe(document, &EVENTS);
}

/// Returns the names of the events that organisations can subscribe to.
fn names() -> impl Iterator<Item = &'static str> {
    EVENTS.iter().filter(|event| event.is_subscribable).map(|event| event.name)
}

/// Returns `data` of a sample of each event.
///
/// # Errors
/// Fails if there are no commodities.
pub(crate) fn samples(commodities: &Catalogue) -> Result<Vec<(&'static str, Value)>, Error> {
    names().map(|name| Ok((name, sample_event(name, commodities)?))).collect()
}

/// Describes the metrics of webhooks and sets them to 0.
pub(crate) fn register_metrics() {
    webhooks::register_metrics(&names().collect::<Vec<_>>());
}
