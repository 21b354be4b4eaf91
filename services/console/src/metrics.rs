//! What the metrics of a service say: its requests, its errors, and how long requests take.

use std::collections::BTreeMap;

/// The figures of a service since it started.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Figures {
    pub(crate) requests: f64,
    /// Responses with a status of 500 or more.
    pub(crate) errors: f64,
    /// Within how many seconds 99 of 100 requests were answered.
    pub(crate) p99: Option<f64>,
    /// Requests that took up to each number of seconds and longer than the one before. The last has no limit.
    pub(crate) durations: Vec<(Option<f64>, f64)>,
    /// What waits to be delivered, and the age of the oldest in seconds.
    pub(crate) waiting: Option<f64>,
    pub(crate) oldest: Option<f64>,
}

impl Figures {
    /// Reads the Prometheus text format. Lines that it does not need are left out.
    pub(crate) fn parse(text: &str) -> Self {
        let mut figures = Self::default();
        // By the limit in nanoseconds, which sorts.
        let mut buckets: BTreeMap<u64, (Option<f64>, f64)> = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((series, value)) = line.rsplit_once(' ') else { continue };
            let Ok(value) = value.parse::<f64>() else { continue };
            let (name, labels) = series.split_once('{').unwrap_or((series, ""));
            match name {
                "drover_requests_total" => {
                    figures.requests += value;
                    let is_error = label(labels, "status").is_some_and(|status| status.starts_with('5'));
                    figures.errors += if is_error { value } else { 0.0 };
                }
                "drover_request_seconds_bucket" => {
                    let limit = label(labels, "le").and_then(|limit| limit.parse::<f64>().ok());
                    let limit = limit.filter(|limit| limit.is_finite());
                    let key = limit.map_or(u64::MAX, nanoseconds);
                    buckets.entry(key).or_insert((limit, 0.0)).1 += value;
                }
                "drover_webhooks_pending" | "drover_notifications_pending" => {
                    figures.waiting = Some(figures.waiting.unwrap_or_default() + value);
                }
                "drover_webhooks_oldest_pending_seconds" | "drover_notifications_oldest_pending_seconds" => {
                    figures.oldest = Some(figures.oldest.unwrap_or_default().max(value));
                }
                _ => {}
            }
        }
        figures.count(buckets.into_values());
        figures
    }

    /// Takes over cumulative buckets, ascending.
    fn count(&mut self, buckets: impl Iterator<Item = (Option<f64>, f64)>) {
        let mut before = 0.0;
        for (limit, so_far) in buckets {
            self.durations.push((limit, (so_far - before).max(0.0)));
            before = so_far;
        }
        let mut sum = 0.0;
        for (limit, count) in &self.durations {
            sum += count;
            if before > 0.0 && sum >= before * 0.99 {
                self.p99 = *limit;
                break;
            }
        }
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    format!("{:.0}", seconds * 1e9).parse().unwrap_or(u64::MAX)
}

fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = labels.split_once(&format!("{name}=\""))?;
    rest.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_all_operations() {
        let text = "# TYPE drover_requests_total counter\n\
            drover_requests_total{operation=\"a\",status=\"200\"} 90\n\
            drover_requests_total{operation=\"b\",status=\"503\"} 10\n\
            drover_request_seconds_bucket{operation=\"a\",le=\"0.005\"} 50\n\
            drover_request_seconds_bucket{operation=\"a\",le=\"0.1\"} 90\n\
            drover_request_seconds_bucket{operation=\"a\",le=\"+Inf\"} 90\n\
            drover_request_seconds_bucket{operation=\"b\",le=\"0.005\"} 9\n\
            drover_request_seconds_bucket{operation=\"b\",le=\"0.1\"} 9\n\
            drover_request_seconds_bucket{operation=\"b\",le=\"+Inf\"} 10\n\
            drover_webhooks_pending 3\ndrover_notifications_pending 2\ndrover_webhooks_oldest_pending_seconds 7.5\nodd\n";
        let figures = Figures::parse(text);
        assert_eq!((figures.requests, figures.errors, figures.p99), (100.0, 10.0, Some(0.1)));
        assert_eq!(figures.durations, [(Some(0.005), 59.0), (Some(0.1), 40.0), (None, 1.0)]);
        assert_eq!((figures.waiting, figures.oldest), (Some(5.0), Some(7.5)));
        assert_eq!(Figures::parse(""), Figures::default());
    }
}
