//! The words that listings and the filters for them share (interface.md, 2.12).

use common::validation::{Code, ValidationErrors};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

/// Which animals of a kind a listing is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
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
    /// In the order of their flags.
    pub const ALL: [Self; 8] = [
        Self::Ewes,
        Self::Rams,
        Self::Lambs,
        Self::Shearlings,
        Self::Heifers,
        Self::Steers,
        Self::Bulls,
        Self::Cows,
    ];

    /// As written in requests and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ewes => "ewes",
            Self::Rams => "rams",
            Self::Lambs => "lambs",
            Self::Shearlings => "shearlings",
            Self::Heifers => "heifers",
            Self::Steers => "steers",
            Self::Bulls => "bulls",
            Self::Cows => "cows",
        }
    }
}

/// What else is worth knowing of animals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AdditionalInfo {
    Crossbred,
    InLamb,
    Pedigree,
    Organic,
    InCalf,
    NamedSire,
}

impl AdditionalInfo {
    /// In the order of their flags.
    pub const ALL: [Self; 6] =
        [Self::Crossbred, Self::InLamb, Self::Pedigree, Self::Organic, Self::InCalf, Self::NamedSire];

    /// As written in requests and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Crossbred => "crossbred",
            Self::InLamb => "in-lamb",
            Self::Pedigree => "pedigree",
            Self::Organic => "organic",
            Self::InCalf => "in-calf",
            Self::NamedSire => "named-sire",
        }
    }
}

/// The entries of a comma-separated text.
pub fn entries(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}

/// Checks a comma-separated text of sexes.
pub fn check_sexes(path: &str, text: &str, errors: &mut ValidationErrors) {
    let allowed = Sex::ALL.map(Sex::as_str);
    if let Some(unknown) = entries(text).find(|entry| !allowed.contains(entry)) {
        let message = format!("has {unknown:?}; each entry must be one of {}", allowed.join(", "));
        errors.push_with(path, Code::Enum, message, json!({ "allowed": allowed }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_written_as_they_are_shown() {
        for sex in Sex::ALL {
            assert_eq!(json!(sex), sex.as_str());
        }
        for info in ["crossbred", "in-lamb", "pedigree", "organic", "in-calf", "named-sire"] {
            let parsed: AdditionalInfo = serde_json::from_value(json!(info)).unwrap();
            assert_eq!(parsed.as_str(), info);
        }
    }

    #[test]
    fn several_sexes() {
        for (text, good) in [
            ("heifers", true),
            ("heifers, steers", true),
            ("cows,,bulls", true),
            ("Heifers", false),
            ("heifers;steers", false),
            ("ewes,goats", false),
        ] {
            let mut errors = ValidationErrors::default();
            check_sexes("properties.sexes", text, &mut errors);
            assert_eq!(errors.is_empty(), good, "{text}");
        }
    }
}
