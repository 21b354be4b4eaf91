//! A piece of work done again and again, and what it took.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

/// Does this for so many seconds, at least once. Each time it tells how many units of work it did.
pub fn repeat(seconds: f64, mut work: impl FnMut() -> Result<usize>) -> Result<Value> {
    let (begun, cpu, mut times, mut units) = (Instant::now(), cpu_us()?, Vec::new(), 0);
    while times.is_empty() || begun.elapsed().as_secs_f64() < seconds {
        let one = Instant::now();
        units += work()?;
        times.push(one.elapsed());
    }
    let (elapsed, cpu) = (begun.elapsed(), cpu_us()? - cpu);
    times.sort_unstable();
    Ok(json!({
        "requests": units,
        "us": micros(elapsed),
        "p50": micros(times[times.len() / 2]),
        "p99": micros(times[times.len() * 99 / 100]),
        "cpu_us": cpu,
    }))
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// What this thread has used of a core, in microseconds.
fn cpu_us() -> Result<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split(' ').next().unwrap_or_default().parse::<f64>()? / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::repeat;

    #[test]
    fn work_is_done_at_least_once_and_counted() {
        let mut calls = 0;
        let timed = repeat(0.0, || {
            calls += 1;
            Ok(16)
        });
        assert_eq!((timed.unwrap()["requests"].as_u64(), calls), (Some(16), 1));
    }

    #[test]
    fn work_is_repeated_for_as_long_as_was_said() {
        let timed = repeat(0.02, || Ok(1)).unwrap();
        assert!(timed["requests"].as_u64() > Some(1) && timed["us"].as_f64() >= Some(20_000.0), "{timed}");
        assert!(timed["cpu_us"].as_f64() > Some(0.0), "{timed}");
    }
}
