//! The plumbing over real HTTP, through a toy service: contract, sections 1, 2 and 6.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test fails by panicking")]

mod bodies;
mod caller;
mod counted;
mod docs;
mod echo;
mod errors;
mod headers;
mod hostile;
mod idempotency;
mod key_sources;
mod keys;
mod leaving;
mod outside;
mod paging;
mod parsers;
mod public;
mod queries;
mod raw;
mod settings;
mod smuggled;
mod stalling;
mod starting;
mod stopping;
mod texts;
mod unparsed;
