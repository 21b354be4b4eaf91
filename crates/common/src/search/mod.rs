//! Paged searches: sorts, cursors, pages and links (docs/api/lists.md).

mod page;
mod sort;
mod stream;

pub use page::{ListParams, OffsetParams, PageParams, PageRequest, ResultPage, offset_links, parse_words};
pub use sort::{Cursor, SortDefinition, Sorting};
pub use stream::{IdBatch, stream_by_ids, stream_pages};
