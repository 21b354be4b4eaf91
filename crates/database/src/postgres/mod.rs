//! Connections and sessions of PostgreSQL.

mod connect;
mod session;

pub(crate) use connect::connect;
pub(crate) use session::{
    BackendId, PlanMode, configure, disable_prepared_statements, local_settings, with_connection,
};
