//! The report: a table of what was measured and its limits, one of single figures, and figures that are kept between
//! runs, because a run measures one database and one size only.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::measurement::Summary;
use crate::plot::{self, Series, format_us};

/// Number of runs whose figures are kept.
const KEPT_RUNS: usize = 2;
/// Units of the figures of a row. CPU time includes that of the database server.
pub const CPU: &str = "µs CPU";
pub const P50: &str = "µs p50";
pub const RATE: &str = "requests/s";
/// Name of the plot of CPU time by rows.
pub const COST_BY_ROWS: &str = "cost-by-rows";
/// Name of the plot of latency by clients.
pub const LATENCY_BY_CLIENTS: &str = "latency-by-clients";
/// Name, title and axis of each plot.
const PLOTS: [(&str, &str, &str); 2] = [
    (COST_BY_ROWS, "CPU time of a request", "rows of the table"),
    (LATENCY_BY_CLIENTS, "Latency of a request", "clients at once"),
];

/// A unit, and what a figure of it is compared with.
pub type Target = (&'static str, Bound);

/// What a figure is compared with.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

impl Bound {
    /// Describes the target, and says whether a figure meets it.
    fn cells(self, value: f64) -> (String, String) {
        let (sign, bound, is_met) = match self {
            Self::AtMost(bound) => ('≤', bound, value <= bound),
            Self::AtLeast(bound) => ('≥', bound, value >= bound),
        };
        let met = if is_met { "yes".to_owned() } else { format!("no, {:.2} of it", value / bound) };
        (format!("{sign} {bound}"), met)
    }
}

/// Medians of a service, and of the limits that it is compared with.
#[derive(Debug, Clone)]
pub struct Row {
    pub label: String,
    pub summary: Summary,
    /// Proportional set size of the service after the last round, in MiB.
    pub pss: f64,
    pub limits: Vec<(&'static str, Summary)>,
    pub targets: Vec<Target>,
}

impl Row {
    /// Returns the figures, with their units.
    fn figures(&self) -> BTreeMap<String, f64> {
        let Summary { rate, p50, cpu, .. } = self.summary;
        let mut figures = BTreeMap::from([(RATE.to_owned(), rate), (P50.to_owned(), p50)]);
        figures.extend(cpu.map(|cpu| (CPU.to_owned(), cpu)));
        for (name, limit) in &self.limits {
            figures.insert(format!("% of requests/s of {name}"), rate / limit.rate * 100.0);
            let cpu = cpu.zip(limit.cpu).map(|(own, other)| (format!("× CPU of {name}"), own / other));
            figures.extend(cpu);
        }
        figures
    }

    /// Renders the row, and one for each limit below it.
    pub fn markdown(&self) -> String {
        let (figures, mut targets, mut met) = (self.figures(), Vec::new(), Vec::new());
        for (unit, bound) in &self.targets {
            if let Some(value) = figures.get(*unit) {
                let (bound, is_met) = bound.cells(*value);
                targets.push(format!("{bound} {unit}"));
                met.push(is_met);
            }
        }
        let (cells, pss, targets, met) = (cells(&self.summary), self.pss, targets.join("; "), met.join("; "));
        let mut text = format!("| {} | {cells} | {pss:.0} | | | {targets} | {met} |\n", self.label);
        for (name, limit) in &self.limits {
            let cpu = figures.get(&format!("× CPU of {name}")).map(|ratio| format!("{ratio:.1} ×"));
            let (rate, cpu) = (self.summary.rate / limit.rate * 100.0, cpu.unwrap_or_default());
            let _ = writeln!(text, "| — {name} | {} | | {rate:.0} % | {cpu} | | |", self::cells(limit));
        }
        text
    }
}

/// Renders the cells from the rate to the CPU time.
fn cells(summary: &Summary) -> String {
    let Summary { rate, p50, p99, p999, cpu } = summary;
    let digits = usize::from(*rate < 100.0);
    let [p50, p99, p999, cpu] = [*p50, *p99, *p999, cpu.unwrap_or_default()].map(format_us);
    format!("{rate:.digits$} | {p50} | {p99} | {p999} | {cpu}")
}

/// All results of a run.
#[derive(Debug, Default)]
pub struct Report {
    rows: String,
    values: String,
    /// Failures, limits that are missing, and further tables.
    pub notes: String,
    pub figures: Figures,
}

impl Report {
    /// Adds a row and its figures.
    pub fn add_row(&mut self, row: &Row) {
        self.rows += &row.markdown();
        for (unit, value) in row.figures() {
            let target = row.targets.iter().find(|target| target.0 == unit);
            self.figures.add(&row.label, &unit, value, target.map(|target| target.1));
        }
    }

    /// Adds a single figure.
    pub fn add_value(&mut self, label: &str, value: f64, unit: &str, target: Option<Bound>) {
        let (bound, met) = target.map(|bound| bound.cells(value)).unwrap_or_default();
        let _ = writeln!(self.values, "| {label} | {value:.1} {unit} | {bound} | {met} |");
        self.figures.add(label, unit, value, target);
    }

    /// Renders the tables.
    pub fn markdown(&self) -> String {
        let rows = "| Scenario | requests/s | p50 | p99 | p99.9 | CPU/request | PSS, MiB | of the limit: requests/s | CPU \
                    | target | met |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|---|---|\n";
        let values = "\n| Figure | value | target | met |\n|---|--:|---|---|\n";
        [(rows, &self.rows), (values, &self.values), ("\n", &self.notes)]
            .map(|(head, body)| if body.is_empty() { String::new() } else { format!("{head}{body}") })
            .concat()
    }
}

/// The last figures of one unit, one of each run.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Figure {
    values: Vec<f64>,
    target: Option<Bound>,
}

/// Figures of this run, or of several runs, by their labels and units.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Figures {
    figures: BTreeMap<String, BTreeMap<String, Figure>>,
    plots: BTreeMap<String, Series>,
}

