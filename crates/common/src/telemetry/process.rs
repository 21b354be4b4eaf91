//! The process itself, as every Prometheus client tells of it (`process_*`), from /proc; elsewhere than on Linux nothing.
//! Its processor time is a fraction of seconds, which a counter of the recorder's cannot be.

use std::fs;
use std::sync::OnceLock;

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};

/// In Prometheus text format.
pub(super) fn metrics() -> String {
    let lines = read().into_iter().flatten().map(|(name, kind, help, value)| {
        format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n\n")
    });
    lines.collect::<Vec<_>>().concat()
}

/// When the machine started, read once: it moves with the clock, which would look like a restart.
static BOOT: OnceLock<Option<f64>> = OnceLock::new();

type Metric = (&'static str, &'static str, &'static str, f64);

#[allow(clippy::cast_precision_loss, reason = "a metric is a float")]
fn read() -> Option<[Metric; 7]> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // After the name, which may have anything in it, proc(5) counts from the third field.
    let fields: Vec<f64> =
        stat.rsplit_once(')')?.1.split_whitespace().map(|field| field.parse().unwrap_or(0.0)).collect();
    let field = |number: usize| fields.get(number - 3).copied();
    let (ticks, page) = (clock_ticks_per_second() as f64, page_size() as f64);
    let boot = (*BOOT.get_or_init(boot))?;
    let files = fs::read_dir("/proc/self/fd").ok()?.count() as f64;
    let most = getrlimit(Resource::Nofile).current.map_or(f64::INFINITY, |most| most as f64);
    Some([
        ("process_cpu_seconds_total", "counter", "Processor time used", (field(14)? + field(15)?) / ticks),
        ("process_resident_memory_bytes", "gauge", "Memory in use", field(24)? * page),
        ("process_virtual_memory_bytes", "gauge", "Memory mapped", field(23)?),
        ("process_open_fds", "gauge", "Files and connections open", files),
        ("process_max_fds", "gauge", "The most that may be open", most),
        ("process_threads", "gauge", "Threads", field(20)?),
        ("process_start_time_seconds", "gauge", "When it started, since 1970", boot + field(22)? / ticks),
    ])
}

/// When the machine started, since 1970.
fn boot() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}
