//! PostgreSQL: a cluster of its own.

mod account;
mod cluster;

pub use cluster::Cluster;
