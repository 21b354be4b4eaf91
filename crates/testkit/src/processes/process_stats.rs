//! Processor time and memory of a process, read from /proc.

use std::fs;

use anyhow::{Context, Result};

/// Microseconds of a tick of `/proc/PID/stat` (`USER_HZ` is 100 on every architecture).
const TICK_US: f64 = 10_000.0;

/// Processor time of a process with all its threads, in microseconds.
pub fn cpu_us(pid: u32) -> Result<f64> {
    read_cpu(pid).map(|[own, _]| own)
}

/// Processor time of a process and its children, those that have ended included, in microseconds.
pub fn family_cpu_us(pid: u32) -> Result<f64> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    // A child that ends meanwhile is counted with the ended ones, read last.
    let running: f64 = children.filter_map(|child| cpu_us(child).ok()).sum();
    Ok(running + read_cpu(pid)?.iter().sum::<f64>())
}

/// Processor time of a process and of its ended children.
fn read_cpu(pid: u32) -> Result<[f64; 2]> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}: this needs Linux"))?;
    parse_cpu(&text).with_context(|| format!("{path} has an unknown format"))
}

/// Proportional set size of a process in MiB: a page that is mapped several times counts once.
pub fn pss(pid: u32) -> Result<f64> {
    let path = format!("/proc/{pid}/smaps_rollup");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}: this needs Linux"))?;
    parse_mib(&text, "Pss").with_context(|| format!("{path} has an unknown format"))
}

/// Memory in MiB.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Memory {
    /// Anonymous memory (`RssAnon`).
    pub anon: f64,
    /// Resident memory (`VmRSS`), mapped files included: a database file counts once for each connection.
    pub resident: f64,
}

/// Memory of a process.
pub fn memory(pid: u32) -> Result<Memory> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}: this needs Linux"))?;
    parse_memory(&text).with_context(|| format!("{path} has an unknown format"))
}

fn parse_cpu(stat: &str) -> Option<[f64; 2]> {
    // The name in parentheses may contain anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    let mut pair_us = || Some((ticks()? + ticks()?) * TICK_US);
    Some([pair_us()?, pair_us()?])
}

fn parse_memory(status: &str) -> Option<Memory> {
    Some(Memory { anon: parse_mib(status, "RssAnon")?, resident: parse_mib(status, "VmRSS")? })
}

fn parse_mib(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<f64>().ok()? / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_linux_says_is_read() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 150 50 9 9 20 0 3 0 100 1 1";
        assert_eq!(parse_cpu(stat), Some([2_000_000.0, 180_000.0]));
        assert_eq!(parse_cpu("7 (a) S 1"), None);
        let status = "Name:\tx\nVmRSS:\t    2048 kB\nRssAnon:\t    1024 kB\n";
        assert_eq!(parse_memory(status), Some(Memory { anon: 1.0, resident: 2.0 }));
        assert_eq!(parse_memory("VmRSS:\t 1 kB"), None);
    }

    #[test]
    fn this_process_has_both() {
        let pid = std::process::id();
        assert!(memory(pid).unwrap().resident > 0.0 && family_cpu_us(pid).unwrap() >= 0.0);
        assert!(pss(pid).unwrap() > 0.0);
    }
}
