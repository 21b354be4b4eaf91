//! Properties that several categories of animals share.

use common::validation::{Code, ValidationErrors};
use common::wire::{Breed, Name, QueryText};
use database::Amount;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::breeds::Breeds;
use crate::listings::attributes::{AdditionalInfo, validate_sexes};

/// Properties of animals of all categories.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct AnimalProperties {
    /// A headline.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<Name>,
    /// The breed, for example `Hereford`. Without a comma.
    #[serde(skip_serializing_if = "Option::is_none")]
    breed: Option<Breed>,
    /// The breed type, for example `cross`. Without a comma.
    #[serde(skip_serializing_if = "Option::is_none")]
    breed_type: Option<Breed>,
    /// The society that registers the breed. Without a comma.
    #[serde(skip_serializing_if = "Option::is_none")]
    breed_society: Option<Breed>,
}

/// Properties of a herd or flock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HerdProperties {
    #[serde(flatten)]
    animals: AnimalProperties,
    #[serde(default)]
    #[schema(max_items = 50)]
    additional_info: Vec<AdditionalInfo>,
    /// One or more of these, separated by commas: `ewes`, `rams`, `lambs`, `shearlings`, `heifers`, `steers`, `bulls`,
    /// `cows`.
    #[serde(skip_serializing_if = "Option::is_none")]
    sexes: Option<QueryText>,
    /// The number of animals.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 99_999_999_999_i64)]
    quantity: Option<Amount>,
    /// The age of the youngest animal in months.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 600)]
    min_age: Option<Amount>,
    /// The age of the oldest animal in months.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 600)]
    max_age: Option<Amount>,
}

impl AnimalProperties {
    /// See [`super::Properties::validate`].
    pub(crate) fn validate(&self, errors: &mut ValidationErrors) {
        let names =
            [("breed", &self.breed), ("breedType", &self.breed_type), ("breedSociety", &self.breed_society)];
        for (member, name) in names {
            if name.as_ref().is_some_and(|name| name.contains(',')) {
                let message = "must not contain a comma, which separates the values of a search filter";
                errors.push(format!("properties.{member}"), Code::Format, message);
            }
        }
    }

    /// See [`super::Properties::normalize_breeds`].
    pub(crate) fn normalize_breeds(&mut self, category: i32, breeds: &Breeds) {
        for name in [&mut self.breed, &mut self.breed_type, &mut self.breed_society].into_iter().flatten() {
            name.0 = breeds.spelling(category, &name.0).into_owned();
        }
    }
}

impl HerdProperties {
    /// See [`super::Properties::validate`].
    pub(crate) fn validate(&self, errors: &mut ValidationErrors) {
        self.animals.validate(errors);
        if let Some(sexes) = &self.sexes {
            validate_sexes("properties.sexes", sexes, errors);
        }
        if self.min_age.zip(self.max_age).is_some_and(|(min, max)| min > max) {
            errors.push("properties.minAge", Code::Inconsistent, "must not be more than properties.maxAge");
        }
    }

    /// See [`super::Properties::normalize_breeds`].
    pub(crate) fn normalize_breeds(&mut self, category: i32, breeds: &Breeds) {
        self.animals.normalize_breeds(category, breeds);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rejects_a_minimum_age_above_the_maximum() {
        for (ages, valid) in [
            (json!({"minAge": 3, "maxAge": 3.0}), true),
            (json!({"minAge": 3.5, "maxAge": 3.4}), false),
            (json!({"minAge": 600}), true),
            (json!({"maxAge": 0}), true),
        ] {
            let mut errors = ValidationErrors::default();
            let properties: HerdProperties = serde_json::from_value(ages.clone()).unwrap();
            properties.validate(&mut errors);
            assert_eq!(errors.is_empty(), valid, "{ages}");
        }
    }
}
