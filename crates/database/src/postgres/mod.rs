//! Connections to PostgreSQL.

mod connect;
mod session;

pub(crate) use connect::connect;
pub(crate) use session::{configure, disable_prepared_statements, local_settings, with_connection};
