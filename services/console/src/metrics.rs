//! What the metrics of the services say about the last hour: requests, errors, and how long requests take.
//!
//! Metrics count since the process started, so the console reads them every minute and adds up the differences. Each
//! reading is of the replica that happens to answer; a difference is taken between readings of the same process only.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long figures look back.
const SPAN: Duration = Duration::from_secs(3_600);
/// The equal parts of [`SPAN`] of which the requests are counted apart.
pub(crate) const PARTS: usize = 12;
/// How often metrics are read.
pub(crate) const INTERVAL: Duration = Duration::from_secs(60);

/// The metrics of a process at one time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    at: SystemTime,
    started: SystemTime,
    counts: Counts,
    /// Requests that took at most each number of nanoseconds. The last has no limit.
    durations: BTreeMap<u64, f64>,
    /// What waits to be delivered, and the age of the oldest in seconds.
    waiting: Option<f64>,
    oldest: Option<f64>,
}

/// Numbers of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) requests: f64,
    /// Responses with a status of 500 or more.
    pub(crate) errors: f64,
}

impl Counts {
    fn add(&mut self, later: Self, earlier: Self) {
        self.requests += later.requests - earlier.requests;
        self.errors += later.errors - earlier.errors;
    }
}

impl Reading {
    /// Reads the Prometheus text format. Lines that it does not need are left out.
    pub(crate) fn parse(text: &str, at: SystemTime) -> Self {
        let mut reading = Self {
            at,
            started: UNIX_EPOCH,
            counts: Counts::default(),
            durations: BTreeMap::new(),
            waiting: None,
            oldest: None,
        };
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((series, value)) = line.rsplit_once(' ') else { continue };
            let Ok(value) = value.parse::<f64>() else { continue };
            let (name, labels) = series.split_once('{').unwrap_or((series, ""));
            match name {
                "drover_requests_total" => {
                    let is_error = label(labels, "status").is_some_and(|status| status.starts_with('5'));
                    reading.counts.requests += value;
                    reading.counts.errors += if is_error { value } else { 0.0 };
                }
                "drover_request_seconds_bucket" => {
                    let limit = label(labels, "le").and_then(|limit| limit.parse::<f64>().ok());
                    *reading.durations.entry(limit.map_or(u64::MAX, nanoseconds)).or_default() += value;
                }
                "drover_webhooks_pending" | "drover_notifications_pending" => {
                    reading.waiting = Some(reading.waiting.unwrap_or_default() + value);
                }
                "drover_webhooks_oldest_pending_seconds" | "drover_notifications_oldest_pending_seconds" => {
                    reading.oldest = Some(reading.oldest.unwrap_or_default().max(value));
                }
                "process_start_time_seconds" => {
                    let since = Duration::try_from_secs_f64(value).ok();
                    reading.started =
                        since.and_then(|since| UNIX_EPOCH.checked_add(since)).unwrap_or(UNIX_EPOCH);
                }
                _ => {}
            }
        }
        reading
    }
}

/// The readings of a service in the last hour, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Readings(VecDeque<Reading>);

impl Readings {
    /// Adds a reading, and drops those before the last hour.
    pub(crate) fn add(&mut self, reading: Reading) {
        let is_recent = |other: &Reading| reading.at.duration_since(other.at).is_ok_and(|age| age <= SPAN);
        self.0.retain(is_recent);
        self.0.push_back(reading);
    }

    /// Returns the figures of the hour until `now`, the newest reading.
    pub(crate) fn figures(&self, now: &Reading) -> Figures {
        let mut figures = Figures { waiting: now.waiting, oldest: now.oldest, ..Figures::default() };
        let mut durations: BTreeMap<u64, f64> = BTreeMap::new();
        let mut processes: BTreeMap<SystemTime, &Reading> = BTreeMap::new();
        let is_recent = |time: SystemTime| now.at.duration_since(time).is_ok_and(|age| age <= SPAN);
        for reading in self.0.iter().filter(|reading| is_recent(reading.at)).chain([now]) {
            let before = processes.insert(reading.started, reading);
            // A process that has started within the hour began with 0.
            if before.is_none() && !is_recent(reading.started) {
                continue;
            }
            let counts = before.map(|before| before.counts).unwrap_or_default();
            figures.all.add(reading.counts, counts);
            let age = now.at.duration_since(reading.at).unwrap_or_default().as_secs();
            let part = usize::try_from(age * PARTS as u64 / (SPAN.as_secs() + 1)).unwrap_or_default();
            figures.parts[PARTS - 1 - part].add(reading.counts, counts);
            for (limit, count) in &reading.durations {
                let counted =
                    before.and_then(|before| before.durations.get(limit)).copied().unwrap_or_default();
                *durations.entry(*limit).or_default() += count - counted;
            }
        }
        figures.count(durations);
        figures
    }
}

