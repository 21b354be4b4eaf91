//! Which contents of the store files use.

mod retire;

pub(super) use retire::{remove_retired, remove_unused};
