//! The layers around every handler, from the outermost: request lifecycle, CORS, access control.

pub mod access_control;
pub mod context;
pub mod public_cors;
pub mod rate_limit;
pub mod request_lifecycle;