/// The figures of a service in the last hour.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Figures {
    pub(crate) all: Counts,
    /// The requests of each part of the hour, oldest first.
    pub(crate) parts: [Counts; PARTS],
    /// Within how many seconds 99 of 100 requests were answered.
    pub(crate) p99: Option<f64>,
    /// Requests that took up to each number of seconds and longer than the one before. The last has no limit.
    pub(crate) durations: Vec<(Option<f64>, f64)>,
    /// What waits to be delivered, and the age of the oldest in seconds.
    pub(crate) waiting: Option<f64>,
    pub(crate) oldest: Option<f64>,
}

impl Figures {
    /// Takes over cumulative numbers.
    fn count(&mut self, cumulative: BTreeMap<u64, f64>) {
        let total = cumulative.values().copied().fold(0.0, f64::max);
        let mut before = 0.0;
        for (limit, so_far) in cumulative {
            let limit = (limit < u64::MAX).then(|| Duration::from_nanos(limit).as_secs_f64());
            if self.p99.is_none() && total > 0.0 && before < total * 0.99 && so_far >= total * 0.99 {
                self.p99 = limit;
            }
            self.durations.push((limit, (so_far - before).max(0.0)));
            before = so_far;
        }
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    let nanoseconds = Duration::try_from_secs_f64(seconds).ok().map(|limit| limit.as_nanos());
    nanoseconds.and_then(|limit| u64::try_from(limit).ok()).unwrap_or(u64::MAX)
}

fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = labels.split_once(&format!("{name}=\""))?;
    rest.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(number: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs((10_000 + number) * 60)
    }

    /// Returns the reading of a process at a minute, after so many requests and errors.
    fn reading(at: u64, started: u64, requests: u64, errors: u64) -> Reading {
        let start = (10_000 + started) * 60;
        let text = format!(
            "# TYPE drover_requests_total counter\n\
            drover_requests_total{{operation=\"a\",status=\"200\"}} {}\n\
            drover_requests_total{{operation=\"b\",status=\"503\"}} {errors}\n\
            drover_request_seconds_bucket{{operation=\"a\",le=\"0.005\"}} {}\n\
            drover_request_seconds_bucket{{operation=\"a\",le=\"0.1\"}} {}\n\
            drover_request_seconds_bucket{{operation=\"a\",le=\"+Inf\"}} {0}\n\
            drover_request_seconds_bucket{{operation=\"b\",le=\"+Inf\"}} {errors}\n\
            process_start_time_seconds {start}\n\
            drover_webhooks_pending 3\ndrover_notifications_pending 2\n\
            drover_webhooks_oldest_pending_seconds 7.5\nodd\n",
            requests - errors,
            requests / 2,
            requests - errors,
        );
        Reading::parse(&text, minute(at))
    }

    #[test]
    fn figures_are_those_of_the_last_hour() {
        let mut readings = Readings::default();
        // The process is older than the first reading, and the first reading than an hour.
        for (at, requests, errors) in [(0, 500, 400), (50, 1_000, 500), (100, 1_100, 501)] {
            readings.add(reading(at, 0, requests, errors));
        }
        assert_eq!(readings.0.len(), 2);
        let figures = readings.figures(&reading(109, 0, 1_200, 501));
        assert_eq!(figures.all, Counts { requests: 200.0, errors: 1.0 });
        assert_eq!(figures.parts[11], Counts { requests: 100.0, errors: 0.0 });
        assert_eq!(figures.parts[10], Counts { requests: 100.0, errors: 1.0 });
        assert!(figures.parts[..10].iter().all(|part| *part == Counts::default()));
        assert_eq!(figures.p99, Some(0.1));
        assert_eq!(figures.durations, [(Some(0.005), 100.0), (Some(0.1), 99.0), (None, 1.0)]);
        assert_eq!((figures.waiting, figures.oldest), (Some(5.0), Some(7.5)));
    }

    #[test]
    fn processes_are_counted_apart() {
        let mut readings = Readings::default();
        for (at, started, requests) in [(60, 0, 9_000), (61, 40, 100), (62, 0, 9_010), (63, 62, 50)] {
            readings.add(reading(at, started, requests, 0));
        }
        // 10 of the old process, 130 and 50 of those that have started within the hour.
        let figures = readings.figures(&reading(64, 40, 130, 0));
        assert_eq!(figures.all, Counts { requests: 190.0, errors: 0.0 });
        let nothing = Readings::default().figures(&Reading::parse("", minute(64)));
        assert_eq!(nothing, Figures::default());
    }
}
