//! Pages of loads by organiser, carrier and delivery dates.

use anyhow::Result;
use rusqlite::Connection;

use super::{Parameters, between, parameter};

/// The best index of each search.
pub const INDEXES: &str = "
    CREATE INDEX IF NOT EXISTS floor_pair ON loads (organiser_id, carrier_id, delivery_at, id);
    CREATE INDEX IF NOT EXISTS floor_delivery ON loads (organiser_id, delivery_at, id);
    CREATE INDEX IF NOT EXISTS floor_created ON loads (organiser_id, created_at, id, delivery_at);";

/// Returns the last 20 loads of an organiser and a carrier as a JSON array.
pub fn page(connection: &Connection, query: &Parameters) -> Result<String> {
    let sql = format!(
        "SELECT document FROM loads INDEXED BY floor_pair WHERE organiser_id = ?1 AND carrier_id = ?2 \
         AND delivery_at {} ORDER BY delivery_at DESC, id DESC LIMIT 20",
        between(3, 4)
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([
        parameter(query, "f:organiserId")?,
        parameter(query, "f:carrierId")?,
        parameter(query, "startDateISO")?,
        parameter(query, "endDateISO")?,
    ])?;
    let mut body = "[".to_owned();
    while let Some(row) = rows.next()? {
        if body.len() > 1 {
            body.push(',');
        }
        body.push_str(row.get_ref(0)?.as_str()?);
    }
    body.push(']');
    Ok(body)
}
