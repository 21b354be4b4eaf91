//! Puts the names of older files into lower case for searches.

use common::{Error, backfill};
use database::Database;

use super::store::{NAME_BATCH_SIZE, find_without_name_key, set_name_keys};
use crate::files::model::name_key;

/// Fills in names for up to two seconds. [`run_name_key_backfill`] fills in the rest.
///
/// # Errors
/// If the database fails.
pub(crate) async fn fill_name_keys_at_start(db: &Database) -> Result<(), Error> {
    backfill::run_at_start(|| fill_batch(db)).await
}

/// Fills in names as long as the service runs.
pub(crate) async fn run_name_key_backfill(db: &Database) {
    backfill::run("the names of older files for searches", || fill_batch(db)).await;
}

/// Fills in one batch. Returns true if there may be more.
async fn fill_batch(db: &Database) -> Result<bool, Error> {
    let files = db.read(find_without_name_key).await?;
    if files.is_empty() {
        return Ok(false);
    }
    let is_full = files.len() == NAME_BATCH_SIZE;
    let keys: Vec<_> = files.into_iter().map(|(id, name)| (id, name_key(&name))).collect();
    db.write(move |c| set_name_keys(c, &keys)).await?;
    Ok(is_full)
}
