//! Numbers of a range that is narrower than their type.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// Reads a whole number from `MIN` to `MAX`, for `#[serde(deserialize_with = "within::<1, 100, _, _>")]`. The message for
/// any other value has this range, whatever is wrong with it.
///
/// # Errors
/// The range.
pub fn within<'de, const MIN: u64, const MAX: u64, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: TryFrom<u64>,
    D: Deserializer<'de>,
{
    let number = u64::deserialize(deserializer).ok().filter(|number| (MIN..=MAX).contains(number));
    let number = number.and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| D::Error::custom(format_args!("expected a whole number, {MIN} to {MAX}")))
}
