//! Files that users upload for an organisation, and the organisations that may read them. A file never changes.
//! Deleting a file archives it, because loads and listings keep referring to it.
//!
//! The [content store](blob_store) has the content of a file; a database row has everything else. The row is written
//! last, so that every row has its complete content. The [sweep] removes content without a row.

pub(crate) mod blob_store;
pub(crate) mod contents;
mod core_permits;
mod demo;
mod download;
mod form;
mod handlers;
mod ids;
pub(crate) mod images;
mod kind;
pub(crate) mod limits;
pub(crate) mod links;
mod model;
pub(crate) mod privacy;
mod publish;
mod resolve;
mod responses;
pub(crate) mod scan;
pub(crate) mod search;
mod sharing;
mod sniff;
mod store;
mod stored_contents;
mod stripped_files;
pub(crate) mod sweep;
mod upload;
mod usage;

pub(crate) use demo::create_demo_data;
pub(crate) use handlers::{MAX_TENANT_RESOLVES, routes};
pub(crate) use model::File;
pub(crate) use store::usage::forget as forget_usage;
