//! The result of one run, and the medians of several.

use anyhow::Result;
use serde::Deserialize;

/// One run of a load: what `wrk.lua` and the program `limits` print. Times are in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Measurement {
    /// Number of requests, rows or files.
    pub requests: f64,
    /// Elapsed time of the run.
    pub us: f64,
    /// Median latency, and further percentiles; 0 where they are not measured.
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
    /// CPU time of the run, if known.
    pub cpu: Option<f64>,
}

/// One run of a row of the report, or of its limit.
pub type Run<'a> = Box<dyn FnMut() -> Result<Measurement> + 'a>;

/// Medians over all rounds. Times are in microseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Summary {
    /// Requests per second.
    pub rate: f64,
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
    /// CPU time per request, if known.
    pub cpu: Option<f64>,
}

impl Summary {
    /// Summarizes the measurements of all rounds.
    pub fn new(rounds: &[Measurement]) -> Self {
        let of = |value: fn(&Measurement) -> f64| median(rounds.iter().map(value)).unwrap_or_default();
        Self {
            rate: of(|round| round.requests / round.us * 1e6),
            p50: of(|round| round.p50),
            p99: of(|round| round.p99),
            p999: of(|round| round.p999),
            cpu: median(rounds.iter().filter_map(|round| Some(round.cpu? / round.requests.max(1.0)))),
        }
    }
}

/// Returns the median, or the lower of the two middle values.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summarizes_rounds_by_their_medians() {
        let round = |requests, cpu| Measurement { requests, us: 2e6, cpu, ..Measurement::default() };
        let rounds = [round(10.0, Some(50.0)), round(30.0, Some(30.0)), round(20.0, Some(40.0))];
        let summary = Summary::new(&rounds);
        assert_eq!((summary.rate, summary.cpu), (10.0, Some(2.0)));
        assert_eq!(Summary::new(&[round(10.0, None)]).cpu, None);
        assert_eq!((median([]), median([2.0, 1.0])), (None, Some(1.0)));
    }
}
