//! Questions asked one by one, and what they took, as a table: each kind beside what a constant answer takes.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::measure::Measured;
use crate::client::Body;
use crate::stop::Stop;
use crate::table;

/// The kind of question that all others are compared with; it comes first.
pub const CONSTANT: &str = "a constant answer";
/// Enough to tell the median of a slow question.
const LONGEST: Duration = Duration::from_secs(5);

/// A name for the question, whose it is (a token), and its path.
pub type Question = (&'static str, String, String);

/// Asks each question so many times, unless it is slow, and prints what they took the client and what the service holds.
pub fn ask(service: &Measured, questions: &[Question], most: usize, stop: &Stop) -> Result<()> {
    let (before, mut asked) = (service.resident(), Vec::new());
    for (kind, token, path) in questions {
        asked.push((*kind, times(service, token, path, most, stop)?));
    }
    println!("{}", render(&asked, 2));
    println!("Milliseconds from the client, and how many times a constant answer's median that is.");
    if let Some((before, after)) = before.zip(service.resident()) {
        println!("Resident memory {before} MiB before the questions, {after} MiB after all of this.");
    }
    Ok(())
}

/// Milliseconds, one by one.
fn times(service: &Measured, token: &str, path: &str, most: usize, stop: &Stop) -> Result<Vec<f64>> {
    let begun = Instant::now();
    let mut times = Vec::new();
    while times.len() < most && begun.elapsed() < LONGEST {
        stop.check()?;
        times.push(service.send("GET", path, token, &Body::Empty)?.1);
    }
    Ok(times)
}

/// The cursor in the link to what comes after a page; empty after the last.
pub fn cursor(service: &Measured, page: &str, token: &str) -> Result<String> {
    let (answer, _) = service.send("GET", page, token, &Body::Empty)?;
    let rest = answer.header("link").split("cursor=").nth(1);
    Ok(rest.and_then(|rest| rest.split(['>', '&']).next()).unwrap_or_default().to_owned())
}

/// A table of kinds of questions and the milliseconds that each of them took, with so many decimals.
pub fn render(asked: &[(&str, Vec<f64>)], decimals: usize) -> String {
    let constant = asked.first().map_or(0.0, |(_, times)| percentile(times, 50));
    let row = |(kind, times): &(&str, Vec<f64>)| {
        let [median, slow] = [50, 99].map(|percent| percentile(times, percent));
        let ratio = if constant > 0.0 { format!("{:.1}", median / constant) } else { String::new() };
        let [median, slow] = [median, slow].map(|ms| format!("{ms:.decimals$}"));
        [(*kind).to_owned(), times.len().to_string(), median, slow, ratio]
    };
    let rows: Vec<_> = asked.iter().map(row).collect();
    table::render(["question", "asked", "median", "99 of 100", "ratio"], &rows)
}

/// The value that this part of a hundred lies below; 0 of nothing.
fn percentile(times: &[f64], percent: usize) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
        .get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1)))
        .copied()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::percentile;

    #[test]
    fn percentiles() {
        let times: Vec<f64> = (0..100).rev().map(f64::from).collect();
        assert_eq!(
            format!("{:?}", [0, 50, 99, 100].map(|p| percentile(&times, p))),
            "[0.0, 50.0, 99.0, 99.0]"
        );
        assert!(percentile(&[], 50) < 0.001);
    }
}
