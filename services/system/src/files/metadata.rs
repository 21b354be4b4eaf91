//! Removes positions, XMP and IPTC data from images that every caller may download (`docs/api/files.md`, "Privacy").

use std::fs::File as DiskFile;
use std::sync::Arc;
use std::time::Duration;

use common::{Caller, Error};
use database::{Database, Id};
use images::{Edit, MetadataFormat, find_metadata};

use super::content::{ContentName, ContentStore, Staged};
use super::contents::store::find_usable_names;
use super::form::UploadedPart;
use super::model::{File, Upload};
use super::store;
use super::stored_contents::StoredContents;
use super::stripped_files::{StrippedFile, StrippedFiles};

/// Removes the metadata of the parts of an upload whose files every caller may download. Content without metadata keeps
/// its bytes.
///
/// # Errors
/// 503 if the disk is unavailable.
pub(super) async fn strip_upload(
    store: &ContentStore,
    upload: &mut Upload,
    parts: &mut [UploadedPart],
) -> Result<(), Error> {
    for (file, part) in upload.files_mut().zip(parts) {
        if !file.is_public() {
            continue;
        }
        let content = part.content.file();
        if let Some(stripped) = stripped(store, &content, part.content.size, &file.content_type).await? {
            file.hash.clone_from(&stripped.hash);
            file.size = stripped.size.cast_signed();
            part.content = stripped;
        }
    }
    Ok(())
}

/// Stores contents without metadata for those of these files that the caller may share and that not every caller may
/// download yet. `grace` is the grace period of the sweep.
///
/// # Errors
/// 500 if a content is missing, 503 if the database, the content store or the disk is unavailable.
pub(super) async fn strip_private(
    db: &Database,
    content_store: &ContentStore,
    caller: &Caller,
    ids: &[Id],
    grace: Duration,
) -> Result<StrippedFiles, Error> {
    let (caller, ids) = (caller.clone(), ids.to_vec());
    let private = db.read(move |c| store::find_private(c, &caller, &ids)).await?;
    let (mut files, mut contents) = (Vec::new(), Vec::new());
    for (file, name) in private {
        if let Some(content) = strip_stored(content_store, &file, &name).await? {
            let (hash, size) = (content.hash.clone(), content.size.cast_signed());
            files.push(StrippedFile { id: file.id, from: file.hash, hash, size });
            contents.push(content);
        }
    }
    if files.is_empty() {
        return Ok(StrippedFiles::default());
    }
    let hashes: Vec<_> = files.iter().map(|file| file.hash.clone()).collect();
    let names = db.read(move |c| find_usable_names(c, &hashes)).await?;
    let contents = StoredContents::store_all(content_store, contents, names, grace).await?;
    Ok(StrippedFiles { contents: Some(contents), files })
}

/// Returns the stripped content of a file in the store. `None` if there is nothing to remove.
async fn strip_stored(
    store: &ContentStore,
    file: &File,
    name: &ContentName,
) -> Result<Option<Staged>, Error> {
    if MetadataFormat::of(&file.content_type).is_none() {
        return Ok(None);
    }
    let size = file.size.cast_unsigned();
    let content = Arc::new(store.open_content(name, size).await?);
    stripped(store, &content, size, &file.content_type).await
}

/// Returns a copy of an image without metadata. `None` if there is none, or if the content is no image.
async fn stripped(
    store: &ContentStore,
    content: &Arc<DiskFile>,
    size: u64,
    media_type: &str,
) -> Result<Option<Staged>, Error> {
    let Some(format) = MetadataFormat::of(media_type) else { return Ok(None) };
    let edits = find(content.clone(), format).await?;
    if edits.is_empty() {
        return Ok(None);
    }
    let mut staging = store.stage();
    staging.push_edited(content, size, edits).await?;
    staging.finish().await.map(Some)
}

async fn find(content: Arc<DiskFile>, format: MetadataFormat) -> Result<Vec<Edit>, Error> {
    let found = tokio::task::spawn_blocking(move || find_metadata(&*content, format)).await;
    let found = found.map_err(|error| Error::Internal(error.into()))?;
    found.map_err(|error| Error::Unavailable(error.into(), "The disk for uploads"))
}
