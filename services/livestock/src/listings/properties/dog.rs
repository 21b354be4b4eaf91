//! The properties of a working dog. Its age is computed from its date of birth.

use common::validation::{Code, ValidationErrors};
use common::wire::{DateOrDateTime, Name};
use database::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Properties;
use super::animals::AnimalProperties;
use crate::breeds::Breeds;
use crate::listings::search_fields::{day, months_since};

/// Properties of a working dog.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct WorkingDogProperties {
    #[serde(flatten)]
    animals: AnimalProperties,
    #[serde(skip_serializing_if = "Option::is_none")]
    sex: Option<DogSex>,
    #[serde(skip_serializing_if = "Option::is_none")]
    registration: Option<DogRegistration>,
}

/// The sex of a dog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DogSex {
    Male,
    Female,
}

/// The registration of a dog.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct DogRegistration {
    /// The date of birth, at most 600 months ago.
    #[serde(skip_serializing_if = "Option::is_none")]
    date_of_birth: Option<DateOrDateTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_registered: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    registration_number: Option<Name>,
    /// The registered name.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Name>,
}

/// The oldest age of a dog, in months.
const MAX_AGE_MONTHS: i64 = 600;
/// Tolerance for dates of birth, in milliseconds: in some time zones it is already tomorrow.
const FUTURE_TOLERANCE_MS: i64 = 24 * 3_600_000;

impl WorkingDogProperties {
    fn born(&self) -> Option<Timestamp> {
        self.registration.as_ref()?.date_of_birth.as_ref()?.start()
    }

    fn validate_date_of_birth(&self, now: Timestamp, errors: &mut ValidationErrors) {
        let out_of_range = |born: Timestamp| {
            born.millis() > now.millis() + FUTURE_TOLERANCE_MS
                || months_since(day(born), now) > MAX_AGE_MONTHS
        };
        if self.born().is_some_and(out_of_range) {
            let message = "must not be in the future, nor more than 600 months ago";
            errors.push("properties.registration.dateOfBirth", Code::Range, message);
        }
    }
}

impl Properties for WorkingDogProperties {
    fn validate(&self, errors: &mut ValidationErrors) {
        self.animals.validate(errors);
        self.validate_date_of_birth(Timestamp::now(), errors);
    }

    fn normalize_breeds(&mut self, category: i32, breeds: &Breeds) {
        self.animals.normalize_breeds(category, breeds);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rejects_dates_of_birth_in_the_future_or_over_600_months_ago() {
        let now = Timestamp::parse("2026-03-15T10:00:00Z").unwrap();
        for (born, valid) in [
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
            properties.validate_date_of_birth(now, &mut errors);
            assert_eq!(errors.is_empty(), valid, "{born}");
        }
    }
}
