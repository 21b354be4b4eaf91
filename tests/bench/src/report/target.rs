//! Performance targets.

use super::format::format_us;
use crate::measurement::Summary;

/// The target of a benchmark.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// No target.
    None,
    /// Maximum CPU time per request, in microseconds.
    MaxCpu(f64),
    /// Maximum CPU time per request above that of the first baseline, in microseconds.
    MaxCpuOverBaseline(f64),
    /// Maximum ratio of CPU time per request to that of the first baseline.
    MaxCpuRatio(f64),
    /// Minimum ratio of the rate to that of the first baseline.
    MinRateRatio(f64),
    /// Minimum requests per second.
    MinRate(f64),
    /// Maximum median latency, in microseconds.
    MaxP50(f64),
}

impl Target {
    /// Describes the target in the report.
    pub fn describe(self) -> String {
        match self {
            Self::None => String::new(),
            Self::MaxCpu(us) => format!("≤ {} CPU", format_us(us)),
            Self::MaxCpuOverBaseline(us) => format!("≤ {} CPU over the limit", format_us(us)),
            Self::MaxCpuRatio(ratio) => format!("≤ {ratio} times the CPU of the limit"),
            Self::MinRateRatio(ratio) => format!("≥ {:.0} % of the limit", ratio * 100.0),
            Self::MinRate(rate) => format!("≥ {rate:.0}/s"),
            Self::MaxP50(us) => format!("p50 ≤ {}", format_us(us)),
        }
    }

    /// Returns how much of the target is reached: at least 1 if it is met. `None` without a target or without the
    /// figures that it needs.
    pub fn achievement(self, summary: &Summary, baseline: Option<&Summary>) -> Option<f64> {
        Some(match self {
            Self::None => return None,
            Self::MaxCpu(us) => us / summary.cpu_us?,
            Self::MaxCpuOverBaseline(us) => us / (summary.cpu_us? - baseline?.cpu_us?).max(0.1),
            Self::MaxCpuRatio(ratio) => ratio * baseline?.cpu_us? / summary.cpu_us?,
            Self::MinRateRatio(ratio) => summary.rate / baseline?.rate / ratio,
            Self::MinRate(rate) => summary.rate / rate,
            Self::MaxP50(us) => us / summary.p50_us.max(0.1),
        })
    }
}

/// Formats the achievement of a target.
pub fn verdict(achievement: Option<f64>) -> String {
    match achievement {
        None => String::new(),
        Some(ratio) if ratio >= 1.0 => "yes".into(),
        Some(ratio) => format!("no, {ratio:.2} of target"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judges_targets() {
        let summary =
            Summary { rate: 500.0, p50_us: 100.4, p99_us: 2500.0, p999_us: 3e3, cpu_us: Some(300.0) };
        let baseline =
            Summary { rate: 1000.0, p50_us: 50.0, p99_us: 60.0, p999_us: 70.0, cpu_us: Some(100.0) };
        for (target, expected) in [
            (Target::MaxCpu(300.0), "yes"),
            (Target::MaxCpu(150.0), "no, 0.50 of target"),
            (Target::MaxCpuOverBaseline(100.0), "no, 0.50 of target"),
            (Target::MaxCpuRatio(3.0), "yes"),
            (Target::MinRateRatio(0.4), "yes"),
            (Target::MinRateRatio(0.75), "no, 0.67 of target"),
            (Target::MinRate(1000.0), "no, 0.50 of target"),
            (Target::MaxP50(50.2), "no, 0.50 of target"),
            (Target::None, ""),
        ] {
            assert_eq!(verdict(target.achievement(&summary, Some(&baseline))), expected, "{target:?}");
        }
        assert_eq!(Target::MinRateRatio(0.4).achievement(&summary, None), None);
    }
}
