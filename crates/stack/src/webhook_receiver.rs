//! Receives webhooks and counts the deliveries of each id.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use parking_lot::Mutex;

use crate::http_listener::{ReceivedRequest, listen};

/// A receiver on 127.0.0.1. It listens until this program ends.
#[derive(Debug)]
pub struct WebhookReceiver {
    port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    deliveries: BTreeMap<String, usize>,
    in_flight: BTreeMap<String, usize>,
    overlaps: usize,
    requests: Vec<ReceivedRequest>,
    delay: Duration,
    refusing: bool,
}

impl WebhookReceiver {
    /// Starts a receiver that answers each request after `delay`.
    pub fn start(delay: Duration) -> Result<Self> {
        let state = Arc::new(Mutex::new(State { delay, ..State::default() }));
        let shared = state.clone();
        let port = listen(move |request| receive(request, &shared))?;
        Ok(Self { port, state })
    }

    /// Changes the delay of each response.
    pub fn set_delay(&self, delay: Duration) {
        self.state.lock().delay = delay;
    }

    /// Answers each request with 503 while `refusing`.
    pub fn set_refusing(&self, refusing: bool) {
        self.state.lock().refusing = refusing;
    }

    /// Port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Number of deliveries of each `webhook-id`.
    pub fn deliveries(&self) -> BTreeMap<String, usize> {
        self.state.lock().deliveries.clone()
    }

    /// Number of requests that arrived while the same `webhook-id` was in flight.
    pub fn overlaps(&self) -> usize {
        self.state.lock().overlaps
    }

    /// All requests that were accepted, in order.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.state.lock().requests.clone()
    }
}

/// Returns an empty body, or none for a 503.
fn receive(request: ReceivedRequest, state: &Mutex<State>) -> Option<String> {
    let id = request.header("webhook-id").to_owned();
    let delay = {
        let mut state = state.lock();
        let in_flight = state.in_flight.entry(id.clone()).or_default();
        *in_flight += 1;
        let overlaps = usize::from(*in_flight > 1);
        state.overlaps += overlaps;
        state.delay
    };
    sleep(delay);
    let mut state = state.lock();
    *state.in_flight.entry(id.clone()).or_default() -= 1;
    if state.refusing {
        return None;
    }
    *state.deliveries.entry(id).or_default() += 1;
    state.requests.push(request);
    Some(String::new())
}
