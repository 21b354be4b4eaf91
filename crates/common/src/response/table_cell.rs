//! The typed cells of exports.

use std::borrow::Cow;

use crate::response::csv::CsvCell;

/// A cell of an export.
#[derive(Clone, Debug)]
pub enum TableCell<'a> {
    /// A text, such as an id, a postcode or the number of a ticket.
    Text(Cow<'a, str>),
    /// The digits of a number, as in JSON. Empty for none.
    Number(Cow<'a, str>),
    /// An instant in UTC (RFC 3339). Empty for none.
    Instant(Cow<'a, str>),
    /// An instant in UTC that stands for its day if it is midnight. Empty for none.
    Day(Cow<'a, str>),
    /// Texts without `;`.
    List(Vec<Cow<'a, str>>),
}

impl<'a> TableCell<'a> {
    /// Creates a cell from a text.
    pub fn text(text: &'a str) -> Self {
        Self::Text(text.into())
    }

    /// Creates a cell from the digits of a number.
    pub fn number(digits: &'a str) -> Self {
        Self::Number(digits.into())
    }

    /// Creates a cell from a list of texts.
    pub fn list<T: AsRef<str> + ?Sized + 'a>(texts: impl IntoIterator<Item = &'a T>) -> Self {
        Self::List(texts.into_iter().map(|text| text.as_ref().into()).collect())
    }

    /// Returns the cell of a CSV file.
    pub fn to_csv(&self) -> CsvCell<'_> {
        match self {
            Self::Number(digits) => CsvCell::number(digits),
            Self::Text(text) | Self::Instant(text) | Self::Day(text) => CsvCell::text(text),
            Self::List(texts) => CsvCell::list(texts),
        }
    }
}
