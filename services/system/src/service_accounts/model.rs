//! A service account, its secrets, and who may manage it.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use common::{Caller, Error, JsonResponse, Member, MemberOrAdmin, Policy, Role};
use database::{Id, Json, Timestamp};
use diesel::prelude::*;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use crate::schema::service_accounts;

/// How long a secret works after it was replaced.
const ROTATION_OVERLAP: TimeDelta = TimeDelta::hours(24);
/// The most replaced secrets that work. More rotations in a day drop the oldest ones.
const MAX_REPLACED_SECRETS: usize = 10;
/// The beginning of every secret, by which scanners for leaked secrets recognize it.
const SECRET_PREFIX: &str = "drover_sa_";
/// Length of the random part of a secret in bytes.
const SECRET_BYTES: usize = 32;

/// Requires a caller who may read and manage service accounts: with an organisation or the role `admin`, and no service
/// account.
pub(super) struct Manager;

impl Policy for Manager {
    const DENIED_MESSAGE: &'static str =
        "This needs a token that names an organisation, and not one of a service account.";
    fn allows(caller: &Caller) -> bool {
        !caller.is_service_account && MemberOrAdmin::allows(caller)
    }
}

/// Requires a caller who is no service account.
pub(super) struct Reader;

impl Policy for Reader {
    const DENIED_MESSAGE: &'static str = "Service accounts do not list service accounts.";
    fn allows(caller: &Caller) -> bool {
        !caller.is_service_account
    }
}

/// Requires a caller who may create service accounts: with an organisation, and no service account.
pub(super) struct Creator;

impl Policy for Creator {
    const DENIED_MESSAGE: &'static str = Manager::DENIED_MESSAGE;
    fn allows(caller: &Caller) -> bool {
        !caller.is_service_account && Member::allows(caller)
    }
}

/// A service account of an organisation.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServiceAccount {
    /// UUID.
    #[schema(value_type = String, format = Uuid)]
    pub(super) id: Id,
    /// A name for people, which is also the user's name in tokens.
    pub(super) name: String,
    /// The client id at the token endpoint.
    #[schema(value_type = String)]
    pub(super) client_id: Id,
    /// The roles that restrict the account.
    pub(super) roles: Vec<Role>,
    /// The organisation that the account acts for.
    pub(super) organisation_id: String,
    /// When the account stops getting tokens. Absent if it does not expire.
    #[serde(rename = "expiresAtUTC", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = DateTime, required = false)]
    pub(super) expires_at: Option<Timestamp>,
    /// When the account was created.
    #[serde(rename = "createdAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub(super) created_at: Timestamp,
    /// When the account got its last token, to the minute. Absent if it never got one.
    #[serde(rename = "lastUsedAtUTC", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = DateTime, required = false)]
    pub(super) last_used_at: Option<Timestamp>,
    /// The client secret. Shown once: when the account is created and when its secret is rotated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) client_secret: Option<String>,
}

impl ServiceAccount {
    /// Returns the response that shows the secret. A repeated request gets the account without it.
    ///
    /// # Errors
    /// If the account cannot be serialized.
    pub(super) fn response_with_secret(self, secret: &SecretString) -> Result<JsonResponse, Error> {
        let with_secret = Self { client_secret: Some(secret.expose_secret().to_owned()), ..self.clone() };
        JsonResponse::json(&with_secret)?.replayed(&self)
    }
}

/// A stored service account.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = service_accounts)]
pub(super) struct AccountRow {
    pub(super) id: Id,
    pub(super) organisation_id: String,
    pub(super) organisation_name: Option<String>,
    pub(super) name: String,
    pub(super) roles: String,
    pub(super) secrets: String,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) created_at: Timestamp,
    pub(super) last_used_at: Option<Timestamp>,
}

impl AccountRow {
    /// Returns the account without its secret.
    pub(super) fn account(&self) -> Result<ServiceAccount, Error> {
        Ok(ServiceAccount {
            id: self.id,
            name: self.name.clone(),
            client_id: self.id,
            roles: self.roles()?,
            organisation_id: self.organisation_id.clone(),
            expires_at: self.expires_at,
            created_at: self.created_at,
            last_used_at: self.last_used_at,
            client_secret: None,
        })
    }

