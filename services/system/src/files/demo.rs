//! The files that the examples of the OpenAPI document name, for the setting `server.demo_data`.

use std::time::Duration;

use common::Error;
use database::{Database, Id, Timestamp};

use super::blob_store::{BlobStore, StoredBlobs};
use super::model::{Bucket, File, FileType, Organisations, Upload};
use super::store::{self, blobs};
use crate::examples::{FILE, FILE_TO_ARCHIVE};

const FILES: [(&str, FileType, &str, &str); 2] = [
    (FILE, FileType::Weighbridge, "Ticket 48215.txt", "Ticket 48215: 29.1 t of feed barley, VX21 ABC\n"),
    (
        FILE_TO_ARCHIVE,
        FileType::Contract,
        "Contract 2025.txt",
        "Contract of 2025, replaced by that of 2026\n",
    ),
];

/// Creates the files that do not exist yet. `grace` is the grace period of the sweep.
///
/// # Errors
/// 503 if the blob store or the database is unavailable.
pub(crate) async fn create_demo_data(
    db: &Database,
    blob_store: &BlobStore,
    grace: Duration,
) -> Result<(), Error> {
    for (id, kind, name, text) in FILES {
        let id =
            Id::parse(id).ok_or_else(|| Error::Internal(anyhow::anyhow!("{id} is not the id of a file")))?;
        if db.read(move |c| store::exists(c, id)).await? {
            continue;
        }
        let mut staging = blob_store.stage();
        staging.push(text.as_bytes()).await?;
        let content = staging.finish().await?;
        let (hash, size) = (content.hash.clone(), i64::try_from(text.len()).unwrap_or(i64::MAX));
        let first = File {
            id,
            bucket: Bucket::Files,
            kind,
            organisation_id: Some("penybont-farm".into()),
            name: name.into(),
            hash: hash.clone(),
            content_type: "text/plain".into(),
            size,
            user_id: "carys".into(),
            user_name: "Carys".into(),
            organisations: Organisations::default(),
            created_at: Timestamp::now(),
            archived_at: None,
        };
        let in_use = db.read(move |c| blobs::find_usable_names(c, std::slice::from_ref(&hash))).await?;
        let stored = StoredBlobs::store(blob_store, vec![content], in_use, grace).await?;
        let upload = Upload { first, additional: Vec::new() };
        db.write(move |c| store::create(c, &upload, &stored, i64::MAX)).await?;
    }
    Ok(())
}
