//! Texts with the limits of contract section 6, stated once and published with every schema that uses them.
//!
//! What is blank counts as empty; control characters are refused, line breaks only where a text may have lines.

use serde::{Deserialize, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AnyOfBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

/// No control characters.
const LINE: &str = r"^[^\x00-\x1f\x7f-\x9f]*$";
/// No control characters but line breaks.
const LINES: &str = r"^[^\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]*$";
/// No control characters, no semicolon (which separates tags in CSV).
const TAG: &str = r"^[^;\x00-\x1f\x7f-\x9f]*$";

macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $min:literal..$max:literal, $pattern:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .min_length(Some($min))
                    .max_length(Some($max))
                    .pattern(Some($pattern))
                    .into()
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
    /// A name or an id: 1..200 characters.
    Name, 1..200, LINE
);
text!(
    /// A reference or a ticket number: 1..100 characters.
    Reference, 1..100, LINE
);
text!(
    /// A vehicle registration: 1..20 characters.
    Registration, 1..20, LINE
);
text!(
    /// A tag: 1..50 characters without `;`.
    Tag, 1..50, TAG
);
text!(
    /// A breed, a breed type or a breed society: 1..60 characters.
    Breed, 1..60, LINE
);
text!(
    /// A description or message: up to 10,000 characters, line breaks allowed.
    Note, 0..10000, LINES
);
text!(
    /// A query parameter's text: up to 1,000 characters.
    Word, 0..1000, LINE
);

/// A date (`2026-03-01`: midnight UTC) or a date-time with offset (contract, section 1, "Timestamps").
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Iso(pub String);

impl PartialSchema for Iso {
    fn schema() -> RefOr<Schema> {
        let form = |format| {
            ObjectBuilder::new().schema_type(Type::String).format(Some(SchemaFormat::KnownFormat(format)))
        };
        AnyOfBuilder::new().item(form(KnownFormat::Date)).item(form(KnownFormat::DateTime)).into()
    }
}
impl ToSchema for Iso {}

impl Iso {
    /// The instant, or the first one of the day. The schema has already refused what is neither.
    pub fn start(&self) -> Option<database::Ts> {
        database::Ts::parse(&self.0)
    }

    /// The instant, or the last one of the day.
    pub fn end(&self) -> Option<database::Ts> {
        database::Ts::parse_end(&self.0)
    }
}
