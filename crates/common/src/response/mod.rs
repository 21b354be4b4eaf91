//! Responses: JSON, CSV, streams, content negotiation and error bodies.

pub(crate) mod error;
pub(crate) mod json;
pub(crate) mod negotiate;
pub(crate) mod revision;
pub(crate) mod stream;
pub mod validation;
