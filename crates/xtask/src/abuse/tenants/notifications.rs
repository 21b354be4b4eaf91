//! A queue of notifications of one organisation, which the receiver takes slowly.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{ATTACKER, HONEST, THREADS, Tenants, load};
use crate::abuse::socket::Ends;
use crate::client::Body;
use crate::listener::listen;

const SEND: &str = "/v1/loads/send-to-driver";
/// Deliveries of one organisation that run at once (`MAX_SLOTS_OF_ONE` in `dispatch.rs`).
const SLOTS: usize = 16;
/// What has not arrived by then is given up.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(60);

/// Takes its time for each notification of the attacker, and none for others.
pub struct SlowReceiver {
    port: u16,
    log: Arc<Mutex<Log>>,
}

#[derive(Default)]
struct Log {
    delay: Duration,
    /// Recipients, in the order in which their notifications arrived.
    recipients: Vec<String>,
}

impl SlowReceiver {
    pub fn start() -> Result<Self> {
        let log = Arc::new(Mutex::new(Log::default()));
        let own = log.clone();
        let port = listen(move |heard| {
            let body: Value = serde_json::from_slice(&heard.body).ok()?;
            let recipient = body["data"]["recipientId"].as_str()?.to_owned();
            let delay = {
                let mut log = lock(&own);
                let delay = if recipient.starts_with(ATTACKER) { log.delay } else { Duration::ZERO };
                log.recipients.push(recipient);
                delay
            };
            sleep(delay);
            Some(String::new())
        })?;
        Ok(Self { port, log })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    fn delay(&self, delay: Duration) {
        lock(&self.log).delay = delay;
    }

    /// How many have arrived, and whether one for this recipient is among them.
    fn arrived(&self, recipient: &str) -> (usize, bool) {
        let log = lock(&self.log);
        (log.recipients.len(), log.recipients.iter().any(|one| one == recipient))
    }
}

fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends one load to many drivers; then the honest organisation sends one of its own, a few times.
pub fn queue(tenants: &Tenants<'_>) -> Result<()> {
    let (trial, victim) = (tenants.stage.trial, &tenants.logistics);
    let (count, delay) = if trial.short { (150, 1000) } else { (1500, 100) };
    let (delay, limit) = (Duration::from_millis(delay), Duration::from_secs(2) + trial.grace());
    let post = |path: &str, token: &str, body: Value| {
        let answer = victim.service.send("POST", path, token, &Body::Json(body))?;
        Ok::<_, anyhow::Error>(answer.json["id"].as_str().context("an answer has no id")?.to_owned())
    };
    let created = |token: &str, organiser| post("/v1/loads/organiser", token, load(organiser, &[]));
    let (attacked, own) = (created(&victim.token, ATTACKER)?, created(&tenants.honest, HONEST)?);
    let send = |token: &str, load: &str, driver: &str| {
        post(SEND, token, json!({"loadId": load, "driverId": driver}))
    };
    tenants.receiver.delay(delay);
    let last = format!("{ATTACKER}-last");
    let (mut ids, mut slowest, mut before) = (BTreeSet::new(), Duration::ZERO, 0);
    let what = format!("{count} notifications that take {} ms each", delay.as_millis());
    tenants.abuse(&what, victim, &["sent", "sent again"], || {
        let mut ends = tenants.repeat(THREADS, count, |number| {
            send(&victim.token, &attacked, &format!("{ATTACKER}-{number}")).map(|_| "sent".to_owned())
        })?;
        for _ in 0..20 {
            ids.insert(send(&victim.token, &attacked, &last)?);
            ends.add("sent again");
        }
        for number in 0..3 {
            let (driver, begun) = (format!("honest-{number}"), Instant::now());
            let (others, _) = tenants.receiver.arrived(&driver);
            send(&tenants.honest, &own, &driver)?;
            let arrived = || tenants.receiver.arrived(&driver);
            while !arrived().1 && begun.elapsed() < ARRIVAL_TIMEOUT {
                trial.pause(Duration::from_millis(5))?;
            }
            slowest = slowest.max(begun.elapsed());
            before = before.max(arrived().0.saturating_sub(others));
        }
        Ok::<Ends, _>(ends)
    })?;
    // What is left is of no interest to those that follow.
    tenants.receiver.delay(Duration::ZERO);
    let rest = || Ok(tenants.receiver.arrived(&last).1);
    trial.wait_for("the rest of the notifications is delivered", ARRIVAL_TIMEOUT, rest)?;
    tenants.expect(
        slowest <= limit && before <= 3 * SLOTS,
        victim,
        "a notification of another organisation meanwhile",
        format!("after {:.1} s, {before} others were delivered before it", slowest.as_secs_f64()),
        format!("{} s, {} others", limit.as_secs(), 3 * SLOTS),
    )?;
    tenants.expect(
        ids.len() <= 2,
        victim,
        "notifications of one load, event and recipient that are pending, of 20 sent",
        ids.len().to_string(),
        "1, or 2 if one was delivered meanwhile",
    )
}
