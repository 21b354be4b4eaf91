//! Pages of a search: by limit and offset, or by a cursor, which costs the same on every page.

use database::search::Position;
use serde::Deserialize;
use utoipa::IntoParams;

use super::cursor::Cursor;
use super::sort::Sorting;
use crate::response::negotiate::Format;
use crate::response::validation::{Code, ValidationErrors};
use crate::wire::QueryText;

/// The default number of rows on a page.
pub(super) const DEFAULT_LIMIT: i64 = 20;

/// Query parameters that every paged search has besides its filters (docs/api/lists.md).
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct PageParams {
    /// Rows on a page. JSON: up to 100, by default 20. CSV: by default all. XLSX: by default 1,000,000.
    #[param(minimum = 1, maximum = 1_000_000)]
    limit: Option<i64>,
    /// Rows to skip.
    #[param(minimum = 0, maximum = 1_000_000)]
    offset: Option<i64>,
    /// Where the previous page ended: from the `next` link.
    #[param(max_length = 4096)]
    cursor: Option<String>,
    /// `true`: count all matches, in `X-Total-Count`.
    pub count: bool,
    /// Descending if true, else ascending.
    pub sort_desc: Option<bool>,
    /// `JSON`, `CSV` or `XLSX`, in any case; by default what the `Accept` header prefers, else JSON.
    format: Option<QueryText>,
    /// `true`: CSV begins with a byte order mark, which Excel needs.
    bom: bool,
}

impl PageParams {
    /// Returns the format and the page of a search in this order. `accepted` is the format that the `Accept` header
    /// prefers.
    pub fn parse<K>(
        &self,
        accepted: Format,
        sorting: &Sorting<K>,
        errors: &mut ValidationErrors,
    ) -> (Format, PageRequest) {
        let format = Format::named(self.format.as_deref(), &Format::ALL, accepted, errors).with_bom(self.bom);
        let limit = Some(format.limit(self.limit, errors));
        (format, PageRequest::new(limit, self.offset, self.cursor.as_deref(), sorting, errors))
    }
}

/// Query parameters of a list in a fixed order, as JSON only (docs/api/lists.md).
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ListParams {
    /// Entries on a page, by default 20.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<i64>,
    /// Entries to skip.
    #[param(minimum = 0, maximum = 1_000_000)]
    offset: Option<i64>,
    /// Where the previous page ended: from the `next` link.
    #[param(max_length = 4096)]
    cursor: Option<String>,
    /// `true`: count all entries, in `X-Total-Count`.
    pub count: bool,
}

impl ListParams {
    /// Returns the page of a list in this order.
    pub fn parse<K>(&self, sorting: &Sorting<K>, errors: &mut ValidationErrors) -> PageRequest {
        PageRequest::new(self.limit, self.offset, self.cursor.as_deref(), sorting, errors)
    }
}

/// The rows of a search that a request asks for.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// The most rows: 1 to 100; of a streamed response up to all.
    pub limit: i64,
    /// Rows to skip, 0 to 1,000,000; 0 with a cursor.
    pub offset: i64,
    /// The last row of the previous page.
    pub after: Option<Cursor>,
}

impl PageRequest {
    /// Reads the parameters `limit`, `offset` and `cursor` of a search in this order.
    pub fn new<K>(
        limit: Option<i64>,
        offset: Option<i64>,
        cursor: Option<&str>,
        sorting: &Sorting<K>,
        errors: &mut ValidationErrors,
    ) -> Self {
        let after = cursor.and_then(|text| {
            let decoded = sorting.decode(text);
            if decoded.is_none() {
                let message = "must come from the next link of a search in the same order";
                errors.push("cursor", Code::Format, message);
            }
            decoded
        });
        let offset = if after.is_some() { 0 } else { offset.unwrap_or(0) };
        Self { limit: limit.unwrap_or(DEFAULT_LIMIT), offset, after }
    }

    /// The first page, with the default limit.
    pub fn first() -> Self {
        Self { limit: DEFAULT_LIMIT, offset: 0, after: None }
    }

    /// Returns how many rows to read: one more than the limit, to know whether more follow.
    pub fn fetch(&self) -> i64 {
        self.limit + 1
    }

    /// Returns the position after which the page begins.
    pub fn position(&self) -> Option<Position> {
        self.after.as_ref().map(Cursor::position)
    }
}

#[cfg(test)]
mod tests {
    use database::Id;
    use database::search::{Nulls, SortType, SortValue};

    use super::*;
    use crate::search::sort::SortDefinition;

    static SORTS: [SortDefinition<()>; 4] = [
        SortDefinition { name: "createdAt", key: (), sort_type: SortType::Timestamp, nulls: Nulls::Never },
        SortDefinition { name: "createdAt", key: (), sort_type: SortType::Text, nulls: Nulls::Never },
        SortDefinition { name: "createdAt", key: (), sort_type: SortType::Number, nulls: Nulls::Apart },
        SortDefinition { name: "createdAt", key: (), sort_type: SortType::Text, nulls: Nulls::Mixed },
    ];

    fn is_refused(text: &str, by: &'static SortDefinition<()>) -> bool {
        let mut errors = ValidationErrors::default();
        PageRequest::new(None, None, Some(text), &Sorting::new(by, false), &mut errors);
        errors.failed("cursor")
    }

    #[test]
    fn cursors_of_another_order_are_refused() {
        let [timestamps, texts, numbers_or_none, texts_or_none] = [0, 1, 2, 3];
        let (number, text) = (|n| Some(SortValue::Integer(n)), |t: &str| Some(SortValue::Text(t.into())));
        assert!(is_refused("nonsense", &SORTS[timestamps]));
        for (value, valid) in [
            (None, &[numbers_or_none, texts_or_none][..]),
            (number(5), &[timestamps, numbers_or_none]),
            (number(i64::MAX), &[numbers_or_none]),
            (text("x"), &[texts, texts_or_none]),
            (text("a\u{0}"), &[]),
        ] {
            let encoded =
                |sort: &str| Cursor { sort: sort.into(), value: value.clone(), id: Id::new() }.encode();
            for (i, sort) in SORTS.iter().enumerate() {
                assert_eq!(
                    is_refused(&encoded("createdAt"), sort),
                    !valid.contains(&i),
                    "{value:?} {sort:?}"
                );
                assert!(is_refused(&encoded("-createdAt"), sort));
            }
        }
    }
}
