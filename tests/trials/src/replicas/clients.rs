//! The traffic through the proxy.

use anyhow::Result;
use stack::checkout::SERVICES;
use stack::http::Response;

use super::deployment::Deployment;
use crate::ledger::Ledger;
use crate::traffic::{Client, Records, SEED_ORG, SEEDED, Workload};

/// Size of a large file in bytes. Its upload takes a while.
const LARGE: usize = 300_000;

/// Clients of the three services.
pub struct Clients {
    clients: Vec<Client>,
    ticket: String,
}

impl Clients {
    /// Seeds the services through the proxy.
    pub fn new(deployment: &Deployment<'_>) -> Result<Self> {
        let seed = |name| {
            let (url, database) = (deployment.proxy.url(name), Some(deployment.database.clone()));
            Client::seed(name, url, database, |org| deployment.token(Some(org)))
        };
        let clients = SERVICES.into_iter().map(seed).collect::<Result<Vec<_>>>()?;
        Ok(Self { ticket: clients[0].write("ticket")?, clients })
    }

    /// The workloads of all services through the proxy.
    pub fn workloads(&self, prefix: &str) -> Vec<Workload> {
        self.clients.iter().flat_map(|client| self.workloads_of(client, prefix)).collect()
    }

    /// The workloads of logistics at the address of a replica.
    pub fn direct_workloads(&self, url: String, prefix: &str) -> Vec<Workload> {
        self.workloads_of(&self.clients[1].at(url), prefix)
    }

    /// Reads, writes with and without keys, uploads, downloads, exports, and loads and listings with files, for which
    /// system is called.
    fn workloads_of(&self, client: &Client, prefix: &str) -> Vec<Workload> {
        let mut workloads = client.workloads(prefix);
        // A header and the seeded rows.
        let is_whole = |r: &Response| String::from_utf8_lossy(&r.bytes).lines().count() == SEEDED + 1;
        let mut more = match client.service {
            "system" => {
                let path = "/v1/locations/coordinates?lat=52.05&lon=-2.7";
                let place = client.reads("place", path, |r| r.json["threeWords"].is_string());
                [client.large_uploads(prefix, LARGE), place]
            }
            service => {
                let [resource, organisation] = match service {
                    "logistics" => ["loads", "organiserId"],
                    _ => ["listings", "organisationId"],
                };
                let path = format!("/v1/{resource}?format=CSV&f:{organisation}={SEED_ORG}");
                [client.writes_with_file(prefix, &self.ticket), client.reads("export", path, is_whole)]
            }
        };
        for workload in workloads.iter_mut().chain(&mut more) {
            workload.streamed = ["download", "export"].contains(&workload.name);
        }
        workloads.extend(more);
        workloads
    }

    /// Compares all recorded writes with what is stored. Returns the number of violations.
    pub fn verify(&self, deployment: &Deployment<'_>, records: &Records, prefix: &str) -> Result<usize> {
        let mut ledger = Ledger::default();
        for client in &self.clients {
            client.verify(deployment.trial, records, prefix, &mut ledger)?;
        }
        Ok(ledger.violations())
    }
}
