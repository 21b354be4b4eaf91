//! The targets of the second round (issue 20), and what recent runs reached.

use std::collections::BTreeMap;
use std::fmt::Write;

/// What a figure is compared with.
#[derive(Debug, Clone, Copy)]
enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

use Limit::{AtLeast, AtMost};

/// Name, limit and unit of each target. Sizes are numbers of rows. CPU time includes that of the database server.
const GOALS: [(&str, Limit, &str); 53] = [
    ("compressed page on one kept connection, p50", AtMost(1.0), "ms"),
    ("listing page beside 20 commits/s, part of the quiet rate", AtLeast(85.0), "%"),
    ("listing page beside 150 commits/s, part of the quiet rate", AtLeast(85.0), "%"),
    ("load page beside 20 commits/s, part of the quiet rate", AtLeast(85.0), "%"),
    ("load page beside 150 commits/s, part of the quiet rate", AtLeast(85.0), "%"),
    ("load page by organiser, carrier and dates, 10k", AtMost(120.0), "µs CPU"),
    ("load page by organiser, carrier and dates, 100k", AtMost(120.0), "µs CPU"),
    ("load page by organiser, carrier and dates, 1M", AtMost(120.0), "µs CPU"),
    ("listing page by date", AtMost(120.0), "µs CPU"),
    ("listing page by price", AtMost(130.0), "µs CPU"),
    ("within 50 km, breed, 10k", AtMost(250.0), "µs CPU"),
    ("within 50 km, breed, 100k", AtMost(250.0), "µs CPU"),
    ("within 50 km, breed, 1M", AtMost(250.0), "µs CPU"),
    ("within 50 km, breed, 1M against 10k", AtMost(2.0), "times"),
    ("within 50 km, all breeds, 10k", AtMost(500.0), "µs CPU"),
    ("within 50 km, all breeds, 100k", AtMost(500.0), "µs CPU"),
    ("within 50 km, all breeds, 1M", AtMost(500.0), "µs CPU"),
    ("within 50 km, all breeds, 1M against 10k", AtMost(2.0), "times"),
    ("facets of words in all listings", AtMost(20_000.0), "µs CPU"),
    ("facets of words of one lot", AtMost(20_000.0), "µs CPU"),
    ("facets of a new combination, 100k", AtMost(2_000.0), "µs CPU"),
    ("facets of a new combination, 1M", AtMost(15_000.0), "µs CPU"),
    ("start to first facets, 100k", AtMost(0.8), "s"),
    ("start to first facets, 1M", AtMost(3.0), "s"),
    ("first facets once ready, 100k", AtMost(0.05), "s"),
    ("first facets once ready, 1M", AtMost(0.05), "s"),
    ("PostgreSQL: listing page by date, part of the rate of pgbench", AtLeast(50.0), "%"),
    ("PostgreSQL: listing page by price, part of the rate of pgbench", AtLeast(50.0), "%"),
    ("PostgreSQL: load page, part of the rate of pgbench", AtLeast(50.0), "%"),
    ("PostgreSQL: create at 16 clients, part of the rate of pgbench", AtLeast(75.0), "%"),
    ("CSV of 10,000 loads by dates, 100k", AtMost(30.0), "ms CPU"),
    ("CSV of 10,000 loads by dates, 1M", AtMost(30.0), "ms CPU"),
    ("create at 16 clients, against the bare loop", AtMost(2.5), "times its CPU"),
    ("create at 64 clients, against the bare loop", AtMost(2.5), "times its CPU"),
    ("import in one batch of 10,000", AtLeast(15_000.0), "rows/s"),
    ("import in one batch of 10,000, part of the rate of the bare loop", AtLeast(90.0), "%"),
    ("idle PSS of system", AtMost(40.0), "MiB"),
    ("idle PSS of logistics", AtMost(25.0), "MiB"),
    ("idle PSS of livestock", AtMost(25.0), "MiB"),
    ("PSS of system under load", AtMost(150.0), "MiB"),
    ("PSS of logistics under load", AtMost(150.0), "MiB"),
    ("PSS of livestock under load", AtMost(150.0), "MiB"),
    ("write-ahead log of logistics after a stop", AtMost(1.0), "MiB"),
    ("write-ahead log of livestock after a stop", AtMost(1.0), "MiB"),
    ("write-ahead log of logistics beside a slow export", AtMost(64.0), "MiB"),
    ("program size of system, profile dist", AtMost(32.0), "MiB"),
    ("program size of logistics, profile dist", AtMost(20.0), "MiB"),
    ("program size of livestock, profile dist", AtMost(20.0), "MiB"),
    ("listing page, against the floor", AtMost(1.5), "times its CPU"),
    ("within 50 km, against the floor", AtMost(3.5), "times its CPU"),
    ("load page, against the floor", AtMost(1.6), "times its CPU"),
    ("CSV, against the floor", AtMost(1.5), "times its CPU"),
    ("create at 16 clients, against the floor", AtMost(2.5), "times its CPU"),
];

/// Renders all targets beside the last two figures of each. Figures without a target follow.
pub fn markdown(figures: &BTreeMap<String, Vec<f64>>) -> String {
    let mut text = "| Target | | run before | last run | met |\n|---|--:|--:|--:|---|\n".to_owned();
    let no_figures = Vec::new();
    for (name, limit, unit) in GOALS {
        let values = figures.get(name).unwrap_or(&no_figures);
        let [before, last] = cells(values);
        let (sign, bound) = match limit {
            AtMost(bound) => ("≤", bound),
            AtLeast(bound) => ("≥", bound),
        };
        let met = match values.last() {
            None => "not measured".to_owned(),
            Some(value) => match limit {
                AtMost(bound) if *value <= bound => "yes".to_owned(),
                AtLeast(bound) if *value >= bound => "yes".to_owned(),
                AtMost(bound) | AtLeast(bound) => format!("no, {:.2} of it", value / bound),
            },
        };
        let _ = writeln!(text, "| {name} | {sign} {bound} {unit} | {before} | {last} | {met} |");
    }
    for (name, values) in figures.iter().filter(|(name, _)| GOALS.iter().all(|goal| goal.0 != *name)) {
        let [before, last] = cells(values);
        let _ = writeln!(text, "| {name} | | {before} | {last} | |");
    }
    text
}

/// Formats the last two values.
fn cells(values: &[f64]) -> [String; 2] {
    let cell = |value: Option<&f64>| match value {
        None => String::new(),
        Some(value) if *value < 10.0 => format!("{value:.2}"),
        Some(value) if *value < 1000.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.0}"),
    };
    [cell(values.iter().rev().nth(1)), cell(values.last())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_last_two_figures_of_every_target() {
        let figures = BTreeMap::from([
            ("listing page by date".to_owned(), vec![200.0, 157.04, 119.0]),
            ("import in one batch of 10,000".to_owned(), vec![6_000.0]),
            ("another".to_owned(), vec![1.234]),
        ]);
        let text = markdown(&figures);
        for line in [
            "| listing page by date | ≤ 120 µs CPU | 157.0 | 119.0 | yes |",
            "| listing page by price | ≤ 130 µs CPU |  |  | not measured |",
            "| import in one batch of 10,000 | ≥ 15000 rows/s |  | 6000 | no, 0.40 of it |",
            "| another | |  | 1.23 | |",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
    }
}
