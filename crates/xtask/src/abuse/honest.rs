//! Those who want to be served meanwhile: a few clients at a modest rate, on kept connections and on new ones.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::client::{Answer, Body, Client};
use crate::proc;

/// So many clients, each with a request in such a time.
const CLIENTS: usize = 4;
const PERIOD: Duration = Duration::from_millis(100);
/// What takes longer has failed.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Each asks so often at least, however soon it is over.
const LEAST: usize = 5;
const SAMPLING: Duration = Duration::from_millis(20);

/// A request that is answered with success.
#[derive(Debug, Clone)]
pub struct Request {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// Its address.
    pub url: String,
    /// Its body, if it is JSON.
    pub json: Option<Value>,
}

/// What honest clients ask, in turn.
#[derive(Debug, Clone)]
pub struct Honest {
    /// Their token.
    pub token: String,
    /// Their requests.
    pub requests: Vec<Request>,
}

/// What was seen while something went on.
#[derive(Debug, Default)]
pub struct Seen {
    /// How long each honest request took, shortest first.
    pub took: Vec<Duration>,
    /// Why some failed.
    pub failed: Vec<String>,
    /// How many had to ask again.
    pub again: usize,
    /// The most that the service held, in MiB.
    pub peak: f64,
}

impl Seen {
    /// In milliseconds; without end if nobody was served.
    pub fn p99(&self) -> f64 {
        let at = (self.took.len() * 99 / 100).min(self.took.len().saturating_sub(1));
        self.took.get(at).map_or(f64::INFINITY, |took| took.as_secs_f64() * 1000.0)
    }
}

impl Honest {
    /// Has them ask while something is done to the service of this process.
    pub fn ask_while<T>(&self, pid: u32, act: impl FnOnce() -> Result<T>) -> Result<(T, Seen)> {
        let over = &AtomicBool::new(false);
        let (done, mut seen) = scope(|scope| {
            let clients: Vec<_> =
                (0..CLIENTS).map(|number| scope.spawn(move || self.client(number, over))).collect();
            let memory = scope.spawn(|| peak(pid, over));
            let done = act();
            over.store(true, Relaxed);
            let mut seen = Seen { peak: memory.join().unwrap_or_default(), ..Seen::default() };
            for client in clients {
                let one = client.join().unwrap_or_default();
                seen.took.extend(one.took);
                seen.failed.extend(one.failed);
                seen.again += one.again;
            }
            (done, seen)
        });
        seen.took.sort_unstable();
        Ok((done.context("the abuse itself failed")?, seen))
    }

    fn client(&self, number: usize, over: &AtomicBool) -> Seen {
        let (kept, mut seen) = (Client::new(TIMEOUT), Seen::default());
        for (turn, request) in (number..).zip(self.requests.iter().cycle().skip(number)) {
            if over.load(Relaxed) && (seen.took.len() >= LEAST || !seen.failed.is_empty()) {
                break;
            }
            let body = request.json.clone().map_or(Body::Empty, Body::Json);
            let (begun, new) = (Instant::now(), Client::new(TIMEOUT));
            // What was sent on a kept connection may be lost, and only what changes nothing may be sent again.
            let safe = request.method == "GET";
            let client = if turn % 3 == 0 || !safe { &new } else { &kept };
            let ask = |client: &Client| client.send(request.method, &request.url, Some(&self.token), &body);
            // A kept connection may be closed just then, and on a busy machine a new one before anything was said:
            // clients ask again (RFC 9110, 9.2.2 and 15.5.9).
            let again = |answer: &Result<Answer>| answer.as_ref().map_or(safe, |answer| answer.status == 408);
            let mut answer = ask(client);
            if again(&answer) {
                seen.again += 1;
                answer = ask(&Client::new(TIMEOUT));
            }
            match answer {
                Ok(answer) if answer.status < 300 => seen.took.push(begun.elapsed()),
                Ok(answer) => seen.failed.push(format!("{} {}", request.url, answer.status)),
                Err(error) => seen.failed.push(format!("{} {error:#}", request.url)),
            }
            sleep(PERIOD.saturating_sub(begun.elapsed()));
        }
        seen
    }
}

fn peak(pid: u32, over: &AtomicBool) -> f64 {
    let mut peak = 0_f64;
    while !over.load(Relaxed) {
        peak = peak.max(proc::memory(pid).map_or(0.0, |memory| memory.anon));
        sleep(SAMPLING);
    }
    peak
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_hundred_the_slowest_but_one() {
        let took = (1..=200).map(Duration::from_millis).collect();
        assert!((Seen { took, ..Seen::default() }.p99() - 199.0).abs() < 0.001);
        assert!(Seen::default().p99().is_infinite());
    }
}