impl Figures {
    /// Reads the figures of earlier runs; none if the file does not exist.
    pub fn read(file: &Path) -> Result<Self> {
        let Ok(text) = fs::read_to_string(file) else { return Ok(Self::default()) };
        serde_json::from_str(&text).with_context(|| format!("{}: remove it", file.display()))
    }

    /// Writes the figures for later runs.
    pub fn write(&self, file: &Path) -> Result<()> {
        fs::create_dir_all(file.parent().context("the file has no folder")?)?;
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
    }

    fn add(&mut self, label: &str, unit: &str, value: f64, target: Option<Bound>) {
        let figure = Figure { values: vec![value], target };
        self.figures.entry(label.to_owned()).or_default().insert(unit.to_owned(), figure);
    }

    /// Adds a point to a series of a plot.
    pub fn add_point(&mut self, plot: &str, series: &str, point: (f64, f64)) {
        let points = self.plots.entry(plot.to_owned()).or_default().entry(series.to_owned()).or_default();
        points.retain(|(x, _)| x.total_cmp(&point.0).is_ne());
        points.push(point);
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
    }

    /// Adds the figures of a later run. Its series replace earlier ones of the same name.
    pub fn extend(&mut self, later: Self) {
        for (label, figures) in later.figures {
            for (unit, figure) in figures {
                let own = self.figures.entry(label.clone()).or_default().entry(unit).or_default();
                own.target = figure.target;
                own.values.extend(figure.values);
                own.values.drain(..own.values.len().saturating_sub(KEPT_RUNS));
            }
        }
        for (plot, series) in later.plots {
            self.plots.entry(plot).or_default().extend(series);
        }
    }

    /// Renders all figures that have a target, with those of the run before.
    pub fn markdown(&self) -> String {
        let mut text = "| Target | | run before | last run | met |\n|---|---|--:|--:|---|\n".to_owned();
        for (label, figures) in &self.figures {
            for (unit, Figure { values, target }) in figures {
                if let (Some(bound), Some(last)) = (target, values.last()) {
                    let (bound, met) = bound.cells(*last);
                    let before = values.iter().nth_back(1).map(|value| format!("{value:.1}"));
                    let before = before.unwrap_or_default();
                    let _ = writeln!(text, "| {label} | {bound} {unit} | {before} | {last:.1} | {met} |");
                }
            }
        }
        text
    }

    /// Writes the plots as SVG files of a folder.
    pub fn write_plots(&self, folder: &Path) -> Result<()> {
        for (name, title, x) in PLOTS {
            if let Some(series) = self.plots.get(name) {
                let file = folder.join(format!("{name}.svg"));
                fs::write(&file, plot::svg(title, x, series)?)
                    .with_context(|| format!("cannot write {}", file.display()))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_rows_and_keeps_the_figures_of_two_runs() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bench/figures.json");
        let summary = |rate, cpu| Summary { rate, p50: 100.4, p99: 2500.0, p999: 5e4, cpu: Some(cpu) };
        let mut text = String::new();
        for run in [1.0, 2.0, 3.0] {
            let mut report = Report::default();
            report.add_row(&Row {
                label: "loads".into(),
                summary: summary(500.0, 60.0 * run),
                pss: 30.2,
                limits: vec![("floor", summary(1000.0, 100.0))],
                targets: vec![
                    (CPU, Bound::AtMost(120.0)),
                    ("% of requests/s of floor", Bound::AtLeast(40.0)),
                ],
            });
            report.add_value("system: start", 240.0, "ms", Some(Bound::AtMost(120.0)));
            report.figures.add_point(COST_BY_ROWS, "page", (1e5, run));
            report.figures.add_point(COST_BY_ROWS, "page", (1e4, run));
            text = report.markdown();
            let mut all = Figures::read(&file).unwrap();
            all.extend(report.figures);
            all.write(&file).unwrap();
        }
        let all = Figures::read(&file).unwrap();
        assert_eq!(all.plots[COST_BY_ROWS]["page"], [(1e4, 3.0), (1e5, 3.0)]);
        text += &all.markdown();
        for line in [
            "| loads | 500 | 100 µs | 2.50 ms | 50.0 ms | 180 µs | 30 | | | ≤ 120 µs CPU; ≥ 40 % of requests/s of floor \
             | no, 1.50 of it; yes |",
            "| — floor | 1000 | 100 µs | 2.50 ms | 50.0 ms | 100 µs | | 50 % | 1.8 × | | |",
            "| system: start | 240.0 ms | ≤ 120 | no, 2.00 of it |",
            "| loads | ≤ 120 µs CPU | 120.0 | 180.0 | no, 1.50 of it |",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        all.write_plots(folder.path()).unwrap();
        assert!(folder.path().join("cost-by-rows.svg").exists());
    }
}
