//! The report: Markdown tables of benchmarks, single metrics and targets, and plots.

mod figures;
mod format;
mod goals;
mod nodes;
mod plot;
mod target;

use std::fmt::Write;

pub use self::figures::Figures;
pub use self::nodes::{NodeRow, PlanRow};
pub use self::plot::{COST_BY_ROWS, LATENCY_BY_CLIENTS};
pub use self::target::Target;

use self::format::format_us;
use self::target::verdict;
use crate::measurement::Summary;

/// Results of a benchmark: a row of the report, with a row below it for each baseline.
#[derive(Debug, Clone)]
pub struct BenchmarkResult {
    /// Name of the benchmark.
    pub name: String,
    /// Medians of the service.
    pub summary: Summary,
    /// Proportional set size of the service after the last round, in MiB.
    pub pss: f64,
    /// Names and medians of the baselines.
    pub baselines: Vec<(&'static str, Summary)>,
    /// Target of the benchmark.
    pub target: Target,
}

/// A single figure.
#[derive(Debug)]
pub struct Metric {
    /// Name in the report.
    pub name: String,
    /// Value.
    pub value: f64,
    /// Maximum value, if it has a target.
    pub max: Option<f64>,
    /// Unit of both.
    pub unit: &'static str,
}

/// All results of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// Benchmarks in the order of their measurement.
    pub results: Vec<BenchmarkResult>,
    /// Single figures.
    pub metrics: Vec<Metric>,
    /// The work of each server of a cluster.
    pub nodes: Vec<NodeRow>,
    /// What the statements of operations ask of a cluster.
    pub plans: Vec<PlanRow>,
    /// Failures, and baselines that are missing.
    pub notes: Vec<String>,
    /// Figures that have targets, and plots.
    pub figures: Figures,
}

impl Report {
    /// Renders the tables.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        if !self.results.is_empty() {
            text += "| Scenario | requests/s | p50 | p99 | p99.9 | CPU/request | PSS, MiB | ratio to limit: \
                     requests/s | CPU/request | target | met |\n|---|---|---|---|---|---|---|---|---|---|---|\n";
        }
        self.results.iter().for_each(|result| text += &result.markdown());
        if !self.metrics.is_empty() {
            text += "\n| Metric | value | target | met |\n|---|---|---|---|\n";
        }
        for Metric { name, value, max, unit } in &self.metrics {
            let target = max.map(|max| format!("≤ {max} {unit}")).unwrap_or_default();
            let met = verdict(max.map(|max| max / value));
            let _ = writeln!(text, "| {name} | {value:.1} {unit} | {target} | {met} |");
        }
        text += &nodes::markdown(&self.nodes);
        text += &nodes::plans_markdown(&self.plans);
        if !self.notes.is_empty() {
            text += "\n";
        }
        self.notes.iter().for_each(|note| text.extend(["- ", note, "\n"]));
        text
    }
}

impl BenchmarkResult {
    /// Returns the CPU time per request in microseconds.
    pub fn cpu_us(&self) -> Option<f64> {
        self.summary.cpu_us
    }

    /// Returns the CPU time per request as a multiple of that of a baseline.
    pub fn cpu_ratio(&self, baseline: &str) -> Option<f64> {
        Some(self.summary.cpu_us? / self.baseline(baseline)?.cpu_us?)
    }

    /// Returns the rate as a percentage of that of a baseline.
    pub fn rate_percent(&self, baseline: &str) -> Option<f64> {
        Some(self.summary.rate / self.baseline(baseline)?.rate * 100.0)
    }

    fn baseline(&self, name: &str) -> Option<&Summary> {
        self.baselines.iter().find(|(other, _)| *other == name).map(|(_, summary)| summary)
    }

    /// Renders the rows of the benchmark and its baselines.
    pub fn markdown(&self) -> String {
        let first_baseline = self.baselines.first().map(|(_, summary)| summary);
        let mut text = format!(
            "| {} | {} | {:.0} | | | {} | {} |\n",
            self.name,
            cells(&self.summary),
            self.pss,
            self.target.describe(),
            verdict(self.target.achievement(&self.summary, first_baseline))
        );
        for (name, baseline) in &self.baselines {
            let cpu = self.summary.cpu_us.zip(baseline.cpu_us);
            let cpu_ratio = cpu.map(|(own, other)| format!("{:.1} times", own / other)).unwrap_or_default();
            let rate_ratio = self.summary.rate / baseline.rate * 100.0;
            let _ =
                writeln!(text, "| — {name} | {} | | {rate_ratio:.0} % | {cpu_ratio} | | |", cells(baseline));
        }
        text
    }
}

/// Renders the cells from the rate to the CPU time.
fn cells(summary: &Summary) -> String {
    let Summary { rate, p50_us, p99_us, p999_us, cpu_us } = summary;
    let digits = usize::from(*rate < 100.0);
    let cpu = cpu_us.map(format_us).unwrap_or_default();
    let [p50, p99, p999] = [p50_us, p99_us, p999_us].map(|us| format_us(*us));
    format!("{rate:.digits$} | {p50} | {p99} | {p999} | {cpu}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_markdown() {
        let result = BenchmarkResult {
            name: "loads".into(),
            summary: Summary {
                rate: 500.0,
                p50_us: 100.4,
                p99_us: 2500.0,
                p999_us: 5e4,
                cpu_us: Some(300.0),
            },
            pss: 30.2,
            baselines: vec![(
                "SQL in a loop",
                Summary { rate: 1000.0, p50_us: 50.0, p99_us: 60.0, p999_us: 70.0, cpu_us: Some(100.0) },
            )],
            target: Target::MaxCpu(170.0),
        };
        assert_eq!(result.cpu_ratio("SQL in a loop"), Some(3.0));
        assert_eq!((result.rate_percent("SQL in a loop"), result.rate_percent("other")), (Some(50.0), None));
        let metric = Metric { name: "start".into(), value: 40.0, max: Some(50.0), unit: "ms" };
        let report = Report {
            nodes: Vec::new(),
            plans: Vec::new(),
            results: vec![result],
            metrics: vec![metric],
            notes: vec!["a note".into()],
            figures: Figures::default(),
        };
        let text = report.markdown();
        for line in [
            "| loads | 500 | 100 µs | 2.50 ms | 50.0 ms | 300 µs | 30 | | | ≤ 170 µs CPU | no, 0.57 of target |",
            "| — SQL in a loop | 1000 | 50.0 µs | 60.0 µs | 70.0 µs | 100 µs | | 50 % | 3.0 times | | |",
            "| start | 40.0 ms | ≤ 50 ms | yes |",
            "- a note",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
    }
}
