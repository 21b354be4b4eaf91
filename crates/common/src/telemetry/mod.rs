//! Logs, with a level that can change while the service runs, and the metrics that `/metrics` shows.

pub mod failure_streak;
mod json;
pub mod metrics;
mod pretty;
mod process;
pub mod traces;

use std::panic;
use std::sync::OnceLock;
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::fmt::format::JsonFields;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, reload};

use crate::config::{Log, LogFormat};
use json::Line;
use pretty::OneLine;

static FILTER: OnceLock<reload::Handle<EnvFilter, Registry>> = OnceLock::new();
static METRICS: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// Starts logging to standard output and counting. Once in a process; later calls change nothing.
pub fn start(log: &Log) {
    let (filter, handle) = reload::Layer::new(filter(&log.level, ""));
    let lines = match log.format {
        LogFormat::Json => fmt::layer().fmt_fields(JsonFields::new()).event_format(Line::default()).boxed(),
        LogFormat::Pretty => fmt::layer().with_ansi(false).event_format(OneLine::default()).boxed(),
    };
    if tracing_subscriber::registry().with(filter).with(lines).try_init().is_ok() {
        let _ = FILTER.set(handle);
        // Where, not what: its text may have a value in it, and values are people's.
        panic::set_hook(Box::new(|panic| {
            tracing::error!(at = panic.location().map(ToString::to_string), "a panic");
        }));
    }
    recorder();
}

/// Puts another level in force, at once.
pub fn set_level(level: &str, directives: &str) {
    match FILTER.get().map(|handle| handle.reload(filter(level, directives))) {
        Some(Err(error)) => tracing::error!(%error, "the log level could not be changed"),
        Some(Ok(())) => tracing::debug!(level, "the log level is in force"),
        None => {}
    }
}

/// True when these are tracing directives (`logistics=debug,actix_web=warn`), `*` or nothing.
pub fn are_directives(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || text == "*" || EnvFilter::builder().parse(text).is_ok()
}

/// Of a request that cannot be parsed actix logs an error. `unparsed` logs it instead, at `debug`.
const SILENT: &str = ",actix_http::h1::dispatcher=off";

/// A later directive for the same target wins over an earlier one.
fn filter(level: &str, directives: &str) -> EnvFilter {
    let directives: String = directives
        .split(',')
        .filter(|directive| directive.trim() != "*")
        .fold(String::new(), |all, one| all + "," + one);
    EnvFilter::builder().parse_lossy(level.to_owned() + SILENT + &directives)
}

/// What has been counted, in Prometheus text format.
pub fn metrics() -> String {
    recorder().map(PrometheusHandle::render).unwrap_or_default() + &process::metrics()
}

/// Sums up what was counted: every single value is kept until then, or until somebody asks for the metrics.
pub(crate) async fn run_upkeep() {
    loop {
        tokio::time::sleep(Duration::from_secs(5)).await;
        if let Some(recorder) = recorder() {
            recorder.run_upkeep();
        }
    }
}

pub(crate) fn recorder() -> Option<&'static PrometheusHandle> {
    let install = || {
        // Up to what a request may wait for what it depends on.
        const SECONDS: [f64; 15] =
            [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
        const COUNTS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 256.0];
        PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS)
            .and_then(|b| b.set_buckets_for_metric(Matcher::Suffix("_size".into()), &COUNTS))
            .and_then(PrometheusBuilder::install_recorder)
            .ok()
    };
    METRICS.get_or_init(install).as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_errors_of_actix_are_logged_only_if_the_filter_names_them() {
        for directives in ["", "*", "common=trace", "actix_http=debug"] {
            let filter = filter("info", directives).to_string();
            assert!(filter.contains("actix_http::h1::dispatcher=off"), "{filter}");
        }
        let filter = filter("info", "actix_http::h1::dispatcher=error").to_string();
        assert!(filter.contains("actix_http::h1::dispatcher=error") && !filter.contains("off"), "{filter}");
    }
}
