//! What is said of animals of several kinds.

use common::validation::{Code, ValidationErrors};
use common::wire::{Breed, Name, QueryText};
use database::Amount;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::breeds::Breeds;
use crate::listings::terms::{AdditionalInfo, check_sexes};

/// What is said of animals of any kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct AnimalProperties {
    /// A headline.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<Name>,
    /// For example `Hereford`. Without a comma.
    #[serde(skip_serializing_if = "Option::is_none")]
    breed: Option<Breed>,
    /// For example `cross`. Without a comma.
    #[serde(skip_serializing_if = "Option::is_none")]
    breed_type: Option<Breed>,
    /// The society that registers the breed. Without a comma.
    #[serde(skip_serializing_if = "Option::is_none")]
    breed_society: Option<Breed>,
}

/// What is said of a herd or flock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HerdProperties {
    #[serde(flatten)]
    animals: AnimalProperties,
    #[serde(default)]
    #[schema(max_items = 50)]
    additional_info: Vec<AdditionalInfo>,
    /// One or several, comma-separated: `ewes`, `rams`, `lambs`, `shearlings`, `heifers`, `steers`, `bulls`, `cows`.
    #[serde(skip_serializing_if = "Option::is_none")]
    sexes: Option<QueryText>,
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
}

impl AnimalProperties {
    /// See [`super::Properties`].
    pub fn rules(&self, errors: &mut ValidationErrors) {
        let names =
            [("breed", &self.breed), ("breedType", &self.breed_type), ("breedSociety", &self.breed_society)];
        for (member, name) in names {
            if name.as_ref().is_some_and(|name| name.contains(',')) {
                let message = "must not contain a comma: commas separate the values of a search's filter";
                errors.push(format!("properties.{member}"), Code::Format, message);
            }
        }
    }

    /// See [`super::Properties`].
    pub fn spell(&mut self, category: i32, breeds: &Breeds) {
        for name in [&mut self.breed, &mut self.breed_type, &mut self.breed_society].into_iter().flatten() {
            name.0 = breeds.spelling(category, &name.0).to_owned();
        }
    }
}

impl HerdProperties {
    /// See [`super::Properties`].
    pub fn rules(&self, errors: &mut ValidationErrors) {
        self.animals.rules(errors);
        if let Some(sexes) = &self.sexes {
            check_sexes("properties.sexes", sexes, errors);
        }
        if self.min_age.zip(self.max_age).is_some_and(|(min, max)| min > max) {
            errors.push("properties.minAge", Code::Inconsistent, "must not be more than properties.maxAge");
        }
    }

    /// See [`super::Properties`].
    pub fn spell(&mut self, category: i32, breeds: &Breeds) {
        self.animals.spell(category, breeds);
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
            let mut errors = ValidationErrors::default();
            let properties: HerdProperties = serde_json::from_value(ages.clone()).unwrap();
            properties.rules(&mut errors);
            assert_eq!(errors.is_empty(), good, "{ages}");
        }
    }
}
