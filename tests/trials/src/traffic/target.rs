//! A service under traffic.

use anyhow::Result;
use stack::service::ServiceProcess;

use super::{Client, Workload};

/// A running service with seeded objects, and a client of it.
pub struct Target {
    /// The service.
    pub service: ServiceProcess,
    /// Its client.
    pub client: Client,
}

impl Target {
    /// Seeds a service.
    pub fn new(service: ServiceProcess) -> Result<Self> {
        let database = service.config().database.clone();
        let client = Client::seed(service.name, service.url(""), database, |org| service.token(Some(org)))?;
        Ok(Self { service, client })
    }

    /// Writes with markers of this prefix, reads of seeded objects, and probes.
    pub fn workloads(&self, prefix: &str) -> Vec<Workload> {
        let mut workloads = self.client.workloads(prefix);
        workloads.extend(self.client.probes());
        workloads
    }
}
