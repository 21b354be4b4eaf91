//! Somebody who receives webhooks, and counts them by their id.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;

use crate::listener::{Heard, listen};

/// The receiver. It listens for as long as this program runs.
#[derive(Debug)]
pub struct Receiver {
    port: u16,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    delivered: BTreeMap<String, usize>,
    under_way: BTreeMap<String, usize>,
    overlaps: usize,
    messages: Vec<Heard>,
    takes: Duration,
    refusing: bool,
}

impl Receiver {
    /// Takes so long for each.
    pub fn start(takes: Duration) -> Result<Self> {
        let seen = Arc::new(Mutex::new(Seen { takes, ..Seen::default() }));
        let own = seen.clone();
        let port = listen(move |heard| receive(heard, &own))?;
        Ok(Self { port, seen })
    }

    /// From now on takes so long for each.
    pub fn set_takes(&self, takes: Duration) {
        lock(&self.seen).takes = takes;
    }

    /// From now on answers all with 503, or takes them.
    pub fn refuse(&self, refusing: bool) {
        lock(&self.seen).refusing = refusing;
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How often each was delivered.
    pub fn delivered(&self) -> BTreeMap<String, usize> {
        lock(&self.seen).delivered.clone()
    }

    /// How often one was delivered while it was being delivered.
    pub fn overlaps(&self) -> usize {
        lock(&self.seen).overlaps
    }

    /// All that was delivered.
    pub fn messages(&self) -> Vec<Heard> {
        lock(&self.seen).messages.clone()
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An empty answer, or none where it refuses.
fn receive(heard: Heard, seen: &Mutex<Seen>) -> Option<String> {
    let id = heard.header("webhook-id").to_owned();
    let takes = {
        let mut seen = lock(seen);
        let under_way = seen.under_way.entry(id.clone()).or_default();
        *under_way += 1;
        let overlaps = usize::from(*under_way > 1);
        seen.overlaps += overlaps;
        seen.takes
    };
    sleep(takes);
    let mut seen = lock(seen);
    *seen.under_way.entry(id.clone()).or_default() -= 1;
    if seen.refusing {
        return None;
    }
    *seen.delivered.entry(id).or_default() += 1;
    seen.messages.push(heard);
    Some(String::new())
}
