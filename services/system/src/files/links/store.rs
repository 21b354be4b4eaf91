//! The queries on the keys of links.

use chrono::TimeDelta;
use common::Error;
use database::{AnyConnection, Timestamp};
use diesel::prelude::*;

use super::model::{LinkKey, MAX_LINK_SECONDS};
use crate::schema::link_keys::dsl as k;

/// The most keys that are kept. Replacing the key more often in seven days drops the oldest ones, and their links with
/// them.
const MAX_KEYS: i64 = 100;

/// Returns the key with this number.
pub(in crate::files) fn find_key(c: &mut AnyConnection, number: i64) -> Result<Option<LinkKey>, Error> {
    Ok(k::link_keys.find(number).select(LinkKey::as_select()).first(c).optional()?)
}

/// Returns the key that signs.
pub(super) fn find_signing_key(c: &mut AnyConnection) -> Result<Option<LinkKey>, Error> {
    let newest = k::link_keys.order(k::number.desc()).select(LinkKey::as_select());
    Ok(newest.first(c).optional()?)
}

/// Stores a key with this secret unless there is one, and returns the key that signs. Of two replicas that start at the
/// same time, both return the same key.
pub(super) fn create_first(c: &mut AnyConnection, secret: &[u8]) -> Result<LinkKey, Error> {
    if let Some(key) = find_signing_key(c)? {
        return Ok(key);
    }
    insert(c, 1, secret)
}

/// Makes a key with this secret the one that signs, and deletes keys whose links have all expired.
pub(super) fn replace(c: &mut AnyConnection, secret: &[u8]) -> Result<(), Error> {
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
    insert(c, number, secret).map(drop)
}

fn insert(c: &mut AnyConnection, number: i64, secret: &[u8]) -> Result<LinkKey, Error> {
    let row = (k::number.eq(number), k::secret.eq(secret), k::created_at.eq(Timestamp::now()));
    diesel::insert_into(k::link_keys).values(row).execute(c)?;
    Ok(LinkKey { number, secret: secret.to_vec(), replaced_at: None })
}
