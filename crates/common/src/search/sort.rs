//! The ways to sort a resource, one line each in a table, the one that a request chooses, and cursors: where the next
//! page begins, as opaque text in a link.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use database::Id;
use database::search::{Nulls, Position, SortOrder, SortType, SortValue};
use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

/// What the names of members with a time end with. `sortBy` takes these names too.
const TIME_SUFFIX: &str = "UTC";

/// A way to sort a resource. The names, the SQL, the cursors and the documentation of `sortBy` follow from a table of
/// these, so adding a sort is adding a line.
#[derive(Debug)]
pub struct SortDefinition<K> {
    /// The name in the parameter `sortBy`.
    pub name: &'static str,
    /// What the resource's queries need to know of the sort key, such as its column.
    pub key: K,
    /// The type of the sort key's values.
    pub sort_type: SortType,
    /// Which rows have no value.
    pub nulls: Nulls,
}

/// The sort of lists that have no other one: by the id alone, which has the time.
static BY_ID: SortDefinition<()> =
    SortDefinition { name: "createdAt", key: (), sort_type: SortType::Number, nulls: Nulls::Never };

/// The sort of a search, and its direction.
#[derive(Debug)]
pub struct Sorting<K: 'static> {
    /// The sort.
    pub by: &'static SortDefinition<K>,
    /// True for a descending order.
    pub desc: bool,
    /// The name of this order in cursors. A cursor is valid only in the order that it was made for.
    pub name: String,
}

impl<K> Clone for Sorting<K> {
    fn clone(&self) -> Self {
        Self { by: self.by, desc: self.desc, name: self.name.clone() }
    }
}

impl Sorting<()> {
    /// Returns the order of lists that have no other one: newest first, by the id alone, which has the time.
    pub fn newest_first() -> Self {
        Self::new(&BY_ID, true)
    }
}

impl<K> Sorting<K> {
    /// Sorts by this definition.
    pub fn new(by: &'static SortDefinition<K>, desc: bool) -> Self {
        Self::named(by, desc, by.name)
    }

    /// Sorts by this definition with parameters of its own, such as a point, which `name` contains.
    pub fn named(by: &'static SortDefinition<K>, desc: bool, name: &str) -> Self {
        Self { by, desc, name: format!("{}{name}", if desc { "-" } else { "" }) }
    }

    /// Reads the parameters `sortBy`, which the schema has validated, and `sortDesc`. The first sort of the table is
    /// `createdAt`. The newest rows come first by default; `sortBy` alone ascends; `sortDesc` alone applies to
    /// `createdAt` (docs/api/lists.md).
    pub fn from_params(
        sort_by: Option<&str>,
        sort_desc: Option<bool>,
        table: &'static [SortDefinition<K>],
    ) -> Self {
        let name = sort_by.map(|name| name.strip_suffix(TIME_SUFFIX).unwrap_or(name));
        let by = table.iter().find(|sort| Some(sort.name) == name).unwrap_or(&table[0]);
        Self::new(by, sort_desc.unwrap_or(sort_by.is_none()))
    }

    /// Describes the parameter `sortBy`: the names of the table, and other names for them.
    pub fn parameter(table: &[SortDefinition<K>], aliases: &[&'static str]) -> Object {
        let names = table.iter().map(|sort| sort.name.to_owned());
        let aliases = aliases.iter().map(|&alias| alias.to_owned());
        let times = table.iter().filter(|sort| sort.name.ends_with("At"));
        let times = times.map(|sort| format!("{}{TIME_SUFFIX}", sort.name));
        ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(names.chain(aliases).chain(times)))
            .build()
    }

    /// Returns the order of rows, with `key` as the sort key's SQL expression.
    pub fn order<E>(&self, key: E) -> SortOrder<E> {
        let SortDefinition { sort_type, nulls, .. } = *self.by;
        SortOrder { key, sort_type, nulls, desc: self.desc }
    }

    /// Returns the cursor of a row.
    pub fn cursor(&self, (value, id): Position) -> Cursor {
        Cursor { sort: self.name.clone(), value, id }
    }

    /// Decodes a cursor of this order. `None` if it is not one: it comes from a client.
    pub(super) fn decode(&self, text: &str) -> Option<Cursor> {
        let has_value = |cursor: &Cursor| match &cursor.value {
            Some(value) => value.is_of(self.by.sort_type),
            None => self.by.nulls != Nulls::Never,
        };
        Cursor::decode(text).filter(|cursor| cursor.sort == self.name && has_value(cursor))
    }
}

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
