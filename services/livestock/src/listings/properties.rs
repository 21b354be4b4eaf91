//! The properties of each category (`docs/api/listings.md`, "Create").

use common::validation::{Code, ValidationErrors};
use common::wire::{Breed, DateOrDateTime, Name, QueryText};
use database::{Amount, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Number, json};
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::breeds::Breeds;
use crate::listings::attributes::{AdditionalInfo, validate_sexes};
use crate::listings::calendar::{day, months_since};

/// The properties of the animals or supplies of one category.
pub(crate) trait Properties: Serialize {
    /// Checks the rules that the schema cannot express.
    fn validate(&self, _errors: &mut ValidationErrors) {}
    /// Gives breeds and societies the spelling that the catalogue has for this main category.
    fn normalize_breeds(&mut self, _category: i32, _breeds: &Breeds) {}
}

/// Supplies have no properties.
impl Properties for () {}

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

/// The properties of a listing, which depend on its category. Later releases may add members.
pub(crate) struct ListingProperties;

impl PartialSchema for ListingProperties {
    fn schema() -> RefOr<Schema> {
        let more: Extensions = [("additionalProperties", json!(true))].into_iter().collect();
        let categories = [CattleProperties::name(), SheepProperties::name(), WorkingDogProperties::name()];
        let any = categories
            .into_iter()
            .fold(AnyOfBuilder::new(), |any, name| any.item(Ref::from_schema_name(name)));
        any.description(Some("The properties of the category.")).extensions(Some(more)).into()
    }
}

impl ToSchema for ListingProperties {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((SheepProperties::name().into(), SheepProperties::schema()));
        SheepProperties::schemas(schemas);
        schemas.push((CattleProperties::name().into(), CattleProperties::schema()));
        CattleProperties::schemas(schemas);
        schemas.push((WorkingDogProperties::name().into(), WorkingDogProperties::schema()));
        WorkingDogProperties::schemas(schemas);
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
