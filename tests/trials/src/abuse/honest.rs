//! Honest clients that send requests at a modest rate, on kept and on new connections.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use stack::http::{HttpClient, Response};
use stack::process_stats;

use crate::traffic::Request;

const CLIENTS: usize = 4;
/// Time between two requests of a client.
const PERIOD: Duration = Duration::from_millis(100);
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
/// Requests that each client sends, however short the attack is.
const MIN_REQUESTS: usize = 5;
/// Time between two readings of the memory.
const SAMPLE_PERIOD: Duration = Duration::from_millis(20);

/// The requests that honest clients repeat.
pub struct HonestClients(pub Vec<Request>);

/// What honest clients observed during an attack.
#[derive(Debug, Default)]
pub struct Observed {
    /// Durations of the successful requests, the shortest first.
    pub durations: Vec<Duration>,
    /// Descriptions of the failures.
    pub failures: Vec<String>,
    /// Number of requests that were sent again.
    pub retries: usize,
    /// Highest memory of the service in MiB.
    pub peak_memory: f64,
}

impl Observed {
    /// The 99th percentile of the durations in milliseconds, infinite without any.
    pub fn p99(&self) -> f64 {
        let index = (self.durations.len() * 99 / 100).min(self.durations.len().saturating_sub(1));
        self.durations.get(index).map_or(f64::INFINITY, |duration| duration.as_secs_f64() * 1000.0)
    }
}

impl HonestClients {
    /// Sends requests while `attack` runs against the process with this id.
    pub fn run_during<T>(&self, pid: u32, attack: impl FnOnce() -> Result<T>) -> Result<(T, Observed)> {
        let is_over = &AtomicBool::new(false);
        let (result, mut observed) = scope(|scope| {
            let clients: Vec<_> =
                (0..CLIENTS).map(|number| scope.spawn(move || self.run_client(number, is_over))).collect();
            let memory = scope.spawn(|| peak_memory(pid, is_over));
            let result = attack();
            is_over.store(true, Relaxed);
            let mut all = Observed { peak_memory: memory.join().unwrap_or_default(), ..Observed::default() };
            for client in clients {
                let one = client.join().unwrap_or_default();
                all.durations.extend(one.durations);
                all.failures.extend(one.failures);
                all.retries += one.retries;
            }
            (result, all)
        });
        observed.durations.sort_unstable();
        Ok((result.context("the attack was not completed")?, observed))
    }

    fn run_client(&self, number: usize, is_over: &AtomicBool) -> Observed {
        let (kept, mut observed) = (HttpClient::new(RESPONSE_TIMEOUT), Observed::default());
        for (turn, request) in (number..).zip(self.0.iter().cycle().skip(number)) {
            let is_enough = observed.durations.len() >= MIN_REQUESTS || !observed.failures.is_empty();
            if is_over.load(Relaxed) && is_enough {
                break;
            }
            let Request { method, url, token, body, .. } = request;
            let send = |client: &HttpClient| client.send(method, url, Some(token), body);
            let begun = Instant::now();
            let is_idempotent = *method == "GET";
            let uses_new = turn % 3 == 0 || !is_idempotent;
            let mut response = if uses_new { send(&HttpClient::new(RESPONSE_TIMEOUT)) } else { send(&kept) };
            // A kept connection may close just before the request, and a new one on a busy machine before its head
            // arrives. Clients retry then (RFC 9110, 9.2.2 and 15.5.9).
            if is_retryable(&response, is_idempotent) {
                observed.retries += 1;
                response = send(&HttpClient::new(RESPONSE_TIMEOUT));
            }
            match response {
                Ok(response) if response.status < 300 => observed.durations.push(begun.elapsed()),
                Ok(response) => observed.failures.push(format!("{url} {}", response.status)),
                Err(error) => observed.failures.push(format!("{url} {error:#}")),
            }
            sleep(PERIOD.saturating_sub(begun.elapsed()));
        }
        observed
    }
}

fn is_retryable(response: &Result<Response>, is_idempotent: bool) -> bool {
    response.as_ref().map_or(is_idempotent, |response| response.status == 408)
}

fn peak_memory(pid: u32, is_over: &AtomicBool) -> f64 {
    let mut peak = 0_f64;
    while !is_over.load(Relaxed) {
        peak = peak.max(process_stats::memory(pid).map_or(0.0, |memory| memory.anon));
        sleep(SAMPLE_PERIOD);
    }
    peak
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p99_leaves_one_of_a_hundred_above() {
        let durations = (1..=200).map(Duration::from_millis).collect();
        assert!((Observed { durations, ..Observed::default() }.p99() - 199.0).abs() < 0.001);
        assert!(Observed::default().p99().is_infinite());
    }
}
