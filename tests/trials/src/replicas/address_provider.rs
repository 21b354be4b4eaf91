//! A provider of addresses (Photon) whose data changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use stack::http_listener::listen;

/// Duration of a response, so that other requests run in between.
const RESPONSE_TIME: Duration = Duration::from_millis(5);

/// The provider. Every place is named after the current edition of its data. It listens until this program ends.
#[derive(Debug)]
pub struct AddressProvider {
    port: u16,
    edition: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
}

impl AddressProvider {
    /// Starts the provider with edition 0.
    pub fn start() -> Result<Self> {
        let (edition, requests) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (current, count) = (edition.clone(), requests.clone());
        let port = listen(move |request| {
            count.fetch_add(1, Ordering::SeqCst);
            let name = format!("Edition {}", current.load(Ordering::SeqCst));
            sleep(RESPONSE_TIME);
            let parameter = |name: &str| {
                let value = request.line.split([' ', '?', '&']).find_map(|part| part.strip_prefix(name));
                value.and_then(|value| value.parse::<f64>().ok()).unwrap_or_default()
            };
            let properties = json!({"osm_type": "N", "osm_id": 1, "osm_key": "place", "osm_value": "village",
                "name": name, "countrycode": "GB"});
            let geometry = json!({"type": "Point", "coordinates": [parameter("lon="), parameter("lat=")]});
            Some(json!({"features": [{"geometry": geometry, "properties": properties}]}).to_string())
        })?;
        Ok(Self { port, edition, requests })
    }

    /// Port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Changes the edition.
    pub fn publish(&self, edition: usize) {
        self.edition.store(edition, Ordering::SeqCst);
    }

    /// Number of requests so far.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}
