//! Light traffic from a few threads while something fails and recovers, with the outcome of every request.

mod client;
mod workload;

use std::mem::take;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use parking_lot::Mutex;
use testkit::processes::http::HttpClient;
use testkit::processes::trial::Trial;

pub use self::client::{Client, SEED_ORG, SEEDED, Target, WRITE_ORG};
pub use self::workload::{Outcome, Record, Records, Request, Workload};

/// Longer than any response may take.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(40);
/// Pause of a thread between two requests.
const PAUSE: Duration = Duration::from_millis(25);
/// Consecutive successes after which a workload is healthy.
const HEALTHY_SUCCESSES: usize = 8;

/// A new prefix for the markers of writes. No prefix begins with another.
pub fn new_prefix() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    format!("R{:04}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Threads that repeat a workload each. They stop when this is dropped.
pub struct Traffic {
    workloads: Vec<Arc<Workload>>,
    records: Arc<Mutex<Vec<Record>>>,
    is_stopping: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Traffic {
    /// Starts a thread for each workload.
    pub fn start(workloads: Vec<Workload>) -> Self {
        let workloads: Vec<_> = workloads.into_iter().map(Arc::new).collect();
        let (records, is_stopping) = (Arc::<Mutex<Vec<Record>>>::default(), Arc::<AtomicBool>::default());
        let repeat = |workload: &Arc<Workload>| {
            let (workload, records, is_stopping) = (workload.clone(), records.clone(), is_stopping.clone());
            thread::spawn(move || {
                let http = HttpClient::new(REQUEST_TIMEOUT);
                for number in 0.. {
                    if is_stopping.load(Ordering::Relaxed) {
                        return;
                    }
                    let record = Record::make(&workload, number, &http);
                    records.lock().push(record);
                    sleep(PAUSE);
                }
            })
        };
        let threads = workloads.iter().map(repeat).collect();
        Self { workloads, records, is_stopping, threads }
    }

    /// Waits until the last requests of every workload that were sent after `since` succeeded.
    ///
    /// # Errors
    /// A workload is not healthy after `timeout`.
    pub fn wait_healthy(&self, trial: &Trial<'_>, since: Instant, timeout: Duration) -> Result<()> {
        let is_healthy = || Ok(self.unhealthy(since).is_none());
        let waited = trial.wait_for("all workloads succeed", timeout, is_healthy);
        waited.map(drop).with_context(|| self.unhealthy(since).unwrap_or_default())
    }

    /// Describes a workload whose last requests did not all succeed.
    fn unhealthy(&self, since: Instant) -> Option<String> {
        let records = self.records.lock();
        let records_of = |workload: &Arc<Workload>| {
            let workload = workload.clone();
            records.iter().rev().filter(move |record| Arc::ptr_eq(&record.workload, &workload))
        };
        let is_healthy = |workload: &&Arc<Workload>| {
            let recent = records_of(workload).take_while(|record| record.started >= since);
            recent.take_while(|record| record.outcome.is_success()).count() >= HEALTHY_SUCCESSES
        };
        let unhealthy = self.workloads.iter().find(|workload| !is_healthy(workload))?;
        let last = records_of(unhealthy).next().map(|record| &record.outcome);
        Some(format!("{} {}: {last:?}", unhealthy.service, unhealthy.name))
    }

    /// Stops all threads.
    pub fn finish(mut self) -> Records {
        self.stop();
        Records(take(&mut self.records.lock()))
    }

    fn stop(&mut self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.stop();
    }
}