    /// Returns the roles that restrict the account.
    pub(super) fn roles(&self) -> Result<Vec<Role>, Error> {
        Ok(Json(self.roles.clone()).parse()?)
    }

    /// Returns true if the caller may manage the account.
    pub(super) fn is_managed_by(&self, caller: &Caller) -> bool {
        caller.admin || caller.acts_for(&self.organisation_id)
    }

    /// Returns true if the account gets no more tokens.
    pub(super) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// Returns the secrets, the present one first.
    pub(super) fn secrets(&self) -> Result<Vec<StoredSecret>, Error> {
        Ok(Json(self.secrets.clone()).parse()?)
    }
}

/// A hashed secret. Secrets are random, so that a plain hash protects them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StoredSecret {
    /// SHA-256 in base64url.
    hash: String,
    /// Until when the secret works, in milliseconds since 1970. Absent for the present one.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<i64>,
    /// Whether no client has got a token with it yet. Absent afterwards.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_unused: bool,
}

impl StoredSecret {
    /// Returns what is stored of a new secret.
    pub(super) fn of(secret: &SecretString) -> Self {
        Self { hash: hash(secret.expose_secret()), until: None, is_unused: true }
    }

    /// Returns true if this is the secret, and works at that time. Compares in constant time.
    pub(super) fn matches(&self, secret: &str, now: Timestamp) -> bool {
        verify_slices_are_equal(self.hash.as_bytes(), hash(secret).as_bytes()).is_ok()
            && self.until.is_none_or(|until| until > now.millis())
    }

    /// Marks a secret as used. Returns true if it was not used before.
    pub(super) fn mark_as_used(stored: &mut [Self], secret: &SecretString, now: Timestamp) -> bool {
        let used = stored.iter_mut().find(|stored| stored.matches(secret.expose_secret(), now));
        used.is_some_and(|used| std::mem::take(&mut used.is_unused))
    }

    /// Returns the secrets after `new` has replaced the present one, which works for another day.
    pub(super) fn rotated(current: Vec<Self>, new: &SecretString, now: Timestamp) -> Vec<Self> {
        let until = now.plus(ROTATION_OVERLAP).millis();
        let replaced = current.into_iter().filter(|old| old.until.is_none_or(|until| until > now.millis()));
        let replaced = replaced.map(|old| Self { until: old.until.or(Some(until)), ..old });
        std::iter::once(Self::of(new)).chain(replaced.take(MAX_REPLACED_SECRETS)).collect()
    }
}

fn hash(secret: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(secret))
}

/// Makes a secret.
///
/// # Errors
/// 500 if the system has no random bytes.
pub(super) fn generate_secret() -> Result<SecretString, Error> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::Internal(anyhow::anyhow!("no random bytes: {error}")))?;
    Ok(format!("{SECRET_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes)).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_secrets_work_for_a_day() {
        let secret = |n: u8| SecretString::from(format!("secret {n}"));
        let now = Timestamp::now();
        let hours = |hours| now.plus(TimeDelta::hours(hours));
        let mut secrets = vec![StoredSecret::of(&secret(0))];
        secrets = StoredSecret::rotated(secrets, &secret(1), now);
        secrets = StoredSecret::rotated(secrets, &secret(2), hours(1));
        let works = |secrets: &[StoredSecret], n: u8, at| {
            secrets.iter().any(|stored| stored.matches(secret(n).expose_secret(), at))
        };
        for (n, last) in [(0, Some(23)), (1, Some(24)), (2, None)] {
            assert!(works(&secrets, n, hours(last.unwrap_or(10_000))), "{n}");
            assert!(last.is_none_or(|last| !works(&secrets, n, hours(last + 1))), "{n}");
        }
        assert!(!works(&secrets, 3, now));
        secrets = StoredSecret::rotated(secrets, &secret(3), hours(24));
        assert_eq!(secrets.len(), 3, "a secret that stopped working is deleted");
        for n in 4..100 {
            secrets = StoredSecret::rotated(secrets, &secret(n), hours(24));
        }
        assert_eq!(secrets.len(), MAX_REPLACED_SECRETS + 1);
    }
}
