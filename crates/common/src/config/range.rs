//! Integers whose allowed range is narrower than their type.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// Deserializes an integer from `MIN` to `MAX`, for `#[serde(deserialize_with = "within::<1, 100, _, _>")]`.
///
/// # Errors
/// The message states the range, for every other value.
pub fn within<'de, const MIN: u64, const MAX: u64, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: TryFrom<u64>,
    D: Deserializer<'de>,
{
    let number = u64::deserialize(deserializer).ok().filter(|number| (MIN..=MAX).contains(number));
    let number = number.and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| D::Error::custom(format_args!("expected a whole number, {MIN} to {MAX}")))
}
