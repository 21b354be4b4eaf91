//! Connections and sessions of PostgreSQL.

mod connect;
mod plan_mode;
mod session;

pub(crate) use connect::connect;
pub(crate) use plan_mode::PlanMode;
pub(crate) use session::{
    BackendId, configure, disable_prepared_statements, local_settings, with_connection,
};
