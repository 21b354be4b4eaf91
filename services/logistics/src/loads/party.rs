//! The organisations that take part in a load, and the one that created it.

use std::collections::HashMap;

use common::wire::{ExternalId, Name, Warning};
use common::{Caller, Organisation};
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
    /// Returns the party with this id and name, or `None` without either. The name defaults to the id. The one in the
    /// organisation's own tokens takes precedence.
    pub(crate) fn new(id: Option<ExternalId>, name: Option<Name>, names: &PartyNames) -> Option<Self> {
        let (id, name) = (id.map(|id| id.0), name.map(|name| name.0));
        let Some(id) = id else { return name.map(|name| Self { id: None, name }) };
        let name = names.name(&id, name.as_deref()).unwrap_or(&id).to_owned();
        Some(Self { id: Some(id), name })
    }
}

/// What is known of an organisation that a request names.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownParty {
    /// Somebody has called this service for it.
    pub(crate) is_known: bool,
    /// The name in its own tokens.
    pub(crate) name: Option<String>,
    /// The name in the address book of the caller's organisation.
    pub(crate) contact_name: Option<String>,
}

/// The names of the organisations that a request names.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartyNames {
    own: Option<Organisation>,
    others: HashMap<String, KnownParty>,
}

impl PartyNames {
    /// Returns the name of the caller's organisation.
    pub(crate) fn of(caller: &Caller) -> Self {
        Self { own: caller.organisation.clone(), others: HashMap::new() }
    }

    /// Adds organisations.
    pub(crate) fn add(&mut self, parties: impl IntoIterator<Item = (String, KnownParty)>) {
        self.others.extend(parties);
    }

    /// Returns true if the organisation was added, or is the caller's and the token has its name.
    pub(crate) fn contains(&self, id: &str) -> bool {
        self.own_name(id).is_some() || self.others.contains_key(id)
    }

    fn own_name(&self, id: &str) -> Option<&str> {
        self.own.as_ref().filter(|own| own.id == id)?.name.as_deref()
    }

    /// Returns the name that takes precedence over the one in a request, if there is one: that in the organisation's
    /// own tokens. Of the caller's organisation, only the token of the request counts.
    pub(crate) fn token_name(&self, id: &str) -> Option<&str> {
        if self.is_own(id) { self.own_name(id) } else { self.others.get(id)?.name.as_deref() }
    }

    /// Returns the name of an organisation to which a request gives this name. `None` if it is not known.
    pub(crate) fn name<'a>(&'a self, id: &str, given: Option<&'a str>) -> Option<&'a str> {
        self.token_name(id).or(given).or_else(|| self.others.get(id)?.contact_name.as_deref())
    }

    /// Returns the name of an organisation if the request need not name it: the one in the caller's token, or in the
    /// address book.
    pub(crate) fn supplied(&self, id: &str) -> Option<&str> {
        self.own_name(id).or_else(|| self.others.get(id)?.contact_name.as_deref())
    }

    fn is_own(&self, id: &str) -> bool {
        self.own.as_ref().is_some_and(|own| own.id == id)
    }

    /// Returns the warning for an organisation for which nobody has called this service. `path` is the member that
    /// names it.
    pub(crate) fn warning(&self, path: impl Into<String>, id: &str) -> Option<Warning> {
        let is_known = self.is_own(id) || self.others.get(id).is_some_and(|party| party.is_known);
        let message = "names an organisation that has never used this service: is the id right?";
        (!is_known).then(|| Warning::new(path, "unknown_organisation", message))
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
