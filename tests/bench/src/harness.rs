//! What the bench uses of testkit.

pub use testkit::market::random::{Random, SEED};
pub use testkit::market::{self as fixtures, listings, loads};
pub use testkit::processes::databases::{Databases, options};
pub use testkit::processes::http::{Body, Form, HttpClient, MAX_IDLE_CONNECTIONS, Response};
pub use testkit::processes::interrupt::{Interrupt, Interrupted, run_program};
pub use testkit::processes::programs::{self, Profile};
pub use testkit::processes::servers::{self, CitusCluster, Cluster, Programs, Server, Servers, has_citus};
pub use testkit::processes::service::{ServiceConfig, ServiceProcess};
pub use testkit::processes::{checkout, ports, process_stats, tools};
