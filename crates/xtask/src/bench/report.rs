//! What was measured, as markdown.

use std::fmt::Write;

use super::sample::Figures;
use crate::proc::Memory;

/// What a row is to reach.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// Nothing.
    None,
    /// At most so many microseconds of a core for a request.
    Cpu(f64),
    /// At most so many more than the first limit takes.
    CpuOver(f64),
    /// At most so many times what the first limit takes.
    CpuTimes(f64),
    /// At least this part of the requests a second of the first limit.
    Share(f64),
    /// At least so many a second.
    Rate(f64),
}

impl Target {
    /// As a person reads it.
    fn text(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Cpu(us) => format!("≤ {} CPU", time(us)),
            Self::CpuOver(us) => format!("≤ {} CPU over the first limit", time(us)),
            Self::CpuTimes(times) => format!("≤ {times} times the CPU of the first limit"),
            Self::Share(share) => format!("≥ {:.0} % of the first limit", share * 100.0),
            Self::Rate(rate) => format!("≥ {rate:.0} a second"),
        }
    }

    /// What was reached of 1, where that can be told: less than 1 is missed.
    fn reached(self, own: &Figures, limit: Option<&Figures>) -> Option<f64> {
        Some(match self {
            Self::None => return None,
            Self::Cpu(us) => us / own.cpu?,
            Self::CpuOver(us) => us / (own.cpu? - limit?.cpu?).max(0.1),
            Self::CpuTimes(times) => times * limit?.cpu? / own.cpu?,
            Self::Share(share) => own.rate / limit?.rate / share,
            Self::Rate(rate) => own.rate / rate,
        })
    }
}

/// A row: a service, and its limits below it.
#[derive(Debug)]
pub struct Line {
    /// Name of what was measured.
    pub name: String,
    /// What it took.
    pub own: Figures,
    /// What the service held afterwards.
    pub memory: Memory,
    /// What the limits took.
    pub limits: Vec<(String, Figures)>,
    /// What it was to take.
    pub target: Target,
}

/// A single figure that is at most so much.
#[derive(Debug)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// How much.
    pub value: f64,
    /// How much it may be.
    pub most: Option<f64>,
    /// Of what.
    pub unit: &'static str,
}

/// All of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// Rows, in the order measured.
    pub lines: Vec<Line>,
    /// Single figures.
    pub facts: Vec<Fact>,
    /// What else is to be said, such as which limit is left out and why.
    pub notes: Vec<String>,
}

impl Report {
    /// The tables.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        if !self.lines.is_empty() {
            text += "| Scenario | a second | p50 | p99 | CPU | MiB own / all | of the limit: rate | CPU | target | reached |\n\
                     |---|---|---|---|---|---|---|---|---|---|\n";
        }
        self.lines.iter().for_each(|line| text += &line.markdown());
        if !self.facts.is_empty() {
            text += "\n| Figure | value | target | reached |\n|---|---|---|---|\n";
        }
        for Fact { name, value, most, unit } in &self.facts {
            let target = most.map(|most| format!("≤ {most} {unit}")).unwrap_or_default();
            let reached = verdict(most.map(|most| most / value));
            let _ = writeln!(text, "| {name} | {value:.1} {unit} | {target} | {reached} |");
        }
        if !self.notes.is_empty() {
            text += "\n";
        }
        self.notes.iter().for_each(|note| text.extend(["- ", note, "\n"]));
        text
    }
}

impl Line {
    /// Its rows of the table.
    pub fn markdown(&self) -> String {
        let reached = self.target.reached(&self.own, self.limits.first().map(|(_, figures)| figures));
        let mut text = format!(
            "| {} | {} | {:.0} / {:.0} | | | {} | {} |\n",
            self.name,
            cells(&self.own),
            self.memory.anon,
            self.memory.resident,
            self.target.text(),
            verdict(reached)
        );
        for (name, limit) in &self.limits {
            let cpu = self.own.cpu.zip(limit.cpu).map(|(own, limit)| format!("{:.1} times", own / limit));
            let rate = self.own.rate / limit.rate * 100.0;
            let _ = writeln!(
                text,
                "| — {name} | {} | | {rate:.0} % | {} | | |",
                cells(limit),
                cpu.unwrap_or_default()
            );
        }
        text
    }
}

fn cells(figures: &Figures) -> String {
    let Figures { rate, p50, p99, cpu } = figures;
    let digits = usize::from(*rate < 100.0);
    format!("{rate:.digits$} | {} | {} | {}", time(*p50), time(*p99), cpu.map(time).unwrap_or_default())
}

fn verdict(reached: Option<f64>) -> String {
    match reached {
        None => String::new(),
        Some(part) if part >= 1.0 => "yes".into(),
        Some(part) => format!("no, {part:.2} of it"),
    }
}

/// Microseconds, with three digits or so.
fn time(us: f64) -> String {
    match us {
        ..100.0 => format!("{us:.1} µs"),
        ..1000.0 => format!("{us:.0} µs"),
        ..10_000.0 => format!("{:.2} ms", us / 1000.0),
        _ => format!("{:.1} ms", us / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Figures = Figures { rate: 500.0, p50: 100.4, p99: 2500.0, cpu: Some(300.0) };
    const LIMIT: Figures = Figures { rate: 1000.0, p50: 50.0, p99: 60.0, cpu: Some(100.0) };

    #[test]
    fn targets_are_judged() {
        for (target, reached) in [
            (Target::Cpu(300.0), "yes"),
            (Target::Cpu(150.0), "no, 0.50 of it"),
            (Target::CpuOver(100.0), "no, 0.50 of it"),
            (Target::CpuTimes(3.0), "yes"),
            (Target::Share(0.4), "yes"),
            (Target::Share(0.75), "no, 0.67 of it"),
            (Target::Rate(1000.0), "no, 0.50 of it"),
            (Target::None, ""),
        ] {
            assert_eq!(verdict(target.reached(&OWN, Some(&LIMIT))), reached, "{target:?}");
        }
        assert_eq!(Target::Share(0.4).reached(&OWN, None), None);
    }

    #[test]
    fn the_report_is_markdown() {
        let line = Line {
            name: "loads".into(),
            own: OWN,
            memory: Memory { anon: 20.0, resident: 30.0 },
            limits: vec![("SQL in a loop".into(), LIMIT)],
            target: Target::Cpu(170.0),
        };
        let fact = Fact { name: "start".into(), value: 40.0, most: Some(50.0), unit: "ms" };
        let report = Report { lines: vec![line], facts: vec![fact], notes: vec!["a note".into()] };
        let text = report.markdown();
        for line in [
            "| loads | 500 | 100 µs | 2.50 ms | 300 µs | 20 / 30 | | | ≤ 170 µs CPU | no, 0.57 of it |",
            "| — SQL in a loop | 1000 | 50.0 µs | 60.0 µs | 100 µs | | 50 % | 3.0 times | | |",
            "| start | 40.0 ms | ≤ 50 ms | yes |",
            "- a note",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
    }
}
