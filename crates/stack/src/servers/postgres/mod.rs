//! PostgreSQL: a cluster of its own.

mod account;
mod citus;
mod cluster;

pub use citus::{CITUS_SETTINGS, CitusCluster, has_citus};
pub use cluster::Cluster;
