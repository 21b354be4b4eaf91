//! Paged searches: parameters, cursors and links.

mod keyset;
pub mod page;
pub mod stream;
