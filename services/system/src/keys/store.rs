//! The keys: finding, making and replacing them.

use std::fmt;

use aws_lc_rs::hmac;
use chrono::TimeDelta;
use common::{Error, security_event};
use database::{AnyConnection, Database, Timestamp};
use diesel::prelude::*;

use crate::schema::link_keys::{self, dsl as k};

/// How long a link may be valid in seconds: 7 days.
pub(crate) const MAX_LINK_SECONDS: i64 = 7 * 24 * 3600;
/// Length of a key in bytes: that of the hash.
const SECRET_BYTES: usize = 32;
/// The most keys that are kept. Replacing the key more often in seven days drops the oldest ones, and their links with
/// them.
const MAX_KEYS: i64 = 100;

/// A key.
#[derive(Clone, Queryable, Selectable)]
#[diesel(table_name = link_keys)]
pub(crate) struct SigningKey {
    /// The number that links name.
    pub(crate) number: i64,
    /// 32 random bytes.
    pub(crate) secret: Vec<u8>,
    /// When the next key was made.
    pub(crate) replaced_at: Option<Timestamp>,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("number", &self.number).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Returns the key for signing and verifying links.
    pub(crate) fn hmac(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.secret)
    }

    /// Returns 32 bytes that are derived from the key for a purpose other than links.
    pub(crate) fn derive(&self, purpose: &str) -> [u8; SECRET_BYTES] {
        let tag = hmac::sign(&self.hmac(), purpose.as_bytes());
        let mut derived = [0; SECRET_BYTES];
        derived.copy_from_slice(tag.as_ref());
        derived
    }
}

/// Returns the key that signs. Makes one if there is none.
///
/// # Errors
/// 503 if the database is unavailable.
pub(crate) async fn signing_key(db: &Database) -> Result<SigningKey, Error> {
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

/// Makes a new key. Links and tokens of the one before stay valid until they expire.
///
/// # Errors
/// 503 if the database is unavailable.
pub(crate) async fn replace_key(db: &Database) -> Result<(), Error> {
    let secret = random()?;
    let number = db.write(move |c| replace(c, &secret)).await?;
    log(number);
    Ok(())
}

/// Writes to the security log that there is a new key.
fn log(number: i64) {
    security_event!("signing_key_made", number, "a key of links and service accounts was made");
}

async fn create(db: &Database) -> Result<SigningKey, Error> {
    let secret = random()?;
    let created = {
        let secret = secret.clone();
        db.write(move |c| create_first(c, &secret)).await
    };
    if let Ok(key) = &created
        && key.secret == secret
    {
        log(key.number);
    }
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

/// Returns the key with this number.
pub(crate) fn find_key(c: &mut AnyConnection, number: i64) -> Result<Option<SigningKey>, Error> {
    Ok(k::link_keys.find(number).select(SigningKey::as_select()).first(c).optional()?)
}

/// Returns the key that signs and those that were replaced since `since`, the newest first.
pub(crate) fn list_keys(c: &mut AnyConnection, since: Timestamp) -> Result<Vec<SigningKey>, Error> {
    let recent = k::link_keys.filter(k::replaced_at.is_null().or(k::replaced_at.ge(since)));
    Ok(recent.order(k::number.desc()).select(SigningKey::as_select()).load(c)?)
}

/// Returns the key that signs.
fn find_signing_key(c: &mut AnyConnection) -> Result<Option<SigningKey>, Error> {
    let newest = k::link_keys.order(k::number.desc()).select(SigningKey::as_select());
    Ok(newest.first(c).optional()?)
}

/// Stores a key with this secret unless there is one, and returns the key that signs. Of two replicas that start at the
/// same time, both return the same key.
fn create_first(c: &mut AnyConnection, secret: &[u8]) -> Result<SigningKey, Error> {
    if let Some(key) = find_signing_key(c)? {
        return Ok(key);
    }
    insert(c, 1, secret)
}

/// Makes a key with this secret the one that signs, and deletes keys whose links have all expired. Returns its
/// number.
fn replace(c: &mut AnyConnection, secret: &[u8]) -> Result<i64, Error> {
    let now = Timestamp::now();
    // All links of a key have expired this long after the key was replaced.
    let expired = now.plus(TimeDelta::seconds(-(MAX_LINK_SECONDS + 60)));
    diesel::delete(k::link_keys.filter(k::replaced_at.lt(expired))).execute(c)?;
    let last = find_signing_key(c)?;
    if let Some(last) = &last {
        // Two replicas that replace the same key conflict here, and one of them runs again.
        diesel::update(k::link_keys.find(last.number)).set(k::replaced_at.eq(now)).execute(c)?;
    }
    let number = last.map_or(1, |last| last.number + 1);
    diesel::delete(k::link_keys.filter(k::number.le(number - MAX_KEYS))).execute(c)?;
    insert(c, number, secret).map(|key| key.number)
}

fn insert(c: &mut AnyConnection, number: i64, secret: &[u8]) -> Result<SigningKey, Error> {
    let row = (k::number.eq(number), k::secret.eq(secret), k::created_at.eq(Timestamp::now()));
    diesel::insert_into(k::link_keys).values(row).execute(c)?;
    Ok(SigningKey { number, secret: secret.to_vec(), replaced_at: None })
}
