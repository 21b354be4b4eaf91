//! Baselines: the program `limits`, nginx and pgbench.

pub mod constant;
pub mod files;
pub mod floor;
mod limits;
pub mod nginx;
mod server;
pub mod sql;
