//! Fills in what older versions did not store of loads.

use common::{Error, backfill};
use database::{AnyConnection, Database};

use super::store::{
    BACKFILL_SIZE, fill_creators, fill_similarity_keys, has_unknown_creators, has_unknown_similarity,
};

/// A column to fill in: whether there are such loads, and the function that fills in some and returns their number.
type Column = (fn(&mut AnyConnection) -> Result<bool, Error>, fn(&mut AnyConnection) -> Result<usize, Error>);

/// The creator first: loads with a similar reference are found by it.
const COLUMNS: [Column; 2] =
    [(has_unknown_creators, fill_creators), (has_unknown_similarity, fill_similarity_keys)];

/// Fills in loads for up to two seconds. [`run_backfill`] fills in the rest.
///
/// # Errors
/// If the database fails.
pub(crate) async fn backfill_at_start(db: &Database) -> Result<(), Error> {
    backfill::run_at_start(|| fill_batch(db)).await
}

/// Fills in loads as long as the service runs.
pub(crate) async fn run_backfill(db: &Database) {
    backfill::run("columns of older loads", || fill_batch(db)).await;
}

/// Fills in one batch of each column. Returns true if there may be more.
async fn fill_batch(db: &Database) -> Result<bool, Error> {
    let mut has_more = false;
    for (has_unknown, fill) in COLUMNS {
        has_more |= db.read(has_unknown).await? && db.write(fill).await? == BACKFILL_SIZE;
    }
    Ok(has_more)
}
