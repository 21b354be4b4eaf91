//! Receives webhooks and counts the deliveries of each id. The services' own tests check signatures and leases.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use parking_lot::Mutex;
use testkit::processes::http::listen;

/// The secret of the services that send to it.
pub const WEBHOOK_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A receiver on 127.0.0.1. It listens until this program ends.
#[derive(Debug)]
pub struct Receiver {
    port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    deliveries: BTreeMap<String, usize>,
    refusing: bool,
}

impl Receiver {
    /// Starts a receiver that accepts everything.
    pub fn start() -> Result<Self> {
        let state = Arc::<Mutex<State>>::default();
        let shared = state.clone();
        let port = listen(move |request| {
            let mut state = shared.lock();
            if state.refusing {
                return None;
            }
            *state.deliveries.entry(request.header("webhook-id").to_owned()).or_default() += 1;
            Some(String::new())
        })?;
        Ok(Self { port, state })
    }

    /// Answers each request with 503 while `refusing`.
    pub fn set_refusing(&self, refusing: bool) {
        self.state.lock().refusing = refusing;
    }

    /// URL for the services.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    /// Number of deliveries of each `webhook-id`.
    pub fn deliveries(&self) -> BTreeMap<String, usize> {
        self.state.lock().deliveries.clone()
    }
}
