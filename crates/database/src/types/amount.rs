//! Exact decimals with four places, for money and weights.

use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Stored units in one whole.
const SCALE: i64 = 10_000;

/// An amount of money or a weight, from 0 to [`Amount::MAX`].
///
/// Stored as whole ten-thousandths in a BIGINT (PostgreSQL) or INTEGER (SQLite) column. An `Amount` has no unit of its
/// own: the column's name or its neighbours give the currency or the unit of weight.
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

/// The reason why a text or number is not an [`Amount`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// The text is not a decimal number.
    #[error("must be a number")]
    NotANumber,
    /// The number is negative or greater than [`Amount::MAX`].
    #[error("must be between 0 and 99999999999.9999")]
    OutOfRange,
}

impl Amount {
    /// 99,999,999,999.9999. It has 15 digits, the most that every `f64` preserves, so amounts are exact as JSON
    /// numbers.
    pub const MAX: Self = Self(999_999_999_999_999);

    /// Parses a decimal number and rounds it half up to four places: `29.400000000000002` becomes `29.4`
    /// (docs/api/conventions.md).
    ///
    /// # Errors
    /// [`AmountError`]
    pub fn parse(text: &str) -> Result<Self, AmountError> {
        let decimal = Decimal::from_str_exact(text).or_else(|e| match e {
            // There are more decimal places than fit. `parse` drops the last ones, which rounding to four ignores.
            rust_decimal::Error::Underflow => text.parse::<Decimal>(),
            other => Err(other),
        });
        let decimal = decimal
            .map_err(|_| if is_decimal(text) { AmountError::OutOfRange } else { AmountError::NotANumber })?;
        let rounded = decimal.round_dp_with_strategy(4, RoundingStrategy::MidpointAwayFromZero);
        let scaled = rounded.checked_mul(SCALE.into()).and_then(|d| i64::try_from(d).ok());
        match scaled {
            Some(scaled) if scaled >= 0 && decimal >= Decimal::ZERO && scaled <= Self::MAX.0 => {
                Ok(Self(scaled))
            }
            _ => Err(AmountError::OutOfRange),
        }
    }

    /// Returns an amount of so many ten-thousandths, or `None` if it is negative or too large.
    pub fn from_scaled(scaled: i64) -> Option<Self> {
        (0..=Self::MAX.0).contains(&scaled).then_some(Self(scaled))
    }

    /// Returns the difference, or `None` if it would be negative.
    pub fn minus(self, other: Self) -> Option<Self> {
        (self.0 >= other.0).then(|| Self(self.0 - other.0))
    }

    /// Converts a float by parsing the shortest decimal that identifies it, as [`Amount::parse`] does.
    ///
    /// # Errors
    /// [`AmountError`]
    pub fn from_f64(number: f64) -> Result<Self, AmountError> {
        Self::parse(&number.to_string())
    }

    /// Returns the amount in ten-thousandths, the unit of the column and of cursors.
    pub fn scaled(self) -> i64 {
        self.0
    }

    /// Returns the amount as a float for JSON. The shortest decimal of the float is the amount, since amounts have at
    /// most 15 digits.
    #[expect(clippy::cast_precision_loss, reason = "at most 2^50")]
    pub(crate) fn to_f64(self) -> f64 {
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

/// Returns true for digits with at most one decimal point and a leading minus sign.
fn is_decimal(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = [whole, fraction].concat();
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rounds_half_up_to_four_places() {
        for (number, expected) in [
            (29.400_000_000_000_002, "29.4"),
            (0.000_05, "0.0001"),
            (0.000_049, "0"),
            (1.000_05, "1.0001"),
            (1e-300, "0"),
        ] {
            assert_eq!(Amount::from_f64(number).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn rejects_negative_large_and_malformed_numbers() {
        for number in [-1.0, -0.000_01, 1e11, 1e300] {
            assert_eq!(Amount::from_f64(number), Err(AmountError::OutOfRange), "{number}");
        }
        for text in ["", "-", ".", "1.2.3", "--1", "x", "1,5", "NaN", "inf"] {
            assert_eq!(Amount::parse(text), Err(AmountError::NotANumber), "{text}");
        }
    }

    proptest! {
        #[test]
        fn round_trips_through_json_and_text(scaled in 0..=Amount::MAX.0) {
            let amount = Amount(scaled);
            let json = serde_json::to_string(&amount).unwrap();
            prop_assert_eq!(serde_json::from_str::<Amount>(&json).unwrap(), amount);
            prop_assert_eq!(Amount::parse(&amount.to_string()).unwrap(), amount);
        }
    }
}
