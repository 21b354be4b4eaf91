//! Metrics of the process (`process_*`), read from `/proc`; none on other systems than Linux. Not in the recorder,
//! because processor time is a fraction of seconds and the recorder's counters are integers.

use std::fs;
use std::sync::OnceLock;

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};

/// Start of the machine, in seconds since 1970. Read once: it shifts with the clock, which would look like a restart.
static BOOT_TIME: OnceLock<Option<f64>> = OnceLock::new();

/// Name, type, help text, value.
type Metric = (&'static str, &'static str, &'static str, f64);

/// Returns the metrics in Prometheus text format.
pub(super) fn render() -> String {
    let lines = read().into_iter().flatten().map(|(name, kind, help, value)| {
        format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n\n")
    });
    lines.collect::<Vec<_>>().concat()
}

#[allow(clippy::cast_precision_loss, reason = "a metric is a float")]
fn read() -> Option<[Metric; 7]> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // proc(5) counts fields from 1. The second one is the name, which may contain anything, so parsing starts at the
    // third.
    let fields: Vec<f64> =
        stat.rsplit_once(')')?.1.split_whitespace().map(|field| field.parse().unwrap_or(0.0)).collect();
    let field = |number: usize| fields.get(number - 3).copied();
    let (ticks, page) = (clock_ticks_per_second() as f64, page_size() as f64);
    let boot = (*BOOT_TIME.get_or_init(read_boot_time))?;
    let open_files = fs::read_dir("/proc/self/fd").ok()?.count() as f64;
    let max_files = getrlimit(Resource::Nofile).current.map_or(f64::INFINITY, |limit| limit as f64);
    Some([
        ("process_cpu_seconds_total", "counter", "Processor time used", (field(14)? + field(15)?) / ticks),
        ("process_resident_memory_bytes", "gauge", "Memory in use", field(24)? * page),
        ("process_virtual_memory_bytes", "gauge", "Memory mapped", field(23)?),
        ("process_open_fds", "gauge", "Open file descriptors", open_files),
        ("process_max_fds", "gauge", "Maximum number of open file descriptors", max_files),
        ("process_threads", "gauge", "Threads", field(20)?),
        (
            "process_start_time_seconds",
            "gauge",
            "Start time, in seconds since 1970",
            boot + field(22)? / ticks,
        ),
    ])
}

fn read_boot_time() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}
