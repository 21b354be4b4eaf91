//! PostgreSQL: a cluster of its own.

mod account;
mod cluster;
mod install;

pub use cluster::Cluster;
pub use install::{PACKAGE, find};
