//! Baselines: the program `limits`, nginx, pgbench and PocketBase.

pub mod constant;
pub mod files;
pub mod floor;
mod limits;
pub mod nginx;
pub mod pocketbase;
mod server;
pub mod sql;
