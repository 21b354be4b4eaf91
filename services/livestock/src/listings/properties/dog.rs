//! The properties of a working dog's listing. How old it is follows from its day of birth.

use common::problem::{Code, Problems};
use common::wire::{Iso, Name};
use database::Ts;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Properties;
use super::animals::AnimalProperties;
use crate::breeds::Breeds;
use crate::listings::particulars::{day, months_since};

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
    date_of_birth: Option<Iso>,
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
    fn born(&self) -> Option<Ts> {
        self.registration.as_ref()?.date_of_birth.as_ref()?.start()
    }

    fn check_birth(&self, now: Ts, problems: &mut Problems) {
        let wrong =
            |born: Ts| born.millis() > now.millis() + DAY_MILLIS || months_since(day(born), now) > 600;
        if self.born().is_some_and(wrong) {
            let message = "must be a day that has been, at most 600 months ago";
            problems.push("properties.registration.dateOfBirth", Code::Range, message);
        }
    }
}

impl Properties for WorkingDogProperties {
    fn rules(&self, problems: &mut Problems) {
        self.animals.rules(problems);
        self.check_birth(Ts::now(), problems);
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
        let now = Ts::parse("2026-03-15T10:00:00Z").unwrap();
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
            let mut problems = Problems::default();
            properties.check_birth(now, &mut problems);
            assert_eq!(problems.is_empty(), good, "{born}");
        }
    }
}
