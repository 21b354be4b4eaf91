//! The full-text index of SQLite follows the loads: what was stored waits in a table, where searches look too, and is
//! indexed from there some thousands at a time. So nobody waits for it who stores many, and others write in between.

use std::time::Duration;

use common::Error;
use database::Database;

use super::search::store::{has_unindexed, index_some};

/// How long nobody looks.
const PAUSE: Duration = Duration::from_secs(1);

/// Indexes what waits for as long as the service runs.
pub(crate) async fn keep_index(db: &Database) {
    let mut well = true;
    // On PostgreSQL an index follows by itself.
    while db.is_sqlite() {
        tokio::time::sleep(PAUSE).await;
        let done = catch_up(db).await;
        if let (Err(error), true) = (&done, well) {
            tracing::warn!(error = format!("{error:?}"), "loads could not be put into the full-text index");
        }
        well = done.is_ok();
    }
}

async fn catch_up(db: &Database) -> Result<(), Error> {
    while db.read(has_unindexed).await? {
        db.write(index_some).await?;
    }
    Ok(())
}
