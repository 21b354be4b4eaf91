//! The properties of a sheep listing.

use common::validation::ValidationErrors;
use common::wire::{Name, QueryText};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Properties;
use super::animals::HerdProperties;
use crate::breeds::Breeds;

/// Properties of sheep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SheepProperties {
    #[serde(flatten)]
    flock: HerdProperties,
    /// The types, for example `store`.
    #[serde(default, rename = "type")]
    #[schema(max_items = 50)]
    kinds: Vec<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    health: Option<SheepHealth>,
}

/// Health of a flock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct SheepHealth {
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<QueryText>,
}

impl Properties for SheepProperties {
    fn validate(&self, errors: &mut ValidationErrors) {
        self.flock.validate(errors);
    }

    fn normalize_breeds(&mut self, category: i32, breeds: &Breeds) {
        self.flock.normalize_breeds(category, breeds);
    }
}
