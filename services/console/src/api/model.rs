//! What the console reads of the services' resources. Members that it does not show are left out.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// A load.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Load {
    pub(crate) id: String,
    pub(crate) reference: String,
    pub(crate) status: String,
    pub(crate) revision: i64,
    pub(crate) commodity: Named,
    pub(crate) organiser: Option<Party>,
    pub(crate) carrier: Option<Party>,
    pub(crate) created_by: Option<CreatedBy>,
    #[serde(rename = "deliveryDateISO")]
    pub(crate) delivery: String,
    pub(crate) pickup_postcode: Option<String>,
    pub(crate) dropoff_postcode: Option<String>,
    pub(crate) vehicle_registration: Option<String>,
    pub(crate) ticket_number: Option<String>,
    pub(crate) weight: Option<Weight>,
    pub(crate) weight_net: Option<Weight>,
    pub(crate) weight_gross: Option<Weight>,
    pub(crate) weight_tare: Option<Weight>,
    pub(crate) quality: Vec<Quality>,
    pub(crate) collection: Option<Collection>,
    pub(crate) rejection: Option<Rejection>,
    pub(crate) files: Vec<FileReference>,
    pub(crate) tags: Vec<String>,
    #[serde(rename = "completedAtUTC")]
    pub(crate) completed_at: Option<String>,
    #[serde(rename = "updatedAtUTC")]
    pub(crate) updated_at: String,
    /// This and the next only in a list that asks for it.
    pub(crate) newest_note: Option<Note>,
    pub(crate) driver_ids: Vec<String>,
}

/// A note on a load.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Note {
    pub(crate) user_id: Option<String>,
    pub(crate) user_name: String,
    #[serde(rename = "atUTC")]
    pub(crate) at: String,
    pub(crate) text: Option<String>,
}

/// An entry of a catalogue.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Named {
    pub(crate) id: i64,
    pub(crate) name: String,
}

/// An organisation of a load. Without an id, nobody of it has access.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Party {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
}

/// The organisation that created a load.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct CreatedBy {
    pub(crate) organisation_id: String,
}

/// A weight.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Weight {
    /// In the unit of the load.
    pub(crate) weight: f64,
    /// Kilograms in one unit.
    pub(crate) conversion: f64,
}

impl Weight {
    /// Returns the weight in tonnes.
    pub(crate) fn tonnes(self) -> f64 {
        self.weight * self.conversion / 1000.0
    }
}

/// A measured value.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Quality {
    pub(crate) measure: String,
    pub(crate) value: f64,
    pub(crate) unit: String,
}

/// What was loaded.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Collection {
    #[serde(rename = "atUTC")]
    pub(crate) at: String,
    pub(crate) weight_net: Option<Weight>,
    pub(crate) weight_gross: Option<Weight>,
    pub(crate) weight_tare: Option<Weight>,
    pub(crate) ticket_number: Option<String>,
    pub(crate) vehicle_registration: Option<String>,
    pub(crate) quality: Vec<Quality>,
    pub(crate) files: Vec<FileReference>,
}

/// Why a load was refused.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Rejection {
    #[serde(rename = "atUTC")]
    pub(crate) at: String,
    pub(crate) reason: String,
    pub(crate) note: Option<String>,
    pub(crate) quality: Vec<Quality>,
    pub(crate) files: Vec<FileReference>,
}

/// A file of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct FileReference {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) user_name: String,
}

/// What system returns about a file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct FileInfo {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) content_type: String,
    pub(crate) user_name: String,
    pub(crate) organisation_id: Option<String>,
    /// With whom it is shared; `*` stands for everybody.
    pub(crate) organisations: Vec<String>,
    pub(crate) status: String,
    #[serde(rename = "createdAtUTC")]
    pub(crate) created_at: String,
    pub(crate) size: u64,
}

/// An event of the history of a load.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Event {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(rename = "atUTC")]
    pub(crate) at: String,
    pub(crate) user_name: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) changes: BTreeMap<String, Change>,
}

/// The change of a member.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Change {
    pub(crate) from: Value,
    pub(crate) to: Value,
}

/// A page of the feed of events.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FeedPage {
    pub(crate) events: Vec<FeedEvent>,
    pub(crate) cursor: String,
    /// Whether there may be events after the cursor.
    pub(crate) more: bool,
}

/// An event of the feed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct FeedEvent {
    /// As in the history, after `load.`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(rename = "atUTC")]
    pub(crate) at: String,
    pub(crate) load_id: String,
    pub(crate) reference: String,
    pub(crate) user_id: Option<String>,
    pub(crate) user_name: Option<String>,
    pub(crate) text: Option<String>,
}

/// A driver of a load.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Driver {
    pub(crate) driver_id: String,
    #[serde(rename = "sentAtUTC")]
    pub(crate) sent_at: String,
}

/// A notification of a load, which went to a driver, to the haulier, or to all drivers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Notification {
    pub(crate) id: String,
    pub(crate) event: String,
    /// Empty for all drivers.
    pub(crate) recipient_id: String,
    pub(crate) status: String,
    #[serde(rename = "createdAtUTC")]
    pub(crate) created_at: String,
    #[serde(rename = "deliveredAtUTC")]
    pub(crate) delivered_at: Option<String>,
}

/// Sums of loads.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Summary {
    pub(crate) total: Sums,
    pub(crate) groups: Vec<Group>,
}

/// A group of [`Summary`].
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Group {
    pub(crate) key: String,
    #[serde(flatten)]
    pub(crate) sums: Sums,
}

/// A number of loads and their weights in tonnes.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Sums {
    pub(crate) count: u64,
    pub(crate) weight: f64,
    pub(crate) weight_net: f64,
}

/// The outcome of an action on many loads.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ActionResults {
    pub(crate) done: u64,
    pub(crate) unchanged: u64,
    pub(crate) failed: u64,
    pub(crate) results: Vec<ActionResult>,
    pub(crate) warnings: Vec<Warning>,
}

/// The outcome for one load.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ActionResult {
    pub(crate) id: String,
    pub(crate) status: String,
    pub(crate) error: Option<ActionError>,
}

/// Why an action on a load failed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ActionError {
    pub(crate) message: String,
}

/// A webhook.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Webhook {
    pub(crate) id: String,
    pub(crate) url: String,
    pub(crate) status: String,
    pub(crate) scope: String,
    pub(crate) events: Vec<String>,
    pub(crate) description: Option<String>,
    pub(crate) disabled_reason: Option<String>,
    pub(crate) revision: i64,
    #[serde(rename = "updatedAtUTC")]
    pub(crate) updated_at: String,
    /// Only where it was just made.
    pub(crate) secret: Option<String>,
}

/// How much of the store an organisation uses.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Usage {
    pub(crate) bytes: u64,
    pub(crate) files: u64,
    pub(crate) maximum_bytes: u64,
}

/// A driver of the address book.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct KnownDriver {
    pub(crate) driver_id: String,
    pub(crate) name: Option<String>,
}

/// Something that looks wrong and is accepted.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Warning {
    pub(crate) message: String,
    pub(crate) data: Value,
}
