//! Removing contents that files no longer have, or never got.
//!
//! A content is removed in two transactions. The first one retires it, together with the change of the last file that
//! has it. From then on uploads of the same content store it again, and an upload that has already looked it up fails.
//! The second one, which sees all files of earlier transactions, deletes its row. Then it is removed from the store.

use common::Error;
use database::Database;

use crate::files::blob_store::{ContentName, ContentStore};
use crate::files::images::ImageCopy;
use crate::files::store::blobs as store;

/// Removes all retired contents and their smaller copies.
///
/// # Errors
/// 503 if the database or the content store is unavailable. The sweep removes what is left.
pub(in crate::files) async fn remove_retired(db: &Database, contents: &ContentStore) -> Result<(), Error> {
    for name in db.write(store::delete_retired).await? {
        let mut names = ImageCopy::all_names(&name);
        names.push(name);
        contents.remove(names).await?;
    }
    Ok(())
}

/// Removes those of these contents that no row names, because no file got them. They must be new, and the transaction
/// that could have created their rows must have ended.
///
/// # Errors
/// 503 if the database or the content store is unavailable. The sweep removes what is left.
pub(in crate::files) async fn remove_unused(
    db: &Database,
    contents: &ContentStore,
    mut names: Vec<ContentName>,
) -> Result<(), Error> {
    if names.is_empty() {
        return Ok(());
    }
    let hashes: Vec<_> = names.iter().map(|name| name.hash().to_owned()).collect();
    let in_use = db.read(move |c| store::find_names(c, &hashes)).await?;
    names.retain(|name| in_use.get(name.hash()) != Some(name));
    contents.remove(names).await
}
