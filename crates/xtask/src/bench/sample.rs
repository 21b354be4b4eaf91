//! What one run measured, and the medians of several.

use anyhow::{Context, Result};
use serde_json::Value;

/// One run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// How many requests (rows, files) it was.
    pub requests: f64,
    /// How long all of them took, in microseconds.
    pub us: f64,
    /// What half of them took less than, in microseconds.
    pub p50: f64,
    /// What 99 of 100 took less than.
    pub p99: f64,
    /// What all of them took of the cores, in microseconds, where that is known.
    pub cpu_us: Option<f64>,
}

impl Sample {
    /// From the line of JSON that wrk's script and the program `limits` print.
    pub fn read(said: &Value) -> Result<Self> {
        let number = |name: &str| said[name].as_f64().with_context(|| format!("no {name} in {said}"));
        Ok(Self {
            requests: number("requests")?,
            us: number("us")?,
            p50: number("p50")?,
            p99: number("p99")?,
            cpu_us: said["cpu_us"].as_f64(),
        })
    }

    /// A second.
    pub fn rate(&self) -> f64 {
        self.requests / self.us * 1e6
    }
}

/// Medians over the rounds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Figures {
    /// Requests a second.
    pub rate: f64,
    /// Microseconds.
    pub p50: f64,
    /// Microseconds.
    pub p99: f64,
    /// Microseconds of a core for one request.
    pub cpu: Option<f64>,
}

impl Figures {
    /// Of these runs.
    pub fn of(samples: &[Sample]) -> Self {
        let of = |what: fn(&Sample) -> f64| median(samples.iter().map(what).collect()).unwrap_or_default();
        let cpu = samples.iter().filter_map(|s| Some(s.cpu_us? / s.requests.max(1.0))).collect();
        Self { rate: of(Sample::rate), p50: of(|s| s.p50), p99: of(|s| s.p99), cpu: median(cpu) }
    }
}

/// The middle one; the lower of two.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

/// The value that this part of a hundred lies below.
pub fn percentile(sorted: &[f64], percent: usize) -> Option<f64> {
    sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_percentiles() {
        assert_eq!(
            (median(vec![]), median(vec![9.0, 1.0, 5.0]), median(vec![2.0, 1.0])),
            (None, Some(5.0), Some(1.0))
        );
        let times: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!([0, 50, 99, 100].map(|p| percentile(&times, p)), [0.0, 50.0, 99.0, 99.0].map(Some));
        assert_eq!(percentile(&[], 50), None);
    }

    #[test]
    fn figures_are_medians_of_rounds() {
        let sample = |requests, cpu_us| Sample { requests, us: 2e6, p50: 1.0, p99: 2.0, cpu_us };
        let figures =
            Figures::of(&[sample(10.0, Some(50.0)), sample(30.0, Some(30.0)), sample(20.0, Some(40.0))]);
        assert_eq!((figures.rate, figures.cpu), (10.0, Some(2.0)));
        assert_eq!(Figures::of(&[sample(10.0, None)]).cpu, None);
    }
}
