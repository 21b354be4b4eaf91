//! Figures that are kept between runs: a run measures one database and one size only.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::plot::Series;
use super::{goals, plot};

/// Number of runs whose figures are kept.
const KEPT_RUNS: usize = 2;

/// Figures of this run, or of several runs.
#[derive(Debug, Default)]
pub struct Figures {
    /// Figures by their name, the last one of each run.
    pub values: BTreeMap<String, Vec<f64>>,
    /// Series of each plot.
    pub plots: BTreeMap<String, Series>,
}

impl Figures {
    /// Reads the figures of earlier runs; none if the file does not exist.
    pub fn read(file: &Path) -> Result<Self> {
        let Ok(text) = fs::read_to_string(file) else { return Ok(Self::default()) };
        let mut json: Value =
            serde_json::from_str(&text).with_context(|| format!("{}: remove it", file.display()))?;
        Ok(Self {
            values: serde_json::from_value(json["values"].take())?,
            plots: serde_json::from_value(json["plots"].take())?,
        })
    }

    /// Writes the figures for later runs.
    pub fn write(&self, file: &Path) -> Result<()> {
        fs::create_dir_all(file.parent().context("the file has no folder")?)?;
        let json = json!({"values": self.values, "plots": self.plots});
        fs::write(file, format!("{json:#}\n")).with_context(|| format!("cannot write {}", file.display()))
    }

    /// Sets a figure of this run.
    pub fn set(&mut self, name: &str, value: f64) {
        self.values.insert(name.to_owned(), vec![value]);
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
        for (name, values) in later.values {
            let all = self.values.entry(name).or_default();
            all.extend(values);
            all.drain(..all.len().saturating_sub(KEPT_RUNS));
        }
        for (plot, series) in later.plots {
            self.plots.entry(plot).or_default().extend(series);
        }
    }

    /// Renders the targets beside the figures.
    pub fn markdown(&self) -> String {
        goals::markdown(&self.values)
    }

    /// Writes the plots as SVG files of a folder.
    pub fn write_plots(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        for axes in &plot::PLOTS {
            if let Some(series) = self.plots.get(axes.name) {
                let file = folder.join(format!("{}.svg", axes.name));
                fs::write(&file, axes.svg(series))
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
    fn keeps_the_figures_of_two_runs_and_the_last_series() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bench/figures.json");
        for run in [1.0, 2.0, 3.0] {
            let mut figures = Figures::default();
            figures.set("a", 9.0);
            figures.set("a", run);
            figures.add_point("cost-by-rows", "page", (100.0, run));
            figures.add_point("cost-by-rows", "page", (10.0, run));
            let mut all = Figures::read(&file).unwrap();
            all.extend(figures);
            all.write(&file).unwrap();
        }
        let all = Figures::read(&file).unwrap();
        assert_eq!(all.values["a"], [2.0, 3.0]);
        assert_eq!(all.plots["cost-by-rows"]["page"], [(10.0, 3.0), (100.0, 3.0)]);
        all.write_plots(folder.path()).unwrap();
        assert!(folder.path().join("cost-by-rows.svg").exists());
    }
}
