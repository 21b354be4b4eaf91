//! Paged searches: sorts, cursors, pages and links (docs/api/lists.md).

mod cursor;
mod links;
mod page;
mod sort;

pub use cursor::Cursor;
pub use links::offset_links;
pub use page::{PageParams, PageRequest, ResultPage};
pub use sort::{SortDefinition, Sorting};
