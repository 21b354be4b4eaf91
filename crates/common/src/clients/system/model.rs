//! Files as the system service describes them, and shares of files that are due.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use database::{Id, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::auth::Caller;
use crate::wire::FileReference;

/// The part of the file information of the system service that is used here.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileInfo {
    pub(super) id: Id,
    name: String,
    url: String,
    #[serde(default)]
    pub(super) user_id: String,
    #[serde(default)]
    user_name: String,
    #[serde(default)]
    pub(super) organisation_id: Option<String>,
    #[serde(rename = "createdAtUTC")]
    created_at: String,
}

impl FileInfo {
    /// Returns the reference that a load or a listing stores.
    pub(super) fn reference(&self) -> FileReference {
        FileReference {
            id: self.id.to_string(),
            name: self.name.clone(),
            url: self.url.clone(),
            user_name: self.user_name.clone(),
            created_at: self.created_at.clone(),
            user_id: self.user_id.clone(),
        }
    }
}

/// What happens to files, as it is stored. Earlier releases know only the first form, and leave the other one to this
/// release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Sharing {
    /// They are shared with these organisations; `*` is everybody.
    With(Vec<String>),
    /// They are no longer shared with these organisations.
    #[serde(rename_all = "camelCase")]
    Without { unshare_with: Vec<String> },
}

impl Sharing {
    /// Returns the member of a call, and its value.
    pub(super) fn member(&self) -> (&'static str, &[String]) {
        match self {
            Self::With(organisations) => ("shareWith", organisations),
            Self::Without { unshare_with } => ("unshareWith", unshare_with),
        }
    }

    /// Returns what is left to do of this after `later` was recorded, or `None` if that is nothing.
    pub(super) fn before(&self, later: &Self) -> Option<Self> {
        let (member, organisations) = self.member();
        let (later_member, replaced) = later.member();
        if member == later_member {
            return Some(self.clone());
        }
        let left: Vec<_> = organisations.iter().filter(|id| !replaced.contains(id)).cloned().collect();
        (!left.is_empty()).then_some(match self {
            Self::With(_) => Self::With(left),
            Self::Without { .. } => Self::Without { unshare_with: left },
        })
    }
}

/// Files that are to be shared or unshared because a load or a listing was stored.
#[derive(Clone)]
pub struct DueShare {
    pub(super) id: Id,
    /// The load or listing.
    pub(super) subject: Id,
    pub(super) tenant: String,
    /// The user whose token it is. `None` for a share that was read from the database.
    pub(super) user_id: Option<String>,
    pub(super) files: Vec<Id>,
    pub(super) sharing: Sharing,
    pub(super) token: SecretString,
    pub(super) expires_at: Timestamp,
    /// The number of attempts, including the current one.
    pub(super) attempts: i32,
    pub(super) request_id: String,
    pub(super) traceparent: Option<String>,
}

impl DueShare {
    /// Creates a share for its first attempt. Returns `None` without files or organisations.
    pub(super) fn new(caller: &Caller, subject: Id, files: Vec<Id>, organisations: &[&str]) -> Option<Self> {
        let organisations: Vec<_> = organisations.iter().map(ToString::to_string).collect();
        let due = !files.is_empty() && !organisations.is_empty();
        due.then(|| Self::of(caller, subject, files, Sharing::With(organisations)))
    }

    /// Creates the end of the sharing of files with an organisation. Returns `None` without files.
    pub fn end(caller: &Caller, subject: Id, files: Vec<Id>, organisation: &str) -> Option<Self> {
        let sharing = Sharing::Without { unshare_with: vec![organisation.to_owned()] };
        (!files.is_empty()).then(|| Self::of(caller, subject, files, sharing))
    }

    /// Returns true if the caller's own organisation gives up its access to files, which may be those of others.
    pub(super) fn leaves(&self) -> bool {
        let own = self.tenant.strip_prefix("organisation ");
        matches!(&self.sharing, Sharing::Without { unshare_with } if own.is_some_and(|own| unshare_with == &[own]))
    }

    fn of(caller: &Caller, subject: Id, files: Vec<Id>, sharing: Sharing) -> Self {
        Self {
            id: Id::new(),
            subject,
            tenant: caller.tenant(),
            user_id: Some(caller.user_id.clone()),
            files,
            sharing,
            token: caller.token.clone(),
            expires_at: expiry(caller.token.expose_secret()),
            attempts: 1,
            request_id: caller.request.id.clone(),
            traceparent: Some(caller.request.traceparent()),
        }
    }

    /// Returns true for a retry after the token has expired. Before the first attempt the token was valid: the request
    /// has just been authenticated.
    pub(super) fn is_expired(&self) -> bool {
        self.attempts > 1 && self.expires_at <= Timestamp::now()
    }

    /// Returns the token to store.
    pub(super) fn token(&self) -> &str {
        self.token.expose_secret()
    }
}

/// Returns the time in claim `exp` of a verified token, or an hour from now if it cannot be read.
fn expiry(token: &str) -> Timestamp {
    let claims = token.split('.').nth(1).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
    let claims: Option<serde_json::Value> = claims.and_then(|json| serde_json::from_slice(&json).ok());
    let exp = claims.and_then(|claims| claims["exp"].as_i64()).and_then(|exp| exp.checked_mul(1000));
    exp.and_then(Timestamp::from_millis).unwrap_or_else(|| Timestamp::now().plus(TimeDelta::hours(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_expiry_of_a_token() {
        let token = |claims: &str| format!("e30.{}.x", URL_SAFE_NO_PAD.encode(claims));
        assert_eq!(expiry(&token(r#"{"exp": 1700000000}"#)).to_string(), "2023-11-14T22:13:20.000Z");
        for unreadable in ["", "x", &token("{}"), &token(r#"{"exp": 9223372036854775807}"#)] {
            let left = expiry(unreadable).millis() - Timestamp::now().millis();
            assert!((3_500_000..=3_600_000).contains(&left), "{unreadable}: {left}");
        }
    }
}
