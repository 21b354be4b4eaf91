//! Money and weights: exact decimals with four places.

use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const SCALE: i64 = 10_000;

/// A money amount or a weight, kept as whole ten-thousandths in a BIGINT on both databases.
///
/// From 0 up to [`Amount::MAX`], so that it is exact as a JSON number too.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    diesel::expression::AsExpression,
    diesel::deserialize::FromSqlRow,
)]
#[diesel(sql_type = diesel::sql_types::BigInt)]
pub struct Amount(i64);

/// Why a number is no [`Amount`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// Not a decimal number.
    #[error("must be a number")]
    NotANumber,
    /// Negative, or more than [`Amount::MAX`].
    #[error("must be between 0 and 99999999999.9999")]
    OutOfRange,
}

impl Amount {
    /// 99,999,999,999.9999: fifteen digits, which a JSON reader with binary floats still tells apart.
    pub const MAX: Self = Self(999_999_999_999_999);

    /// Reads a decimal number and rounds it half up to four places: `29.400000000000002` is `29.4`.
    ///
    /// # Errors
    /// [`AmountError`]
    pub fn parse(text: &str) -> Result<Self, AmountError> {
        let digits = text.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let decimal = Decimal::from_str_exact(text).or_else(|e| match e {
            // More places than fit: what is cut off is far below what rounding looks at.
            rust_decimal::Error::Underflow => text.parse::<Decimal>(),
            other => Err(other),
        });
        let decimal =
            decimal.map_err(|_| if digits { AmountError::OutOfRange } else { AmountError::NotANumber })?;
        let rounded = decimal.round_dp_with_strategy(4, RoundingStrategy::MidpointAwayFromZero);
        let scaled = rounded.checked_mul(SCALE.into()).and_then(|d| i64::try_from(d).ok());
        match scaled {
            Some(scaled) if scaled >= 0 && decimal >= Decimal::ZERO && scaled <= Self::MAX.0 => {
                Ok(Self(scaled))
            }
            _ => Err(AmountError::OutOfRange),
        }
    }

    /// As [`Amount::parse`], from the shortest decimal that names this float.
    ///
    /// # Errors
    /// [`AmountError`]
    pub fn from_f64(number: f64) -> Result<Self, AmountError> {
        Self::parse(&number.to_string())
    }

    /// The amount in ten-thousandths: what is stored, and what cursors compare.
    pub fn scaled(self) -> i64 {
        self.0
    }

    /// The number for JSON; exact, since every amount has at most fifteen digits.
    #[expect(clippy::cast_precision_loss, reason = "at most 2^50")]
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / SCALE as f64
    }
}

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Decimal::new(self.0, 4).normalize().fmt(f)
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 % SCALE == 0 {
            serializer.serialize_i64(self.0 / SCALE)
        } else {
            serializer.serialize_f64(self.to_f64())
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_f64(f64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl<DB> diesel::serialize::ToSql<diesel::sql_types::BigInt, DB> for Amount
where
    DB: diesel::backend::Backend,
    i64: diesel::serialize::ToSql<diesel::sql_types::BigInt, DB>,
{
    fn to_sql<'b>(&'b self, out: &mut diesel::serialize::Output<'b, '_, DB>) -> diesel::serialize::Result {
        self.0.to_sql(out)
    }
}

impl<DB> diesel::deserialize::FromSql<diesel::sql_types::BigInt, DB> for Amount
where
    DB: diesel::backend::Backend,
    i64: diesel::deserialize::FromSql<diesel::sql_types::BigInt, DB>,
{
    fn from_sql(value: DB::RawValue<'_>) -> diesel::deserialize::Result<Self> {
        i64::from_sql(value).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rounds_half_up_to_four_places() {
        for (number, shown) in [
            (29.400_000_000_000_002, "29.4"),
            (0.000_05, "0.0001"),
            (0.000_049, "0"),
            (1.000_05, "1.0001"),
            (1e-300, "0"),
        ] {
            assert_eq!(Amount::from_f64(number).unwrap().to_string(), shown);
        }
    }

    #[test]
    fn refuses_what_is_no_amount() {
        for number in [-1.0, -0.000_01, 1e11, 1e300] {
            assert_eq!(Amount::from_f64(number), Err(AmountError::OutOfRange), "{number}");
        }
        for text in ["", "x", "1,5", "NaN", "inf"] {
            assert!(Amount::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn survives_json(scaled in 0..=Amount::MAX.0) {
            let amount = Amount(scaled);
            let json = serde_json::to_string(&amount).unwrap();
            prop_assert_eq!(serde_json::from_str::<Amount>(&json).unwrap(), amount);
            prop_assert_eq!(Amount::parse(&amount.to_string()).unwrap(), amount);
        }
    }
}
