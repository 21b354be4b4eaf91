//! The properties of a cattle listing (interface.md, 2.12).

use common::problem::{Code, Problems};
use common::wire::{Name, Word};
use database::Amount;
use serde::{Deserialize, Serialize};
use serde_json::Number;
use utoipa::ToSchema;

use super::terms::{AdditionalInfo, check_sexes};

/// What is said of cattle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct CattleProperties {
    /// A headline.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<Name>,
    /// Such as `store` or `calves`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<Name>,
    /// Such as `Hereford`.
    #[serde(skip_serializing_if = "Option::is_none")]
    breed: Option<Name>,
    /// Such as `cross`.
    #[serde(skip_serializing_if = "Option::is_none")]
    breed_type: Option<Name>,
    /// The society that registers the breed.
    #[serde(skip_serializing_if = "Option::is_none")]
    breed_society: Option<Name>,
    /// The herd's number there.
    #[serde(skip_serializing_if = "Option::is_none")]
    society_number: Option<Name>,
    #[schema(max_items = 50)]
    additional_info: Vec<AdditionalInfo>,
    /// One or several, comma-separated: `ewes`, `rams`, `lambs`, `shearlings`, `heifers`, `steers`, `bulls`, `cows`.
    #[serde(skip_serializing_if = "Option::is_none")]
    sexes: Option<Word>,
    /// Head.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 99_999_999_999_i64)]
    quantity: Option<Amount>,
    /// Months.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 600)]
    min_age: Option<Amount>,
    /// Months.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 600)]
    max_age: Option<Amount>,
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
    tb_details: Option<Word>,
    /// Between tests, such as `12 months`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tb_interval: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Word>,
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

impl CattleProperties {
    /// What the schema cannot state.
    pub fn rules(&self, problems: &mut Problems) {
        if let Some(sexes) = &self.sexes {
            check_sexes("properties.sexes", sexes, problems);
        }
        if self.min_age.zip(self.max_age).is_some_and(|(min, max)| min > max) {
            problems.push("properties.minAge", Code::Inconsistent, "must not be more than properties.maxAge");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ages_ascend() {
        for (ages, good) in [
            (json!({"minAge": 3, "maxAge": 3.0}), true),
            (json!({"minAge": 3.5, "maxAge": 3.4}), false),
            (json!({"minAge": 600}), true),
            (json!({"maxAge": 0}), true),
        ] {
            let mut problems = Problems::default();
            let properties: CattleProperties = serde_json::from_value(ages.clone()).unwrap();
            properties.rules(&mut problems);
            assert_eq!(problems.is_empty(), good, "{ages}");
        }
    }

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
