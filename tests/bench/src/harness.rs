//! What the bench uses of the crate that starts services and servers as processes.

pub use stack::databases::{Databases, options};
pub use stack::fixtures::{self, listings, loads};
pub use stack::http::{Body, HttpClient, MAX_IDLE_CONNECTIONS, Response};
pub use stack::interrupt::{Interrupt, Interrupted, run_program};
pub use stack::multipart::Form;
pub use stack::programs::{self, Profile};
pub use stack::random::{Random, SEED};
pub use stack::servers::{self, CitusCluster, Cluster, Programs, Server, Servers, has_citus};
pub use stack::service::{ServiceConfig, ServiceProcess};
pub use stack::{checkout, nginx, ports, process_stats, tools};
