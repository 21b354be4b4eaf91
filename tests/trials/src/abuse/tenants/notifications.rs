//! A queue of notifications of one organisation, whose receiver is slow.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use parking_lot::Mutex;
use serde_json::{Value, json};
use stack::http::Body;
use stack::http_listener::listen;

use super::{ATTACKER, HONEST, MEMORY, THREADS, Tenants, load};
use crate::abuse::services::create;
use crate::abuse::target::Limits;

/// Deliveries of one organisation that run at once (`MAX_SLOTS_OF_ONE` in `dispatch.rs`).
const SLOTS: usize = 16;
/// Drivers of a load (docs/api/loads.md).
const MAX_DRIVERS: usize = 20;
/// Limit of the deliveries between a notification of the honest organisation and its arrival.
const MAX_BEFORE: usize = 3 * SLOTS;
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(60);

/// A webhook receiver that delays the responses to notifications of the attacker only.
pub struct SlowReceiver {
    port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    delay: Duration,
    /// Recipients of the notifications, in the order of arrival.
    recipients: Vec<String>,
}

impl SlowReceiver {
    pub fn start() -> Result<Self> {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        let port = listen(move |request| {
            let body: Value = serde_json::from_slice(&request.body).ok()?;
            let recipient = body["data"]["recipientId"].as_str()?.to_owned();
            let is_delayed = recipient.starts_with(ATTACKER);
            let mut state = shared.lock();
            state.recipients.push(recipient);
            let delay = state.delay;
            drop(state);
            if is_delayed {
                sleep(delay);
            }
            Some(String::new())
        })?;
        Ok(Self { port, state })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    fn set_delay(&self, delay: Duration) {
        self.state.lock().delay = delay;
    }

    /// Number of notifications that have arrived.
    fn arrivals(&self) -> usize {
        self.state.lock().recipients.len()
    }

    /// Position of the first notification for a recipient, in the order of arrival.
    fn position(&self, recipient: &str) -> Option<usize> {
        self.state.lock().recipients.iter().position(|one| one == recipient)
    }
}

/// Sends loads to as many drivers as an organisation may in ten minutes. Then the honest organisation sends a load,
/// three times.
pub fn run(tenants: &Tenants<'_>) -> Result<()> {
    let (trial, target, receiver) = (tenants.trial, &tenants.logistics, &tenants.receiver);
    let (count, delay) = if trial.short { (150, 1000) } else { (590, 250) };
    let limit = Duration::from_secs(2) + trial.grace();
    let create = |path: &str, token: &str, body| create(&target.service, path, token, Body::Json(body));
    let create_load = |token: &str, organiser| create("/v1/loads/organiser", token, load(organiser, &[]));
    let attacker_load = |_| create_load(&target.token, ATTACKER);
    let attacker_loads = (0..=count / MAX_DRIVERS).map(attacker_load).collect::<Result<Vec<_>>>()?;
    let honest_load = create_load(&tenants.honest, HONEST)?;
    let send = |token: &str, load: &str, driver: &str| {
        create("/v1/loads/send-to-driver", token, json!({"loadId": load, "driverId": driver}))
    };
    receiver.set_delay(Duration::from_millis(delay));
    let last = format!("{ATTACKER}-last");
    let (mut ids, mut slowest, mut most_before) = (BTreeSet::new(), Duration::ZERO, 0);
    let attack = format!("{count} notifications that take {delay} ms each");
    target.attack(&attack, &Limits { outcomes: &["sent", "sent again"], memory: MEMORY }, || {
        let mut outcomes = tenants.repeat(THREADS, count, |number| {
            let load = &attacker_loads[number / MAX_DRIVERS];
            send(&target.token, load, &format!("{ATTACKER}-{number}")).map(|_| "sent".to_owned())
        })?;
        for _ in 0..20 {
            ids.insert(send(&target.token, &attacker_loads[count / MAX_DRIVERS], &last)?);
            outcomes.add("sent again");
        }
        for number in 0..3 {
            let (driver, before) = (format!("{HONEST}-{number}"), receiver.arrivals());
            send(&tenants.honest, &honest_load, &driver)?;
            let arrived = || Ok(receiver.position(&driver).is_some());
            slowest =
                slowest.max(trial.wait_for("an honest notification arrives", ARRIVAL_TIMEOUT, arrived)?);
            most_before =
                most_before.max(receiver.position(&driver).unwrap_or_default().saturating_sub(before));
        }
        Ok(outcomes)
    })?;
    receiver.set_delay(Duration::ZERO); // for the attacks that follow
    let arrived = || Ok(receiver.position(&last).is_some());
    trial.wait_for("the last notification of the attacker arrives", ARRIVAL_TIMEOUT, arrived)?;
    target.expect(
        slowest <= limit && most_before <= MAX_BEFORE,
        "notifications of the other organisation meanwhile",
        format!("after {:.1} s at most, {most_before} others before it", slowest.as_secs_f64()),
        format!("{} s, {MAX_BEFORE} others", limit.as_secs()),
    )?;
    target.expect(
        ids.len() <= 2,
        "stored notifications of one that is sent 20 times while it is pending",
        ids.len().to_string(),
        "1, or 2 if it is delivered meanwhile",
    )
}
