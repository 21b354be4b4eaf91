//! The properties of a working dog's listing. How old it is follows from its day of birth.

use common::validation::{Code, ValidationErrors};
use common::wire::{DateOrDateTime, Name};
use database::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Properties;
use super::animals::AnimalProperties;
use crate::breeds::Breeds;
use crate::listings::search_fields::{day, months_since};

/// What is said of a working dog.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkingDogProperties {
    #[serde(flatten)]
    animals: AnimalProperties,
    #[serde(skip_serializing_if = "Option::is_none")]
    sex: Option<DogSex>,
    #[serde(skip_serializing_if = "Option::is_none")]
    registration: Option<DogRegistration>,
}

/// Dog or bitch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DogSex {
    Male,
    Female,
}

/// What a dog's papers say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct DogRegistration {
    /// At most 600 months ago.
    #[serde(skip_serializing_if = "Option::is_none")]
    date_of_birth: Option<DateOrDateTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_registered: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    registration_number: Option<Name>,
    /// The name that it is registered by.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Name>,
}

/// Somewhere it is tomorrow already.
const DAY_MILLIS: i64 = 24 * 3_600_000;

impl WorkingDogProperties {
    fn born(&self) -> Option<Timestamp> {
        self.registration.as_ref()?.date_of_birth.as_ref()?.start()
    }

    fn check_birth(&self, now: Timestamp, errors: &mut ValidationErrors) {
        let wrong =
            |born: Timestamp| born.millis() > now.millis() + DAY_MILLIS || months_since(day(born), now) > 600;
        if self.born().is_some_and(wrong) {
            let message = "must be a day that has been, at most 600 months ago";
            errors.push("properties.registration.dateOfBirth", Code::Range, message);
        }
    }
}

impl Properties for WorkingDogProperties {
    fn rules(&self, errors: &mut ValidationErrors) {
        self.animals.rules(errors);
        self.check_birth(Timestamp::now(), errors);
    }

    fn spell(&mut self, category: i32, breeds: &Breeds) {
        self.animals.spell(category, breeds);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn born_within_600_months_and_not_in_the_future() {
        let now = Timestamp::parse("2026-03-15T10:00:00Z").unwrap();
        for (born, good) in [
            ("2026-03-15", true),
            ("2026-03-16", true),
            ("2026-03-16T10:00:00+00:00", true),
            ("2026-03-16T10:00:01+00:00", false),
            ("2026-03-17", false),
            ("9999-01-01", false),
            ("1976-03-15", true),
            ("1976-02-16", true),
            ("1976-02-15", false),
            ("0001-01-01", false),
        ] {
            let properties = json!({"registration": {"dateOfBirth": born}});
            let properties: WorkingDogProperties = serde_json::from_value(properties).unwrap();
            let mut errors = ValidationErrors::default();
            properties.check_birth(now, &mut errors);
            assert_eq!(errors.is_empty(), good, "{born}");
        }
    }
}
