//! The layers around every handler. From the outside: request lifecycle, CORS, access control.

pub(crate) mod access_control;
pub(crate) mod activity;
mod error_response;
pub(crate) mod rate_limit;
pub(crate) mod request_lifecycle;
mod response_headers;
