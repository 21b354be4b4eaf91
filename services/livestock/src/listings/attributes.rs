//! Attributes of animals whose values listings and search filters share (`docs/api/listings.md`, "Search").

use common::validation::{Code, ValidationErrors};
use serde::{Deserialize, Serialize};
use serde_json::json;
use strum::VariantNames;
use utoipa::ToSchema;

// Each value of the two enums is a flag in the index of facets, in this order.

/// A sex or age group of the animals of a listing.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    ToSchema,
    strum::IntoStaticStr,
    strum::VariantNames,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Sex {
    Ewes,
    Rams,
    Lambs,
    Shearlings,
    Heifers,
    Steers,
    Bulls,
    Cows,
}

impl Sex {
    /// Returns the name that requests and responses use.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A further attribute of animals.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    ToSchema,
    strum::IntoStaticStr,
    strum::VariantNames,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum AdditionalInfo {
    Crossbred,
    InLamb,
    Pedigree,
    Organic,
    InCalf,
    NamedSire,
}

impl AdditionalInfo {
    /// Returns the name that requests and responses use.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Splits a comma-separated text into its trimmed, non-empty entries.
pub(crate) fn split_entries(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}

/// Checks that all entries of a comma-separated text are names of [`Sex`].
pub(crate) fn validate_sexes(path: &str, text: &str, errors: &mut ValidationErrors) {
    let allowed = Sex::VARIANTS;
    if let Some(unknown) = split_entries(text).find(|entry| !allowed.contains(entry)) {
        let message = format!("has {unknown:?}; each entry must be one of {}", allowed.join(", "));
        errors.push_with(path, Code::Enum, message, json!({ "allowed": allowed }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_equal_their_serialized_form() {
        for name in Sex::VARIANTS {
            let sex: Sex = serde_json::from_value(json!(name)).unwrap();
            assert_eq!((sex.as_str(), json!(sex)), (*name, json!(name)));
        }
        assert_eq!(AdditionalInfo::VARIANTS.len(), 6);
        for info in ["crossbred", "in-lamb", "pedigree", "organic", "in-calf", "named-sire"] {
            let parsed: AdditionalInfo = serde_json::from_value(json!(info)).unwrap();
            assert_eq!(parsed.as_str(), info);
        }
    }

    #[test]
    fn sexes_are_separated_by_commas_and_compared_with_case() {
        for (text, valid) in [
            ("heifers", true),
            ("heifers, steers", true),
            ("cows,,bulls", true),
            ("Heifers", false),
            ("heifers;steers", false),
            ("ewes,goats", false),
        ] {
            let mut errors = ValidationErrors::default();
            validate_sexes("properties.sexes", text, &mut errors);
            assert_eq!(errors.is_empty(), valid, "{text}");
        }
    }
}
