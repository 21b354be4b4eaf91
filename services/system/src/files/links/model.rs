//! The keys of links.

use std::fmt;

use aws_lc_rs::hmac;
use database::Timestamp;
use diesel::prelude::*;

use crate::schema::link_keys;

/// How long a link may be valid in seconds: 7 days.
pub(super) const MAX_LINK_SECONDS: i64 = 7 * 24 * 3600;

/// A key of links.
#[derive(Clone, Queryable, Selectable)]
#[diesel(table_name = link_keys)]
pub(in crate::files) struct LinkKey {
    /// The number that links name.
    pub(in crate::files) number: i64,
    /// 32 random bytes.
    pub(super) secret: Vec<u8>,
    /// When the next key was made.
    pub(super) replaced_at: Option<Timestamp>,
}

impl fmt::Debug for LinkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinkKey").field("number", &self.number).finish_non_exhaustive()
    }
}

impl LinkKey {
    /// Returns the key for signing and verifying.
    pub(super) fn hmac(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.secret)
    }
}
