//! The classifications of a file. Requests, responses and the database use the same words.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, ParseError, VariantNames};
use utoipa::ToSchema;

/// The bucket of a file. `images` takes images only.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Display,
    EnumString,
    VariantNames,
    Serialize,
    Deserialize,
    ToSchema,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Bucket {
    /// JPEG, PNG, GIF, WebP, AVIF or HEIC.
    Images,
    /// Any content.
    #[default]
    Files,
}

/// What a file is used for.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Display,
    EnumString,
    VariantNames,
    Serialize,
    Deserialize,
    ToSchema,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum FileType {
    Sample,
    Avatar,
    Weighbridge,
    Contract,
    Image,
    Logo,
    #[default]
    Misc,
    Vehicle,
    TermsConditions,
    TradeContract,
}

impl FileType {
    /// Returns true if every caller may read files of this type (`docs/api/authentication.md`, "Permissions").
    pub(crate) fn is_open(self) -> bool {
        !matches!(self, Self::Weighbridge | Self::Contract | Self::TradeContract | Self::Misc)
    }
}

/// Parses a database column.
impl TryFrom<String> for Bucket {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

/// Parses a database column.
impl TryFrom<String> for FileType {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;
    use std::str::FromStr;

    use super::*;

    /// The database stores the word of strum, and JSON has the word of serde.
    fn assert_words_round_trip<T>()
    where
        T: Serialize + ToString + FromStr<Err: Debug> + PartialEq + Debug + VariantNames,
    {
        for word in T::VARIANTS {
            let value: T = word.parse().unwrap();
            assert_eq!(value.to_string(), *word);
            assert_eq!(serde_json::to_value(&value).unwrap(), *word);
        }
    }

    #[test]
    fn words_round_trip() {
        assert_words_round_trip::<Bucket>();
        assert_words_round_trip::<FileType>();
        assert_eq!(FileType::TermsConditions.to_string(), "terms-conditions");
        assert_eq!(Bucket::try_from("images".to_owned()), Ok(Bucket::Images));
        assert!(Bucket::try_from("Images".to_owned()).is_err());
    }
}
