//! Plots as SVG: lines over two logarithmic axes.

use std::collections::BTreeMap;

use anyhow::Result;
use plotters::chart::ChartBuilder;
use plotters::coord::combinators::IntoLogRange;
use plotters::drawing::IntoDrawingArea;
use plotters::element::{PathElement, Text};
use plotters::prelude::SVGBackend;
use plotters::series::LineSeries;
use plotters::style::{Color, Palette, Palette99, WHITE};

/// The series of a plot: points by their name.
pub type Series = BTreeMap<String, Vec<(f64, f64)>>;

/// Width of the area with the lines. Their names are right of it.
const CHART_WIDTH: u32 = 640;
/// Space between two names.
const LINE_HEIGHT: i32 = 20;

/// Draws the lines: microseconds against numbers of rows or clients.
pub fn svg(title: &str, x: &str, series: &Series) -> Result<String> {
    let range = |part: fn(&(f64, f64)) -> f64| {
        let values = || series.values().flatten().map(part).filter(|value| *value > 0.0);
        let (min, max) = (values().fold(f64::MAX, f64::min), values().fold(1.0, f64::max));
        min.min(max)..max * 1.01
    };
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (1040, 460)).into_drawing_area();
        root.fill(&WHITE)?;
        let (left, right) = root.split_horizontally(CHART_WIDTH);
        let mut chart = ChartBuilder::on(&left)
            .caption(title, ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(72)
            .build_cartesian_2d(range(|point| point.0).log_scale(), range(|point| point.1).log_scale())?;
        let mesh = &mut chart.configure_mesh();
        mesh.label_style(("sans-serif", 16))
            .x_desc(x)
            .x_label_formatter(&|x| count(*x))
            .y_label_formatter(&|y| format_us(*y))
            .draw()?;
        for ((name, points), number) in series.iter().zip(0..) {
            let style = Palette99::pick(number).stroke_width(2);
            chart.draw_series(LineSeries::new(points.iter().copied(), style))?;
            let y = 50 + LINE_HEIGHT * i32::try_from(number)?;
            right.draw(&PathElement::new([(0, y), (24, y)], style))?;
            right.draw(&Text::new(name.as_str(), (32, y - 6), ("sans-serif", 16)))?;
        }
        root.present()?;
    }
    Ok(svg)
}

/// Formats microseconds with about three digits.
pub fn format_us(us: f64) -> String {
    match us {
        ..=0.0 => String::new(),
        ..100.0 => format!("{us:.1} µs"),
        ..1000.0 => format!("{us:.0} µs"),
        ..10_000.0 => format!("{:.2} ms", us / 1000.0),
        _ => format!("{:.1} ms", us / 1000.0),
    }
}

/// Formats a number of rows or clients.
pub fn count(value: f64) -> String {
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
        let series = Series::from([("page".to_owned(), vec![(1e4, 100.0), (1e6, 1_000.0)])]);
        let svg = svg("CPU time", "rows", &series).unwrap();
        for part in ["CPU time", "rows", "page", "100k", "1.00 ms"] {
            assert!(svg.contains(part), "{part}\n{svg}");
        }
        assert_eq!([0.0, 99.94, 2_500.0].map(format_us), ["", "99.9 µs", "2.50 ms"]);
    }
}
