//! Text types with their limits, which their schemas publish (docs/api/conventions.md, "Text").
//!
//! Each text is normalized first ([`TextForm`]), which removes invisible characters from lines. Then blank texts count
//! as empty. Control characters are refused, and tabs and line breaks too, except in long texts. Characters that change
//! the direction of text are refused except in queries, and ids refuse all invisible ones. [`StoredId`] is neither
//! normalized nor checked for these.

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::schema::{AnyOfBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

use super::{TextForm, postcode};

/// No NUL character, which PostgreSQL cannot store.
const NO_NUL: &str = r"^[^\x00]*$";
/// No control characters.
const LINE: &str = r"^[^\x00-\x1f\x7f-\x9f]*$";
/// No control characters except tabs and line breaks, and none that change the direction of text.
const LINES: &str = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]*$";
/// No control characters and none that change the direction of text: [`super::is_plain_line`].
const NAME: &str = r"^[^\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]*$";
/// No control characters and no invisible ones. Two ids that look alike must not differ.
const ID: &str = r"^[^\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]*$";
/// Like [`NAME`], and no semicolon, which separates tags in CSV.
const TAG: &str = r"^[^;\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]*$";

/// Message for an id with a forbidden character.
pub const ID_MESSAGE: &str = "must not have control characters or invisible ones";
/// Message for a name with a forbidden character.
pub const NAME_MESSAGE: &str =
    "must not have control characters or characters that change the direction of text";

/// Returns the message for a text that does not match one of the patterns of this module.
pub(crate) fn pattern_message(pattern: &str) -> Option<&'static str> {
    match pattern {
        NO_NUL => Some("must not have a NUL character"),
        LINE => Some("must be one line without control characters"),
        LINES => Some(
            "must not have control characters other than tabs and line breaks, or characters that change the direction \
             of text",
        ),
        ID => Some(ID_MESSAGE),
        NAME => Some(NAME_MESSAGE),
        TAG => Some(
            "must not have semicolons, control characters or characters that change the direction of text",
        ),
        _ => None,
    }
}

/// Returns the schema of a text of `min` to `max` characters.
fn schema(min: usize, max: usize, pattern: &str, form: TextForm) -> RefOr<Schema> {
    let form = ExtensionsBuilder::new().add(TextForm::EXTENSION, form.name()).build();
    ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(min))
        .max_length(Some(max))
        .pattern(Some(pattern))
        .extensions(Some(form))
        .into()
}

macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $min:literal..=$max:literal, $pattern:ident, $form:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                schema($min, $max, $pattern, TextForm::$form)
            }
        }
        impl ToSchema for $name {}

        impl std::ops::Deref for $name {
            type Target = str;
            fn deref(&self) -> &str {
                &self.0
            }
        }
    };
}

text!(
    /// A name: 1 to 200 characters.
    Name, 1..=200, NAME, Line
);
text!(
    /// The id of a user, an organisation or a place: 1 to 200 characters.
    ExternalId, 1..=200, ID, Id
);
text!(
    /// A stored id, which may be older than the normalization of ids: 1 to 200 characters, compared exactly.
    StoredId, 1..=200, NO_NUL, Exact
);
text!(
    /// A reference or a ticket number: 1 to 100 characters.
    Reference, 1..=100, NAME, Line
);
text!(
    /// A vehicle registration: 1 to 20 characters, in upper case.
    Registration, 1..=20, NAME, Upper
);
text!(
    /// A tag: 1 to 50 characters without `;`.
    Tag, 1..=50, TAG, Line
);
text!(
    /// A breed, a breed type or a breed society: 1 to 60 characters.
    Breed, 1..=60, NAME, Line
);
text!(
    /// A description or message: up to 10,000 characters, tabs and line breaks allowed.
    LongText, 0..=10000, LINES, Lines
);
text!(
    /// A message to others: 1 to 2,000 characters, tabs and line breaks allowed.
    Message, 1..=2000, LINES, Lines
);
text!(
    /// A note: 1 to 1,000 characters, tabs and line breaks allowed.
    Note, 1..=1000, LINES, Lines
);
text!(
    /// The reason of an action: 1 to 1,000 characters.
    Reason, 1..=1000, NAME, Line
);
text!(
    /// The text of a query parameter, or of a list of ids in which others are ignored: up to 1,000 characters.
    QueryText, 0..=1000, LINE, Line
);
text!(
    /// An id in a list of a query parameter, in which other texts find nothing: up to 36 characters, as UUIDs have, so
    /// that a URL has room for the list.
    ListedId, 0..=36, LINE, Line
);

/// A postcode: up to 20 characters. Postcodes of the UK and Ireland are normalized when they are deserialized.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Postcode(pub String);

impl Postcode {
    /// Returns the postcode that a text writes, in upper case.
    pub fn parse(text: &str) -> Self {
        Self(postcode::normalize(text).to_ascii_uppercase())
    }
}

impl<'de> Deserialize<'de> for Postcode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(postcode::normalize(&text)))
    }
}

impl PartialSchema for Postcode {
    fn schema() -> RefOr<Schema> {
        schema(1, 20, NAME, TextForm::Postcode)
    }
}
impl ToSchema for Postcode {}

/// A date (`2026-03-01`: midnight UTC) or a date-time with offset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DateOrDateTime(pub String);

impl PartialSchema for DateOrDateTime {
    fn schema() -> RefOr<Schema> {
        let text = |format| {
            ObjectBuilder::new().schema_type(Type::String).format(Some(SchemaFormat::KnownFormat(format)))
        };
        AnyOfBuilder::new().item(text(KnownFormat::Date)).item(text(KnownFormat::DateTime)).into()
    }
}
impl ToSchema for DateOrDateTime {}

impl DateOrDateTime {
    /// Returns the instant, or the first instant of the day. Returns `None` for a text that the schema refuses.
    pub fn start(&self) -> Option<database::Timestamp> {
        database::Timestamp::parse(&self.0)
    }

    /// Returns the instant, or the last instant of the day. Returns `None` for a text that the schema refuses.
    pub fn end(&self) -> Option<database::Timestamp> {
        database::Timestamp::parse_end(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{is_plain_id, is_plain_line};

    #[test]
    fn patterns_match_is_plain_line() {
        let schema = serde_json::json!({"pattern": NAME});
        let pattern = jsonschema::validator_for(&schema).unwrap();
        let tags = jsonschema::validator_for(&serde_json::json!({"pattern": TAG})).unwrap();
        let ids = jsonschema::validator_for(&serde_json::json!({"pattern": ID})).unwrap();
        for c in '\0'..=char::MAX {
            let text = serde_json::Value::String(format!("a{c}b"));
            assert_eq!(pattern.is_valid(&text), is_plain_line(&c.to_string()), "{c:?}");
            assert_eq!(tags.is_valid(&text), c != ';' && is_plain_line(&c.to_string()), "{c:?}");
            let id = TextForm::Id.normalize(&format!("a{c}b")).into_owned();
            assert_eq!(ids.is_valid(&id.into()), is_plain_id(&c.to_string()), "{c:?}");
        }
    }
}
