//! What a search compares of a listing's properties, whatever its category.

use database::{Amount, Timestamp};
use serde_json::{Map, Value};

use super::terms::entries;

/// Read from the stored properties. Texts are trimmed and in lower case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchFields {
    /// `store`, `calves`
    pub types: Vec<String>,
    pub breed: Option<String>,
    pub breed_type: Option<String>,
    pub breed_society: Option<String>,
    pub sexes: Vec<String>,
    pub additional_info: Vec<String>,
    /// Head.
    pub quantity: Option<Amount>,
    /// Months.
    pub min_age: Option<Amount>,
    /// Months.
    pub max_age: Option<Amount>,
    /// The day of birth, see [`day`].
    pub born: Option<i64>,
}

impl SearchFields {
    /// What these properties say; nothing where a category has none.
    pub fn of(properties: Option<&Map<String, Value>>) -> Self {
        let Some(properties) = properties else { return Self::default() };
        let plain = |text: &str| text.trim().to_lowercase();
        let text = |name| properties.get(name).and_then(Value::as_str).map(plain);
        let number = |name| Amount::from_f64(properties.get(name)?.as_f64()?).ok();
        let texts = |name| {
            // One category gives one text where another gives several.
            let several = properties.get(name).and_then(Value::as_array);
            let several = several.into_iter().flatten().filter_map(Value::as_str).map(plain);
            text(name).into_iter().chain(several).collect()
        };
        Self {
            types: texts("type"),
            breed: text("breed"),
            breed_type: text("breedType"),
            breed_society: text("breedSociety"),
            sexes: entries(&text("sexes").unwrap_or_default()).map(str::to_owned).collect(),
            additional_info: texts("additionalInfo"),
            quantity: number("quantity"),
            min_age: number("minAge"),
            max_age: number("maxAge"),
            born: properties
                .get("registration")
                .and_then(|registration| registration.get("dateOfBirth")?.as_str())
                .and_then(Timestamp::parse)
                .map(day),
        }
    }

    /// What an age is sorted by.
    pub fn age(&self) -> Option<Amount> {
        self.min_age.or(self.max_age)
    }
}

/// A day as a number: the difference of two, divided by 32 without its remainder, is the months completed between
/// them, since no month has more days.
pub fn day(at: Timestamp) -> i64 {
    let text = at.to_string();
    let part =
        |range| text.get(range).and_then(|digits: &str| digits.parse::<i64>().ok()).unwrap_or_default();
    (part(0..4) * 12 + part(5..7) - 1) * 32 + part(8..10)
}

/// Months completed since a day of birth.
pub fn months_since(born: i64, now: Timestamp) -> i64 {
    (day(now) - born) / 32
}

/// Several texts as one column: a line for each, with line breaks around them, which none of them can have. So
/// a text is among them exactly if the column contains [`line`] of it.
pub fn lines(texts: &[String]) -> String {
    if texts.is_empty() { String::new() } else { format!("\n{}\n", texts.join("\n")) }
}

/// What a column of [`lines`] contains if it has this text.
pub fn line(text: &str) -> String {
    format!("\n{text}\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_or_several() {
        let of = |value: Value| SearchFields::of(value.as_object());
        assert_eq!(of(json!({"type": " Store"})).types, ["store"]);
        assert_eq!(of(json!({"type": ["store", "Calves, weaned"]})).types, ["store", "calves, weaned"]);
        assert_eq!(of(json!({"sexes": "heifers, steers"})).sexes, ["heifers", "steers"]);
        assert_eq!(of(json!({"maxAge": 7, "breedType": "CROSS"})).age(), Amount::from_f64(7.0).ok());
        assert_eq!(of(json!({})), SearchFields::default());
    }

    #[test]
    fn a_dog_by_its_birth() {
        let of =
            |registration| SearchFields::of(json!({"sex": "male", "registration": registration}).as_object());
        let day_of = |text| Timestamp::parse(text).map(day);
        for (born, day) in [
            (json!({"dateOfBirth": "2024-02-29"}), day_of("2024-02-29")),
            (
                json!({"dateOfBirth": "2024-03-01T00:30:00+01:00", "name": "Moss"}),
                day_of("2024-02-29T23:30:00Z"),
            ),
            (json!({"isRegistered": false}), None),
            (json!({}), None),
        ] {
            assert_eq!(of(born), SearchFields { born: day, ..SearchFields::default() });
        }
        assert_eq!(day_of("2024-02-29T23:30:00Z"), day_of("2024-02-29"), "hours make no day older");
    }

    #[test]
    fn months_are_completed_on_the_day_of_birth() {
        let between =
            |born, now| months_since(day(Timestamp::parse(born).unwrap()), Timestamp::parse(now).unwrap());
        for (born, now, months) in [
            ("2024-01-15", "2026-01-14", 23),
            ("2024-01-15", "2026-01-15", 24),
            ("2024-01-31", "2024-02-29", 0),
            ("2024-01-31", "2024-03-01", 1),
            ("2025-12-31", "2026-01-01", 0),
            ("2026-03-01", "2026-03-01T10:00:00Z", 0),
            ("2026-03-01", "2026-02-28T10:00:00Z", 0),
            ("2024-02-29", "2025-02-28", 11),
            ("2024-02-29", "2025-03-01", 12),
        ] {
            assert_eq!(between(born, now), months, "{born} {now}");
        }
    }

    #[test]
    fn a_text_is_among_others_or_not() {
        let column = lines(&["store".into(), "bulling heifers".into()]);
        for (text, there) in [("store", true), ("bulling heifers", true), ("heifers", false), ("", false)] {
            assert_eq!(column.contains(&line(text)), there, "{text}");
        }
    }
}
