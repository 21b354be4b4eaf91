//! Draws the outline of the map of listings: `data/outline.geojson` becomes the paths of an SVG.

#[path = "../src/market/projection.rs"]
mod projection;

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;

use projection::{EAST, SOUTH, WIDTH, project};

const DATA: &str = "data/outline.geojson";
/// Countries that the map is about. Others are drawn as land of neighbours.
const OWN: [&str; 5] = ["GB", "IE", "IM", "JE", "GG"];
/// How far outlines reach beyond the edges of the map, in units.
const MARGIN: f64 = 100.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed={DATA}");
    let data: Value = serde_json::from_str(&fs::read_to_string(DATA)?)?;
    let (mut own, mut others) = (String::new(), String::new());
    for feature in data["features"].as_array().into_iter().flatten() {
        let is_own = feature["properties"]["iso"].as_str().is_some_and(|iso| OWN.contains(&iso));
        let path = if is_own { &mut own } else { &mut others };
        let shape = &feature["geometry"];
        let polygons = match shape["type"].as_str() {
            Some("MultiPolygon") => shape["coordinates"].as_array().cloned().unwrap_or_default(),
            _ => vec![shape["coordinates"].clone()],
        };
        for ring in polygons.iter().filter_map(Value::as_array).flatten() {
            draw(path, ring)?;
        }
    }
    let (width, height) = (WIDTH, project(EAST, SOUTH).1);
    let code = format!(
        "/// The size of the whole map in units.\n\
         pub(crate) const SIZE: (f64, f64) = ({width:.1}, {height:.1});\n\
         /// The outlines of the countries that the map is about.\n\
         pub(crate) const LAND: &str = \"{own}\";\n\
         /// The outlines of the coast opposite.\n\
         pub(crate) const ABROAD: &str = \"{others}\";\n"
    );
    let folder = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    fs::write(Path::new(&folder).join("outline.rs"), code)?;
    Ok(())
}

/// Adds a ring to a path: its points in whole units, each relative to the one before. Points beyond the edges are moved
/// to them.
fn draw(path: &mut String, ring: &Value) -> Result<(), Box<dyn std::error::Error>> {
    let height = project(EAST, SOUTH).1;
    let mut last: Option<(f64, f64)> = None;
    for point in ring.as_array().into_iter().flatten() {
        let (Some(longitude), Some(latitude)) = (point[0].as_f64(), point[1].as_f64()) else {
            return Err(format!("{DATA}: a point is no pair of numbers: {point}").into());
        };
        let (x, y) = project(longitude, latitude);
        let whole = |value: f64, end: f64| value.clamp(-MARGIN, end + MARGIN).round();
        let next = (whole(x, WIDTH), whole(y, height));
        match last {
            None => write!(path, "M{:.0} {:.0}", next.0, next.1)?,
            Some(last) => {
                let (right, down) = (next.0 - last.0, next.1 - last.1);
                if right.abs() + down.abs() < 0.5 {
                    continue;
                }
                write!(path, "l{right:.0} {down:.0}")?;
            }
        }
        last = Some(next);
    }
    path.push('Z');
    Ok(())
}
