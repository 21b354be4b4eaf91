//! Responses: JSON, CSV, streams, content negotiation and error bodies.

pub mod csv;
pub mod error;
pub mod json;
pub mod negotiate;
pub mod stream;
pub mod validation;
