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

/// Properties of cattle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CattleProperties {
    #[serde(flatten)]
    herd: HerdProperties,
    /// The type, for example `store` or `calves`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<Name>,
    /// The number of the herd at the breed society.
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
pub(crate) struct CattleHealth {
    /// The tuberculosis status, for example `clear` or `restricted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tb_status: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tb_details: Option<QueryText>,
    /// The interval of tuberculosis tests, for example `12 months`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tb_interval: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<QueryText>,
}

/// Weights of the animals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Performance {
    #[serde(skip_serializing_if = "Option::is_none")]
    average_weight: Option<GivenWeight>,
    #[serde(skip_serializing_if = "Option::is_none")]
    daily_live_weight_gain: Option<GivenWeight>,
}

/// A weight, stored in the unit of the request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct GivenWeight {
    /// The unit, for example `kilogram`.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Name>,
    /// The number of kilograms in one unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    conversion: Option<Number>,
    /// The weight in this unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 99_999_999_999.999_9)]
    weight: Option<Amount>,
}

impl Properties for CattleProperties {
    fn validate(&self, errors: &mut ValidationErrors) {
        self.herd.validate(errors);
    }

    fn normalize_breeds(&mut self, category: i32, breeds: &Breeds) {
        self.herd.normalize_breeds(category, breeds);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keeps_all_members_as_sent() {
        let sent = json!({
            "additionalInfo": ["in-calf"], "quantity": 12, "minAge": 14.5, "sexes": "heifers, cows",
            "performance": {"averageWeight": {"name": "stone", "conversion": 6.350_293_18, "weight": 64}},
        });
        let properties: CattleProperties = serde_json::from_value(sent.clone()).unwrap();
        assert_eq!(json!(properties), sent);
        assert_eq!(json!(CattleProperties::default()), json!({"additionalInfo": []}));
    }
}
