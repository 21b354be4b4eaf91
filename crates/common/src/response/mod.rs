//! Responses: JSON, CSV, streams, content negotiation and error bodies.

pub mod csv;
pub(crate) mod error;
pub(crate) mod json;
pub(crate) mod negotiate;
pub(crate) mod revision;
pub(crate) mod stream;
pub(crate) mod table;
pub(crate) mod table_cell;
pub mod validation;
pub(crate) mod xlsx;
