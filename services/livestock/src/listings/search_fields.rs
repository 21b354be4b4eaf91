//! The parts of a listing's properties that searches compare, for all categories.

use common::wire::comparison_key;
use database::{Amount, Timestamp};
use serde_json::{Map, Value};

use super::attributes::split_entries;
use super::calendar::day;

/// The searchable parts of a listing's properties. Texts are trimmed and in lower case, names as they are compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SearchFields {
    /// Values of `type`, for example `store` and `calves`.
    pub(crate) types: Vec<String>,
    pub(crate) breed: Option<String>,
    pub(crate) breed_type: Option<String>,
    pub(crate) breed_society: Option<String>,
    /// Names of `Sex`, for example `heifers`.
    pub(crate) sexes: Vec<String>,
    /// Names of `AdditionalInfo`, for example `in-calf`.
    pub(crate) additional_info: Vec<String>,
    /// Head.
    pub(crate) quantity: Option<Amount>,
    /// Months.
    pub(crate) min_age: Option<Amount>,
    /// Months.
    pub(crate) max_age: Option<Amount>,
    /// Day of birth, see [`day`].
    pub(crate) born: Option<i64>,
}

impl SearchFields {
    /// Reads the properties of a listing. All fields are empty without properties.
    pub(crate) fn of(properties: Option<&Map<String, Value>>) -> Self {
        let Some(properties) = properties else { return Self::default() };
        let normalize = |text: &str| text.trim().to_lowercase();
        let text = |name| properties.get(name).and_then(Value::as_str).map(normalize);
        let name = |name| properties.get(name).and_then(Value::as_str).map(comparison_key);
        let number = |name| Amount::from_f64(properties.get(name)?.as_f64()?).ok();
        let texts = |name| {
            // A text in some categories, an array of texts in others.
            let array = properties.get(name).and_then(Value::as_array);
            let array = array.into_iter().flatten().filter_map(Value::as_str).map(normalize);
            text(name).into_iter().chain(array).collect()
        };
        Self {
            types: texts("type"),
            breed: name("breed"),
            breed_type: name("breedType"),
            breed_society: name("breedSociety"),
            sexes: split_entries(&text("sexes").unwrap_or_default()).map(str::to_owned).collect(),
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

    /// Returns the age in months that listings are sorted by: the lower end, else the upper end.
    pub(crate) fn age(&self) -> Option<Amount> {
        self.min_age.or(self.max_age)
    }
}

/// Joins texts into the value of one column: one line each, with line breaks around them.
///
/// No text has a line break, so a column contains [`line`] of a text exactly if the text is one of its lines.
pub(crate) fn lines(texts: &[String]) -> String {
    if texts.is_empty() { String::new() } else { format!("\n{}\n", texts.join("\n")) }
}

/// Returns the substring that a column of [`lines`] contains if the text is one of its lines.
pub(crate) fn line(text: &str) -> String {
    format!("\n{text}\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_one_value_or_an_array() {
        let of = |value: Value| SearchFields::of(value.as_object());
        assert_eq!(of(json!({"type": " Store"})).types, ["store"]);
        assert_eq!(of(json!({"type": ["store", "Calves, weaned"]})).types, ["store", "calves, weaned"]);
        assert_eq!(of(json!({"sexes": "heifers, steers"})).sexes, ["heifers", "steers"]);
        assert_eq!(of(json!({"maxAge": 7, "breedType": "CROSS"})).age(), Amount::from_f64(7.0).ok());
        assert_eq!(of(json!({})), SearchFields::default());
    }

    #[test]
    fn reads_the_day_of_birth_of_dogs() {
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
        assert_eq!(day_of("2024-02-29T23:30:00Z"), day_of("2024-02-29"), "the time of day is ignored");
    }

    #[test]
    fn lines_contain_whole_texts_only() {
        let column = lines(&["store".into(), "bulling heifers".into()]);
        for (text, there) in [("store", true), ("bulling heifers", true), ("heifers", false), ("", false)] {
            assert_eq!(column.contains(&line(text)), there, "{text}");
        }
    }
}
