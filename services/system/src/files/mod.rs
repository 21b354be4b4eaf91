//! Files that users upload for an organisation, and the organisations that may read them. A file never changes.
//! Deleting a file archives it, because loads and listings keep referring to it.
//!
//! A file is a row. Its content is the bytes that were uploaded, identified by their hash. They are kept as a blob in
//! the [blob store](blob_store), a folder or an object store; another row names the blob that is in use for each hash.
//! Rows are written last, so that every file has its complete content. The [sweep] removes blobs without a row.
//!
//! | | Way |
//! |---|---|
//! | upload | [`handlers`], [`upload`] (form), [`blob_store`], [`scan`], [`privacy`], [`blob_store`], [`store`] |
//! | download | [`handlers`], [`store`], [`images`] for a smaller one, [`download`] (the response), [`blob_store`] |
//! | sharing | [`handlers`], [`resolve`], [`publish`] if images become public, [`store`], which applies [`sharing`] |

pub(crate) mod blob_store;
mod demo;
mod download;
mod handlers;
pub(crate) mod images;
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
pub(crate) mod sweep;
mod upload;

pub(crate) use demo::create_demo_data;
pub(crate) use handlers::{MAX_TENANT_RESOLVES, routes};
pub(crate) use store::record_kinds;
