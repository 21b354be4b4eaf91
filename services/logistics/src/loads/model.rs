//! The load: its document and status.

use common::wire::{FileReference, Warning, WeightMeasure, fold};
use common::{Caller, first_revision};
use database::{Id, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::collection::Collection;
use super::history::NewestNote;
use super::party::{CreatedBy, Party, parties};
use super::quality::{Quality, QualityWithUnit};
use super::rejection::Rejection;
use super::status::Status;
use super::weights::ComparedWeight;

/// A consignment of one commodity, ordered by an organiser and moved by a carrier (docs/api/loads.md).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Load {
    /// The load's id, a UUIDv7.
    #[schema(value_type = String, format = Uuid)]
    pub id: Id,
    /// The parties' own reference.
    pub reference: String,
    /// The organisation that ordered the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub organiser: Option<Party>,
    /// The organisation that moves the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub carrier: Option<Party>,
    /// The commodity that is moved.
    pub commodity: Commodity,
    /// When the load is due.
    #[serde(rename = "deliveryDateISO")]
    #[schema(value_type = String, format = DateTime)]
    pub delivery_date: Timestamp,
    /// The postcode of the destination. UK and Irish postcodes are normalized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub dropoff_postcode: Option<String>,
    /// The postcode of the origin, normalized like `dropoffPostcode`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub pickup_postcode: Option<String>,
    /// The agreed weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub weight: Option<WeightMeasure>,
    /// The weight of the loaded vehicle, from the weighbridge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub weight_gross: Option<WeightMeasure>,
    /// The weight of the empty vehicle, from the weighbridge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub weight_tare: Option<WeightMeasure>,
    /// The net weight from the weighbridge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub weight_net: Option<WeightMeasure>,
    /// The registration of the vehicle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub vehicle_registration: Option<String>,
    /// The number of the weighbridge ticket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub ticket_number: Option<String>,
    /// The quality at the delivery, from its proof.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<QualityWithUnit>)]
    pub quality: Vec<Quality>,
    /// What was loaded, once the load is collected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub collection: Option<Box<Collection>>,
    /// Why the recipient refused the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub rejection: Option<Box<Rejection>>,
    /// `upcoming`, then perhaps `collected`, then `completed` or `rejected`; or `cancelled`.
    pub status: Status,
    /// Files such as tickets, contracts and photographs.
    pub files: Vec<FileReference>,
    /// Free-form labels.
    pub tags: Vec<String>,
    /// When the load was created.
    #[serde(rename = "createdAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// The number of the revision, as in `ETag`: 1, and one more with each change.
    #[serde(default = "first_revision")]
    #[schema(required = true)]
    pub revision: i64,
    /// When this revision was stored.
    #[serde(rename = "updatedAtUTC", default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = DateTime, required = true)]
    pub updated_at: Option<Timestamp>,
    /// When the load was delivered.
    #[serde(rename = "completedAtUTC", default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub completed_at: Option<Timestamp>,
    /// The organisation that created the load. Absent if an `admin` without an organisation did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub created_by: Option<CreatedBy>,
    /// The batch that created the load. Absent if another operation did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Uuid, nullable = false)]
    pub batch_id: Option<Id>,
    /// The newest note on the load that the caller can read. Only in a search with `include=newestNote`, and never
    /// stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub newest_note: Option<Box<NewestNote>>,
    /// The ids of the drivers to whom the load was sent and whom the caller can list. Only in a search with
    /// `include=driverIds`, and never stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub driver_ids: Option<Vec<String>>,
    /// What looks wrong about a new load, an edit, a collection, a proof of delivery or its correction. Only in the
    /// response to these, and never stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// The commodity of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Commodity {
    /// The commodity's id in the catalogue.
    pub id: i32,
    /// The commodity's name in the catalogue.
    pub name: String,
}

