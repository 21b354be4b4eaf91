//! Plots as SVG: lines over two logarithmic axes.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::format::format_us;

const WIDTH: f64 = 1040.0;
const HEIGHT: f64 = 460.0;
/// Edges of the area with the lines. The names of the lines are right of it.
const LEFT: f64 = 80.0;
const RIGHT: f64 = 620.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 400.0;
/// Space between the names of two lines.
const LINE_HEIGHT: f64 = 20.0;
/// Colours that people with colour blindness can tell apart. Lines after the seventh are dashed.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333"];

/// The series of a plot: points by their name.
pub type Series = BTreeMap<String, Vec<(f64, f64)>>;

/// The axes of a plot.
#[derive(Debug)]
pub struct Plot {
    /// Name of the plot and of its file.
    pub name: &'static str,
    title: &'static str,
    x: &'static str,
    /// Whether the values of x are labelled one by one. Otherwise the powers of 10 are.
    every_x: bool,
}

/// Name of the plot of CPU time by rows.
pub const COST_BY_ROWS: &str = "cost-by-rows";
/// Name of the plot of latency by clients.
pub const LATENCY_BY_CLIENTS: &str = "latency-by-clients";

/// All plots.
pub const PLOTS: [Plot; 2] = [
    Plot { name: COST_BY_ROWS, title: "CPU time of a request", x: "rows of the table", every_x: false },
    Plot { name: LATENCY_BY_CLIENTS, title: "Latency of a request", x: "clients at once", every_x: true },
];

impl Plot {
    /// Draws the lines.
    pub fn svg(&self, series: &Series) -> String {
        let points = || series.values().flatten();
        let (x_axis, y_axis) = (
            Axis::new(points().map(|point| point.0), (LEFT, RIGHT), self.every_x),
            Axis::new(points().map(|point| point.1), (BOTTOM, TOP), false),
        );
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
             font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
             <text x=\"{LEFT}\" y=\"28\" font-size=\"16\">{}</text>\n\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
            self.title,
            f64::midpoint(LEFT, RIGHT),
            BOTTOM + 42.0,
            self.x
        );
        for value in &x_axis.ticks {
            let (x, label) = (x_axis.place(*value), count(*value));
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} {TOP}V{BOTTOM}\" stroke=\"#dddddd\"/><text x=\"{x:.1}\" y=\"{}\" \
                 text-anchor=\"middle\">{label}</text>",
                BOTTOM + 20.0
            );
        }
        for value in &y_axis.ticks {
            let (y, label) = (y_axis.place(*value), format_us(*value));
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {y:.1}H{RIGHT}\" stroke=\"#dddddd\"/><text x=\"{}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{label}</text>",
                LEFT - 8.0,
                y + 4.0
            );
        }
        let mut name_y = TOP + 10.0;
        for (number, (name, points)) in series.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            let dash = if number < COLOURS.len() { "" } else { " stroke-dasharray=\"6 4\"" };
            let places: Vec<_> = points
                .iter()
                .map(|(x, y)| format!("{:.1},{:.1}", x_axis.place(*x), y_axis.place(*y)))
                .collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>\n\
                 <path d=\"M{} {name_y}h24\" stroke=\"{colour}\" stroke-width=\"3\"{dash}/>\
                 <text x=\"{}\" y=\"{}\">{name}</text>",
                places.join(" "),
                RIGHT + 15.0,
                RIGHT + 46.0,
                name_y + 4.0
            );
            name_y += LINE_HEIGHT;
        }
        svg + "</svg>\n"
    }
}

/// A logarithmic axis.
struct Axis {
    ticks: Vec<f64>,
    from: f64,
    to: f64,
    edges: (f64, f64),
}

impl Axis {
    /// Returns an axis with ticks at each value, or at the powers of 10 around all values.
    fn new(values: impl Iterator<Item = f64>, edges: (f64, f64), every: bool) -> Self {
        let mut ticks: Vec<f64> = values.filter(|value| *value > 0.0).collect();
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        let (min, max) = (ticks.first().copied().unwrap_or(1.0), ticks.last().copied().unwrap_or(10.0));
        if !every {
            ticks.clear();
            let mut tick = 10_f64.powf(min.log10().floor());
            while tick < max * 9.999 {
                ticks.push(tick);
                tick *= 10.0;
            }
        }
        let (from, to) =
            (ticks.first().copied().unwrap_or(min).ln(), ticks.last().copied().unwrap_or(max).ln());
        Self { ticks, from, to: if to > from { to } else { from + 1.0 }, edges }
    }

    fn place(&self, value: f64) -> f64 {
        let part = (value.max(f64::MIN_POSITIVE).ln() - self.from) / (self.to - self.from);
        self.edges.0 + part * (self.edges.1 - self.edges.0)
    }
}

/// Formats a number of rows or clients.
fn count(value: f64) -> String {
    match value {
        ..1e3 => format!("{value:.0}"),
        ..1e6 => format!("{:.0}k", value / 1e3),
        _ => format!("{:.0}M", value / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_a_line_for_each_series() {
        let series = Series::from([
            ("page".to_owned(), vec![(1e4, 100.0), (1e5, 120.0), (1e6, 1_000.0)]),
            ("CSV".to_owned(), vec![(1e5, 20_000.0)]),
        ]);
        let svg = PLOTS[0].svg(&series);
        assert_eq!(svg.matches("<polyline").count(), 2);
        for part in [">10k<", ">100k<", ">1M<", ">100 µs<", ">100.0 ms<", ">CSV<", "80.0,400.0 350.0"] {
            assert!(svg.contains(part), "{part}\n{svg}");
        }
        assert!(PLOTS[1].svg(&Series::from([("p50".to_owned(), vec![(16.0, 1.0)])])).contains(">16<"));
    }
}
