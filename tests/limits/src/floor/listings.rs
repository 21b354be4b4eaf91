//! Pages of listings by category, breed and place.

use std::fmt::Write;

use anyhow::{Result, bail};
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, params_from_iter};

use super::{Parameters, parameter};

/// The best index of each search.
pub const INDEXES: &str = "
    CREATE INDEX IF NOT EXISTS floor_date ON listings (breed, category, status, kind, created_at, id);
    CREATE INDEX IF NOT EXISTS floor_price ON listings (breed, category, status, kind, price, id);
    CREATE INDEX IF NOT EXISTS floor_breed_place
        ON listings (breed, category, status, kind, band, lon, x, y, z, created_at, id);
    CREATE INDEX IF NOT EXISTS floor_place ON listings (category, status, kind, band, lon, x, y, z, created_at, id);";

const PAGE: usize = 20;
const EARTH_RADIUS_KM: f64 = 6_371.008_8;
/// Tenths of a degree of latitude that 50 km in both directions touch at most.
const BANDS: i32 = 10;

/// Returns the first 20 active listings for sale of a category as a JSON array.
pub fn page(connection: &Connection, query: &Parameters) -> Result<String> {
    let category = match parameter(query, "f:commodityType")? {
        "sheep" => 1,
        "cattle" => 2,
        "working-dog" => 3,
        other => bail!("the floor has no category {other}"),
    };
    let mut values = vec![Cell::Integer(category)];
    let mut conditions = "category = ?1 AND status = 'active' AND kind = 'selling'".to_owned();
    if let Some(breed) = query.get("f:commodityBreed") {
        values.push(Cell::Text(breed.to_lowercase()));
        conditions += " AND breed = ?2";
    }
    let mut body = "[".to_owned();
    if query.contains_key("latitude") {
        let index = if values.len() > 1 { "floor_breed_place" } else { "floor_place" };
        let chord = within(query, &mut values, &mut conditions)?;
        let sql = page_sql(index, &conditions, "created_at DESC, id DESC", &chord);
        read(connection, &sql, values, PAGE, &mut body)?;
    } else if query.get("sortBy").is_some_and(|key| key == "price") {
        let sql = |null: &str| {
            page_sql("floor_price", &format!("{conditions} AND price {null}"), "price, id", "NULL")
        };
        let found = read(connection, &sql("IS NOT NULL"), values.clone(), PAGE, &mut body)?;
        if found < PAGE {
            read(connection, &sql("IS NULL"), values, PAGE - found, &mut body)?;
        }
    } else {
        let sql = page_sql("floor_date", &conditions, "created_at DESC, id DESC", "NULL");
        read(connection, &sql, values, PAGE, &mut body)?;
    }
    body.push(']');
    Ok(body)
}

/// Returns SQL of documents in an order, with the squared chord to the point of the search.
fn page_sql(index: &str, conditions: &str, order: &str, chord: &str) -> String {
    format!(
        "SELECT (SELECT document FROM listings WHERE rowid = page.n), chord FROM (SELECT rowid AS n, {chord} AS chord \
         FROM listings INDEXED BY {index} WHERE {conditions} ORDER BY {order} LIMIT {PAGE}) AS page"
    )
}

/// Appends up to `limit` documents to a JSON array, with their distances. Returns their number.
fn read(
    connection: &Connection,
    sql: &str,
    values: Vec<Cell>,
    limit: usize,
    body: &mut String,
) -> Result<usize> {
    let mut statement = connection.prepare_cached(sql)?;
    let (mut rows, mut found) = (statement.query(params_from_iter(values))?, 0);
    while let Some(row) = rows.next()? {
        if found == limit {
            break;
        }
        found += 1;
        if body.len() > 1 {
            body.push(',');
        }
        let document = row.get_ref(0)?.as_str()?;
        if let Some(chord) = row.get::<_, Option<f64>>(1)? {
            let km = 2.0 * EARTH_RADIUS_KM * (chord.sqrt() / 2.0).asin();
            body.push_str(document.strip_suffix('}').unwrap_or(document));
            write!(body, ",\"distanceKm\":{km:.1}}}")?;
        } else {
            body.push_str(document);
        }
    }
    Ok(found)
}

/// Adds the condition of a distance, and returns SQL of the squared chord.
fn within(query: &Parameters, values: &mut Vec<Cell>, conditions: &mut String) -> Result<String> {
    let number = |name| anyhow::Ok(parameter(query, name)?.parse::<f64>()?);
    let (lat, lon, km) = (number("latitude")?, number("longitude")?, number("distanceKm")?);
    let mut bind = |value: Cell| {
        values.push(value);
        format!("?{}", values.len())
    };
    let (phi, lambda, angle) = (lat.to_radians(), lon.to_radians(), km / EARTH_RADIUS_KM);
    #[expect(clippy::cast_possible_truncation, reason = "-900..=900")]
    let [south, north] = [-1.0, 1.0].map(|sign| ((lat + sign * angle.to_degrees()) * 10.0).floor() as i32);
    let bands: Vec<_> =
        (0..BANDS).map(|band| bind(Cell::Integer((south + band).min(north).into()))).collect();
    let half_width = (angle.sin() / phi.cos()).asin().to_degrees();
    let [west, east] = [lon - half_width, lon + half_width].map(|degrees| bind(Cell::Real(degrees)));
    let [x, y, z] =
        [phi.cos() * lambda.cos(), phi.cos() * lambda.sin(), phi.sin()].map(|of| bind(Cell::Real(of)));
    let max_chord = bind(Cell::Real((2.0 * (angle / 2.0).sin()).powi(2)));
    let chord = format!("((x - {x}) * (x - {x}) + (y - {y}) * (y - {y}) + (z - {z}) * (z - {z}))");
    let bands = bands.join(", ");
    write!(
        conditions,
        " AND band IN ({bands}) AND lon BETWEEN {west} AND {east} AND {chord} <= {max_chord}"
    )?;
    Ok(chord)
}
