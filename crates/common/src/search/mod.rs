//! Paged searches: sorts, cursors, pages and links (docs/api/lists.md).

mod cursor;
mod links;
mod offset_params;
mod page;
mod result_page;
mod sort;
mod stream;
mod words;

pub use cursor::Cursor;
pub use links::offset_links;
pub use offset_params::OffsetParams;
pub use page::{ListParams, PageParams, PageRequest};
pub use result_page::ResultPage;
pub use sort::{SortDefinition, Sorting};
pub use stream::{IdBatch, stream_by_ids, stream_pages};
pub use words::parse_words;
