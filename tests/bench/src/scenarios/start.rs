//! Start-up time, memory and program size of each service, and what a stop leaves behind.

use std::time::Duration;
use std::{fs, thread};

use anyhow::Result;
use testkit::processes::checkout::SERVICES;

use crate::environment::BenchEnvironment;
use crate::measurement::median;

const STARTS: usize = 5;
/// Time after a start at which the memory is that of an idle service.
const IDLE_AFTER: Duration = Duration::from_secs(2);
const MIB: f64 = 1_048_576.0;

/// Starts each service with a new and with an existing database, and measures its idle memory and program size.
pub fn run(env: &BenchEnvironment) -> Result<()> {
    for name in SERVICES {
        let (max_start_ms, max_idle_mib, max_size_mib) =
            if name == "system" { (120.0, 40.0, 32.0) } else { (50.0, 25.0, 20.0) };
        let (mut first_starts, mut restarts) = (Vec::new(), Vec::new());
        let (mut idle_pss, mut idle_anon) = (Vec::new(), Vec::new());
        for _ in 0..STARTS {
            env.stop.check()?;
            let (data, database) = (env.temp_path(name), env.create_database(name)?);
            for times in [&mut first_starts, &mut restarts] {
                let service = env.start(name, data.clone(), database.clone())?;
                times.push(service.start_up.as_secs_f64() * 1000.0);
                thread::sleep(IDLE_AFTER);
                idle_pss.push(service.pss()?);
                idle_anon.push(service.memory()?.anon);
            }
        }
        let add = |metric: &str, values: Vec<f64>, max, unit| {
            let value = median(values).unwrap_or_default();
            env.add_metric(format!("{name}: {metric}"), value, max, unit);
            value
        };
        add("start to first response, new database", first_starts, None, "ms");
        add("start to first response", restarts, Some(max_start_ms), "ms");
        add("idle RSS anon", idle_anon, None, "MiB");
        let pss = add("idle PSS", idle_pss, Some(max_idle_mib), "MiB");
        env.record(&format!("idle PSS of {name}"), Some(pss));
        let bytes = fs::metadata(env.programs.join(name))?.len();
        let size = add("program size", vec![mib(bytes)], Some(max_size_mib), "MiB");
        let is_dist = env.programs.ends_with("dist");
        env.record(&format!("program size of {name}, profile dist"), is_dist.then_some(size));
    }
    Ok(())
}

/// Records the highest memory of the services that other scenarios have used, stops these services, and measures the
/// write-ahead logs that they leave.
pub fn stop_services(env: &mut BenchEnvironment) -> Result<()> {
    for (name, pss) in env.peak_pss() {
        env.add_metric(format!("{name}: highest PSS under load"), pss, Some(150.0), "MiB");
        env.record(&format!("PSS of {name} under load"), Some(pss));
    }
    for (name, database) in env.stop_services() {
        if env.postgres.is_some() || !database.exists() {
            continue;
        }
        let log = database.with_extension("sqlite-wal");
        let size = if log.exists() { mib(fs::metadata(log)?.len()) } else { 0.0 };
        env.add_metric(format!("{name}: write-ahead log after a stop"), size, Some(1.0), "MiB");
        env.record(&format!("write-ahead log of {name} after a stop"), Some(size));
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52 bytes")]
fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB
}
