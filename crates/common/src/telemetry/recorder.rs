//! The process-wide recorder of metrics.

use std::sync::OnceLock;
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use super::process;

static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// How often recorded values are aggregated.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);
/// Bounds of histograms of durations. The last one is the longest time that a request may wait for a dependency.
const SECONDS_BUCKETS: [f64; 15] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
/// Bounds of histograms of sizes, in items.
const SIZE_BUCKETS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 256.0];

/// Installs the recorder. Metrics that are recorded before are lost. Only the first call in a process has an effect.
pub(crate) fn install() {
    recorder();
}

/// Returns all metrics in Prometheus text format.
pub(crate) fn render() -> String {
    recorder().map(PrometheusHandle::render).unwrap_or_default() + &process::render()
}

/// Aggregates recorded values while the service runs. Without it every value of a histogram stays in memory until the
/// next [`render`].
pub(crate) async fn run_upkeep() {
    loop {
        tokio::time::sleep(UPKEEP_INTERVAL).await;
        if let Some(recorder) = recorder() {
            recorder.run_upkeep();
        }
    }
}

fn recorder() -> Option<&'static PrometheusHandle> {
    let install = || {
        PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS_BUCKETS)
            .and_then(|b| b.set_buckets_for_metric(Matcher::Suffix("_size".into()), &SIZE_BUCKETS))
            .and_then(PrometheusBuilder::install_recorder)
            .ok()
    };
    RECORDER.get_or_init(install).as_ref()
}
