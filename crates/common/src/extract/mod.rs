//! Extractors: the validated parts of a request, as arguments of a handler.

mod body;
pub mod idempotency;
mod merge_patch;
pub mod multipart;
mod path;
mod query;
mod stored_query;

pub use body::Body;
pub(crate) use body::JsonLimit;
pub(crate) use idempotency::Fingerprint;
pub use merge_patch::MergePatch;
pub use path::{PathId, check_path_text};
pub use query::Query;
pub use stored_query::QueryValidator;
