//! Pages of a search in any order: sort keys, keyset conditions, and queries merged from branches.

mod keyset;
mod merged_query;
mod sort_key;
pub mod words;

pub use keyset::{Position, RowsAfter, SortOrder};
pub use merged_query::MergedQuery;
pub use sort_key::{Column, Nulls, RowSortKey, SortKey, SortType, SortValue};
