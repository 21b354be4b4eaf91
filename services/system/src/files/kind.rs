//! The words that a file is filed under.

use std::fmt;

use serde::de::IntoDeserializer;
use serde::de::value::Error as WordError;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What kind of store a file belongs in; `images` takes images only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bucket {
    /// JPEG, PNG, GIF, WebP, AVIF or HEIC.
    Images,
    /// Anything.
    #[default]
    Files,
}

impl Bucket {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Images, Self::Files];
}

/// What a file is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileType {
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
    /// All of them, as interface.md lists them.
    pub const ALL: [Self; 10] = [
        Self::Sample,
        Self::Avatar,
        Self::Weighbridge,
        Self::Contract,
        Self::Image,
        Self::Logo,
        Self::Misc,
        Self::Vehicle,
        Self::TermsConditions,
        Self::TradeContract,
    ];

    /// True for what anybody with a token may read; the others are papers of a trade (contract, section 2).
    pub fn is_open(self) -> bool {
        !matches!(self, Self::Weighbridge | Self::Contract | Self::TradeContract | Self::Misc)
    }
}

/// Both are stored and sent as the one word that serde knows them by.
macro_rules! as_word {
    ($($word:ty),+) => { $(
        impl fmt::Display for $word {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.serialize(f)
            }
        }
        impl TryFrom<String> for $word {
            type Error = WordError;
            fn try_from(word: String) -> Result<Self, WordError> {
                Self::deserialize(word.into_deserializer())
            }
        }
    )+ };
}
as_word!(Bucket, FileType);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_as_they_went() {
        for kind in FileType::ALL {
            assert_eq!(FileType::try_from(kind.to_string()), Ok(kind));
        }
        assert_eq!(FileType::TermsConditions.to_string(), "terms-conditions");
        assert_eq!(Bucket::try_from("images".to_owned()), Ok(Bucket::Images));
        assert!(Bucket::try_from("Images".to_owned()).is_err());
    }
}