impl Load {
    /// Begins the next revision, for a change that is stored.
    pub fn revise(&mut self) {
        self.revision += 1;
        self.updated_at = Some(Timestamp::now());
    }

    /// Returns the text that free-text queries match: folded, one line per field.
    pub fn search_text(&self) -> String {
        fn name(party: Option<&Party>) -> Option<&str> {
            party.map(|party| party.name.as_str())
        }
        let fields = [
            Some(self.reference.as_str()),
            self.ticket_number.as_deref(),
            self.vehicle_registration.as_deref(),
            name(self.organiser.as_ref()),
            name(self.carrier.as_ref()),
            Some(self.commodity.name.as_str()),
            self.pickup_postcode.as_deref(),
            self.dropoff_postcode.as_deref(),
        ];
        let all = fields.into_iter().flatten().chain(self.tags.iter().map(String::as_str));
        all.map(fold).collect::<Vec<_>>().join("\n")
    }

    /// Returns the ids of the organiser and the carrier, each once.
    pub fn parties(&self) -> Vec<&str> {
        parties(self.organiser.as_ref(), self.carrier.as_ref())
    }

    /// Returns the organisation in whose name the caller creates or changes the load: the caller's own. For an `admin`
    /// who acts for no party of the load, it is the organiser, or else the carrier.
    pub fn principal<'a>(&'a self, caller: &'a Caller) -> Option<&'a str> {
        let own = caller.organisation.as_ref().map(|own| own.id.as_str());
        if caller.admin && !own.is_some_and(|own| self.parties().contains(&own)) {
            return self.parties().first().copied();
        }
        own
    }

    /// Returns the weight with which a proof is compared: the net weight of the collection, or else the agreed one.
    pub(super) fn compared_weight(&self) -> Option<ComparedWeight> {
        let collected = self.collection.as_ref().and_then(|collection| collection.weight_net.as_ref());
        ComparedWeight::collected(collected).or_else(|| ComparedWeight::agreed(self.weight.as_ref()))
    }

    /// Returns the id of the carrier.
    pub fn carrier_id(&self) -> Option<&str> {
        self.carrier.as_ref()?.id.as_deref()
    }

    /// Returns the id of the organisation that created the load.
    pub fn creator_id(&self) -> Option<&str> {
        self.created_by.as_ref().map(|by| by.organisation_id.as_str())
    }

    /// Returns the files of the load and those of its collection and its rejection.
    pub fn all_files(&self) -> impl Iterator<Item = &FileReference> {
        let collected = self.collection.iter().flat_map(|collection| &collection.files);
        let rejected = self.rejection.iter().flat_map(|rejection| &rejection.files);
        self.files.iter().chain(collected).chain(rejected)
    }

    /// As [`all_files`](Self::all_files).
    pub fn all_files_mut(&mut self) -> impl Iterator<Item = &mut FileReference> {
        let collected = self.collection.iter_mut().flat_map(|collection| &mut collection.files);
        let rejected = self.rejection.iter_mut().flat_map(|rejection| &mut rejection.files);
        self.files.iter_mut().chain(collected).chain(rejected)
    }

    /// Adds the files that the load does not have.
    pub fn add_files(&mut self, files: &[FileReference]) {
        for file in files {
            if !self.has_file(&file.id) {
                self.files.push(file.clone());
            }
        }
    }

    /// Returns true if the load has this file.
    pub fn has_file(&self, id: &str) -> bool {
        self.files.iter().any(|file| file.id == id)
    }

    /// Returns true if the carrier created the load for another organisation as organiser. The organiser's completed
    /// export omits such a load until the organiser accepts it (docs/api/loads.md, "Accept").
    pub fn needs_acceptance(&self) -> bool {
        let organiser = self.organiser.as_ref().and_then(|organiser| organiser.id.as_deref());
        let creator = self.creator_id();
        creator.is_some() && self.carrier_id() == creator && organiser.is_some() && organiser != creator
    }
}
