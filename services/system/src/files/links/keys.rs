//! Making the keys of links.

use common::Error;
use database::Database;

use super::model::LinkKey;
use super::store::{create_first, find_signing_key, replace};

/// Length of a key in bytes: that of the hash.
const SECRET_BYTES: usize = 32;

/// Returns the key that signs links. Makes one if there is none.
///
/// # Errors
/// 503 if the database is unavailable.
pub(in crate::files) async fn signing_key(db: &Database) -> Result<LinkKey, Error> {
    match db.read(find_signing_key).await? {
        Some(key) => Ok(key),
        None => create(db).await,
    }
}

/// Makes a key at the first start of the service.
///
/// # Errors
/// 503 if the database is unavailable.
pub(crate) async fn create_first_key(db: &Database) -> Result<(), Error> {
    signing_key(db).await.map(drop)
}

/// Makes a new key. Links of the one before stay valid until they expire.
///
/// # Errors
/// 503 if the database is unavailable.
pub(crate) async fn replace_key(db: &Database) -> Result<(), Error> {
    let secret = random()?;
    db.write(move |c| replace(c, &secret)).await
}

async fn create(db: &Database) -> Result<LinkKey, Error> {
    let secret = random()?;
    let created = {
        let secret = secret.clone();
        db.write(move |c| create_first(c, &secret)).await
    };
    match created {
        // Another replica has made the first key at the same time.
        Err(error) => db.read(find_signing_key).await?.ok_or(error),
        created => created,
    }
}

fn random() -> Result<Vec<u8>, Error> {
    let mut secret = vec![0; SECRET_BYTES];
    getrandom::fill(&mut secret)
        .map_err(|error| Error::Internal(anyhow::anyhow!("no random bytes: {error}")))?;
    Ok(secret)
}
