//! Measurement of repeated work.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

/// Repeats `work` for `seconds` seconds, at least once. Returns JSON with the units of work (`requests`), the elapsed
/// and CPU time (`us`, `cpu_us`) and percentiles of the time of one run (`p50`, `p99`, `p999`), in microseconds. `work`
/// returns the number of units that it did.
pub fn repeat(seconds: f64, mut work: impl FnMut() -> Result<usize>) -> Result<Value> {
    let (started, cpu, mut times, mut units) = (Instant::now(), cpu_us()?, Vec::new(), 0);
    while times.is_empty() || started.elapsed().as_secs_f64() < seconds {
        let run_started = Instant::now();
        units += work()?;
        times.push(run_started.elapsed());
    }
    let (elapsed, cpu) = (started.elapsed(), cpu_us()? - cpu);
    times.sort_unstable();
    Ok(json!({
        "requests": units,
        "us": micros(elapsed),
        "p50": micros(times[times.len() / 2]),
        "p99": micros(times[times.len() * 99 / 100]),
        "p999": micros(times[times.len() * 999 / 1000]),
        "cpu_us": cpu,
    }))
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Returns the CPU time of this thread in microseconds.
fn cpu_us() -> Result<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split(' ').next().unwrap_or_default().parse::<f64>()? / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::repeat;

    #[test]
    fn runs_at_least_once_and_counts_units() {
        let mut calls = 0;
        let result = repeat(0.0, || {
            calls += 1;
            Ok(16)
        });
        assert_eq!((result.unwrap()["requests"].as_u64(), calls), (Some(16), 1));
    }

    #[test]
    fn repeats_until_the_time_has_passed() {
        let result = repeat(0.02, || Ok(1)).unwrap();
        assert!(result["requests"].as_u64() > Some(1) && result["us"].as_f64() >= Some(20_000.0), "{result}");
        assert!(result["cpu_us"].as_f64() > Some(0.0), "{result}");
    }
}
