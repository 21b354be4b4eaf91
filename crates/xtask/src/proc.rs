//! What Linux says of a process: its time on the cores and its memory.

use std::fs;

use anyhow::{Context, Result};

/// `USER_HZ`: what `/proc/PID/stat` counts in, on every architecture that Linux has today.
const TICK_US: f64 = 10_000.0;

/// What a process and its threads, ended ones too, have used of the cores, in microseconds.
pub fn cpu_us(pid: u32) -> Result<f64> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}: this needs Linux"))?;
    parse_cpu(&text).with_context(|| format!("{path} is not understood"))
}

/// The same of a process and those that it started.
pub fn family_cpu_us(pid: u32) -> Result<f64> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    children.map(cpu_us).chain([cpu_us(pid)]).sum()
}

/// Memory in MiB.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Memory {
    /// Its own, which nothing but itself can give back (`RssAnon`).
    pub anon: f64,
    /// All that is mapped and in memory (`VmRSS`), files too: a database file once for each connection.
    pub resident: f64,
}

/// What a process holds now.
pub fn memory(pid: u32) -> Result<Memory> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}: this needs Linux"))?;
    parse_memory(&text).with_context(|| format!("{path} is not understood"))
}

fn parse_cpu(stat: &str) -> Option<f64> {
    // The name in parentheses may have anything in it.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) * TICK_US)
}

fn parse_memory(status: &str) -> Option<Memory> {
    let mib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<f64>().ok()? / 1024.0)
    };
    Some(Memory { anon: mib("RssAnon")?, resident: mib("VmRSS")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_linux_says_is_read() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 150 50 9 9 20 0 3 0 100 1 1";
        assert_eq!(parse_cpu(stat), Some(2_000_000.0));
        assert_eq!(parse_cpu("7 (a) S 1"), None);
        let status = "Name:\tx\nVmRSS:\t    2048 kB\nRssAnon:\t    1024 kB\n";
        assert_eq!(parse_memory(status), Some(Memory { anon: 1.0, resident: 2.0 }));
        assert_eq!(parse_memory("VmRSS:\t 1 kB"), None);
    }

    #[test]
    fn this_process_has_both() {
        let pid = std::process::id();
        assert!(memory(pid).unwrap().resident > 0.0 && family_cpu_us(pid).unwrap() >= 0.0);
    }
}
