//! The properties of a cattle listing.

use common::validation::ValidationErrors;
use common::wire::{Name, QueryText};
use database::Amount;
use serde::{Deserialize, Serialize};
use serde_json::Number;
use utoipa::ToSchema;

use super::Properties;
use super::animals::HerdProperties;
use crate::breeds::Breeds;

/// What is said of cattle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CattleProperties {
    #[serde(flatten)]
    herd: HerdProperties,
    /// Such as `store` or `calves`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<Name>,
    /// The herd's number at the society.
    #[serde(skip_serializing_if = "Option::is_none")]
    society_number: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    health: Option<CattleHealth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    performance: Option<Performance>,
}

/// Health of a herd.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct CattleHealth {
    /// Tuberculosis, such as `clear` or `restricted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tb_status: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tb_details: Option<QueryText>,
    /// Between tests, such as `12 months`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tb_interval: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<QueryText>,
}

/// How animals do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Performance {
    #[serde(skip_serializing_if = "Option::is_none")]
    average_weight: Option<GivenWeight>,
    #[serde(skip_serializing_if = "Option::is_none")]
    daily_live_weight_gain: Option<GivenWeight>,
}

/// A weight measure (interface.md, 2.5) in whatever unit it was given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct GivenWeight {
    /// The unit, such as `kilogram`.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Name>,
    /// Kilograms in one of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    conversion: Option<Number>,
    /// The weight in that unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 99_999_999_999.999_9)]
    weight: Option<Amount>,
}

impl Properties for CattleProperties {
    fn rules(&self, errors: &mut ValidationErrors) {
        self.herd.rules(errors);
    }

    fn spell(&mut self, category: i32, breeds: &Breeds) {
        self.herd.spell(category, breeds);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_given_is_kept() {
        let given = json!({
            "additionalInfo": ["in-calf"], "quantity": 12, "minAge": 14.5, "sexes": "heifers, cows",
            "performance": {"averageWeight": {"name": "stone", "conversion": 6.350_293_18, "weight": 64}},
        });
        let properties: CattleProperties = serde_json::from_value(given.clone()).unwrap();
        assert_eq!(json!(properties), given);
        assert_eq!(json!(CattleProperties::default()), json!({"additionalInfo": []}));
    }
}
