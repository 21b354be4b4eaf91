//! Cursors: where the next page begins, as opaque text in a link.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use database::Id;
use database::search::{Position, SortValue};
use serde::{Deserialize, Serialize};

/// The last row of a page, and the sort that its position belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cursor {
    /// The name of the sort: see [`Sorting::name`](super::Sorting::name).
    #[serde(rename = "s")]
    pub sort: String,
    /// The value of the row's sort key, if it has one.
    #[serde(rename = "v")]
    pub value: Option<SortValue>,
    /// The row's id.
    #[serde(rename = "i")]
    pub id: Id,
}

impl Cursor {
    /// Encodes the cursor for a link.
    pub fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    /// Decodes the text of a link. `None` if no cursor was encoded like this.
    pub fn decode(text: &str) -> Option<Self> {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
    }

    /// Returns the position after which the next page begins.
    pub fn position(&self) -> Position {
        (self.value.clone(), self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_is_reversible() {
        for value in [None, Some(SortValue::Integer(5)), Some(SortValue::Text("ä".into()))] {
            let cursor = Cursor { sort: "-createdAt".into(), value, id: Id::new() };
            assert_eq!(Cursor::decode(&cursor.encode()), Some(cursor));
        }
    }
}
