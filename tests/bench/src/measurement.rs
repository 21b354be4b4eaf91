//! The result of one run, and the medians of several.

use anyhow::{Context, Result};
use serde_json::Value;

/// One run. Times are in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurement {
    /// Number of requests, rows or files.
    pub requests: f64,
    /// Elapsed time of the run.
    pub elapsed_us: f64,
    /// Median latency.
    pub p50_us: f64,
    /// 99th percentile of the latency.
    pub p99_us: f64,
    /// 99.9th percentile of the latency.
    pub p999_us: f64,
    /// CPU time of the run, if known.
    pub cpu_us: Option<f64>,
}

impl Measurement {
    /// Parses the JSON that `wrk.lua` and the program `limits` print.
    pub fn parse(json: &Value) -> Result<Self> {
        let number = |name: &str| json[name].as_f64().with_context(|| format!("no {name} in {json}"));
        Ok(Self {
            requests: number("requests")?,
            elapsed_us: number("us")?,
            p50_us: number("p50")?,
            p99_us: number("p99")?,
            p999_us: number("p999")?,
            cpu_us: json["cpu_us"].as_f64(),
        })
    }

    /// Requests per second.
    pub fn rate(&self) -> f64 {
        self.requests / self.elapsed_us * 1e6
    }
}

/// Medians over all rounds. Times are in microseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Summary {
    /// Requests per second.
    pub rate: f64,
    /// Median latency.
    pub p50_us: f64,
    /// 99th percentile of the latency.
    pub p99_us: f64,
    /// 99.9th percentile of the latency.
    pub p999_us: f64,
    /// CPU time per request, if known.
    pub cpu_us: Option<f64>,
}

impl Summary {
    /// Summarizes the measurements of all rounds.
    pub fn new(rounds: &[Measurement]) -> Self {
        let median_of =
            |value: fn(&Measurement) -> f64| median(rounds.iter().map(value).collect()).unwrap_or_default();
        let cpu = rounds.iter().filter_map(|round| Some(round.cpu_us? / round.requests.max(1.0))).collect();
        Self {
            rate: median_of(Measurement::rate),
            p50_us: median_of(|round| round.p50_us),
            p99_us: median_of(|round| round.p99_us),
            p999_us: median_of(|round| round.p999_us),
            cpu_us: median(cpu),
        }
    }
}

/// Returns the median, or the lower of the two middle values.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

/// Returns a percentile of sorted values, given in thousandths.
pub fn percentile(sorted: &[f64], per_mille: usize) -> Option<f64> {
    sorted.get((sorted.len() * per_mille / 1000).min(sorted.len().saturating_sub(1))).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_medians_and_percentiles() {
        assert_eq!(
            (median(vec![]), median(vec![9.0, 1.0, 5.0]), median(vec![2.0, 1.0])),
            (None, Some(5.0), Some(1.0))
        );
        let times: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!([0, 500, 990, 1000].map(|p| percentile(&times, p)), [0.0, 50.0, 99.0, 99.0].map(Some));
        assert_eq!(percentile(&[], 500), None);
    }

    #[test]
    fn summarizes_rounds_by_their_medians() {
        let round = |requests, cpu_us| Measurement {
            requests,
            elapsed_us: 2e6,
            p50_us: 1.0,
            p99_us: 2.0,
            p999_us: 3.0,
            cpu_us,
        };
        let summary =
            Summary::new(&[round(10.0, Some(50.0)), round(30.0, Some(30.0)), round(20.0, Some(40.0))]);
        assert_eq!((summary.rate, summary.cpu_us), (10.0, Some(2.0)));
        assert_eq!(Summary::new(&[round(10.0, None)]).cpu_us, None);
    }
}
