//! What a load is.

use common::Caller;
use common::wire::{FileReference, WeightMeasure};
use database::{Amount, Id, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A consignment of a commodity from an organiser, carried by a carrier (interface.md, 2.6).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Load {
    /// UUIDv7.
    #[schema(value_type = String, format = Uuid)]
    pub id: Id,
    /// The parties' own name for it.
    pub reference: String,
    /// Whose goods they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub organiser: Option<Party>,
    /// Who carries them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub carrier: Option<Party>,
    /// What they are.
    pub commodity: Commodity,
    /// When they are due.
    #[serde(rename = "deliveryDateISO")]
    #[schema(value_type = String, format = DateTime)]
    pub delivery_date: Timestamp,
    /// Where to, as given, normalised where it has the UK or Irish form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub dropoff_postcode: Option<String>,
    /// Where from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub pickup_postcode: Option<String>,
    /// The weight agreed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub weight: Option<WeightMeasure>,
    /// The weight of the goods alone, by the weighbridge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub weight_net: Option<WeightMeasure>,
    /// The lorry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub vehicle_registration: Option<String>,
    /// The weighbridge ticket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub ticket_number: Option<String>,
    /// `upcoming` until it is proven delivered.
    pub status: Status,
    /// Tickets, contracts, photographs.
    pub files: Vec<FileReference>,
    /// Free labels.
    pub tags: Vec<String>,
    /// When it was created.
    #[serde(rename = "createdAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it was delivered.
    #[serde(rename = "completedAtUTC", default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub completed_at: Option<Timestamp>,
    /// Who created it; absent where an administrator without an organisation did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub created_by: Option<CreatedBy>,
}

/// The organisation that created a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedBy {
    /// The organisation's id.
    pub organisation_id: String,
}

/// An organisation that takes part in a load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Party {
    /// The organisation's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub id: Option<String>,
    /// Its name.
    pub name: String,
}

/// What a load is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Commodity {
    /// Id in the catalogue.
    pub id: i32,
    /// Its name there.
    pub name: String,
}

/// How far a load has come (contract, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Created.
    Upcoming,
    /// Proven delivered.
    Completed,
}

impl Status {
    /// As stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Upcoming => "upcoming",
            Self::Completed => "completed",
        }
    }
}

impl Load {
    /// All that a free-text query looks at, in lower case, a line for each field.
    pub fn search_text(&self) -> String {
        let name = |party: &Option<Party>| party.as_ref().map(|p| p.name.clone());
        let fields = [
            Some(self.reference.clone()),
            self.ticket_number.clone(),
            self.vehicle_registration.clone(),
            name(&self.organiser),
            name(&self.carrier),
            Some(self.commodity.name.clone()),
            self.pickup_postcode.clone(),
            self.dropoff_postcode.clone(),
        ];
        let all: Vec<_> = fields.into_iter().flatten().chain(self.tags.iter().cloned()).collect();
        all.join("\n").to_lowercase()
    }

    /// The ids of the organisations that take part.
    pub fn parties(&self) -> Vec<&str> {
        parties(self.organiser.as_ref(), self.carrier.as_ref())
    }

    /// The organisations whose files are shared when the load is sent: the party that created the load and so named them;
    /// both parties if an administrator created it. Else a carrier could name a file of the organiser, who would share it by
    /// sending.
    pub fn file_owners(&self) -> Vec<&str> {
        let mut owners = self.parties();
        if let Some(CreatedBy { organisation_id }) = &self.created_by
            && owners.contains(&organisation_id.as_str())
        {
            owners.retain(|owner| owner == organisation_id);
        }
        owners
    }
}

/// The ids of the organisations that take part, each once.
pub fn parties<'a>(organiser: Option<&'a Party>, carrier: Option<&'a Party>) -> Vec<&'a str> {
    let mut ids: Vec<_> =
        // `*` is nobody's id, but everybody where files are shared.
        [organiser, carrier].into_iter().flatten().filter_map(|p| p.id.as_deref()).filter(|id| *id != "*").collect();
    ids.dedup();
    ids
}

/// The creator of a load.
#[derive(Clone, Debug)]
pub struct Creator {
    organisation_id: Option<String>,
    /// The organisation's name in the token.
    organisation_name: Option<String>,
}

impl Creator {
    /// The caller of a request.
    pub fn of(caller: &Caller) -> Self {
        let organisation_id = caller.organisation.as_ref().map(|organisation| organisation.id.clone());
        let organisation_name = caller.own_name(caller.organisation_id()).map(str::to_owned);
        Self { organisation_id, organisation_name }
    }

    /// True for a load that its carrier enters for another organisation as organiser: the organiser's completed export
    /// leaves it out until the organiser accepts it.
    pub fn needs_acceptance(&self, organiser_id: Option<&str>, carrier_id: Option<&str>) -> bool {
        let own = self.organisation_id.as_deref();
        own.is_some() && carrier_id == own && organiser_id.is_some_and(|id| Some(id) != own)
    }

    fn created_by(&self) -> Option<CreatedBy> {
        let organisation_id = self.organisation_id.clone()?;
        Some(CreatedBy { organisation_id })
    }

    /// A party as it is stored: the token names the creator's own organisation.
    fn named(&self, party: Option<Party>) -> Option<Party> {
        let mut party = party?;
        if let Some(name) = &self.organisation_name
            && party.id.is_some()
            && party.id == self.organisation_id
        {
            party.name.clone_from(name);
        }
        Some(party)
    }
}

/// What a load begins with; its files are only references yet.
#[derive(Clone, Debug, PartialEq)]
pub struct NewLoad {
    /// See [`Load`].
    pub reference: String,
    pub organiser: Option<Party>,
    pub carrier: Option<Party>,
    pub commodity: Commodity,
    pub delivery_date: Timestamp,
    pub pickup_postcode: Option<String>,
    pub dropoff_postcode: Option<String>,
    pub weight: Option<Amount>,
    pub weight_net: Option<Amount>,
    pub vehicle_registration: Option<String>,
    pub ticket_number: Option<String>,
    pub files: Vec<FileReference>,
    pub tags: Vec<String>,
}

impl NewLoad {
    /// The load, as it is stored and shown.
    pub fn into_load(self, creator: &Creator, files: Vec<FileReference>) -> Load {
        Load {
            id: Id::new(),
            reference: self.reference,
            organiser: creator.named(self.organiser),
            carrier: creator.named(self.carrier),
            commodity: self.commodity,
            delivery_date: self.delivery_date,
            dropoff_postcode: self.dropoff_postcode,
            pickup_postcode: self.pickup_postcode,
            weight: self.weight.map(WeightMeasure::tonnes),
            weight_net: self.weight_net.map(WeightMeasure::tonnes),
            vehicle_registration: self.vehicle_registration,
            ticket_number: self.ticket_number,
            status: Status::Upcoming,
            files,
            tags: self.tags,
            created_at: Timestamp::now(),
            completed_at: None,
            created_by: creator.created_by(),
        }
    }
}
