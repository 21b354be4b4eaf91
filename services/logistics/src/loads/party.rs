//! The organisations that take part in a load, and the one that created it.

use common::Caller;
use common::wire::{ExternalId, Name};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An organisation that takes part in a load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Party {
    /// The organisation's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub id: Option<String>,
    /// The organisation's name.
    pub name: String,
}

impl Party {
    /// Returns the party with this id and name, or `None` without either. The name defaults to the id. The token's
    /// name takes precedence for the caller's own organisation.
    pub fn new(id: Option<ExternalId>, name: Option<Name>, caller: &Caller) -> Option<Self> {
        let (id, name) = (id.map(|id| id.0), name.map(|name| name.0));
        let own_name = id.as_deref().and_then(|id| caller.own_organisation_name(id)).map(str::to_owned);
        let name = own_name.or(name).or_else(|| id.clone())?;
        Some(Self { id, name })
    }
}

/// Returns the ids of a load's parties, each once.
pub(crate) fn parties<'a>(organiser: Option<&'a Party>, carrier: Option<&'a Party>) -> Vec<&'a str> {
    let ids = [organiser, carrier].into_iter().flatten().filter_map(|party| party.id.as_deref());
    // No organisation has the id `*`. When files are shared, it means everyone.
    let mut ids: Vec<_> = ids.filter(|id| *id != "*").collect();
    ids.dedup();
    ids
}

/// The organisation that created a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedBy {
    /// The organisation's id.
    pub organisation_id: String,
}

impl CreatedBy {
    /// Returns the caller's organisation, or `None` for an `admin` without one.
    pub fn of(caller: &Caller) -> Option<Self> {
        caller.organisation.as_ref().map(|own| Self { organisation_id: own.id.clone() })
    }
}

/// The user who creates loads.
#[derive(Clone, Debug)]
pub(crate) struct Creator {
    /// Claim `sub`.
    pub user_id: String,
    /// Claim `name`.
    pub user_name: String,
}

impl Creator {
    /// Returns the caller.
    pub(crate) fn of(caller: &Caller) -> Self {
        Self { user_id: caller.user_id.clone(), user_name: caller.user_name.clone() }
    }
}
