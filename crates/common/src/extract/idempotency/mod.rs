//! `Idempotency-Key`: a repeated POST returns the response of the first one and does nothing again
//! (docs/api/idempotency.md).
//!
//! The key is inserted in the transaction of the effect, so that neither is ever stored without the other. If two
//! replicas run the same request at once, the primary key makes the second insertion wait for the first transaction and
//! then fail, and the second replica replays the response. Within a process, requests with the same key wait for each
//! other beforehand.

mod store;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::http::Method;
use actix_web::web::Data;
use actix_web::{FromRequest, HttpRequest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use database::{AnyConnection, Database};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::sync::OwnedMutexGuard;

use crate::auth::Caller;
use crate::openapi::Route;
use crate::response::validation::{Code, ValidationErrors};
use crate::telemetry::metrics::idempotency_replays;
use crate::{Error, JsonResponse, PeriodLimits};

pub use store::claim;
pub(crate) use store::prune;

/// Runs the effect of a POST once for each key of a caller and operation. Without a key, runs it every time.
#[derive(Clone)]
pub struct Idempotency(Key);

/// What a request does in the database.
pub enum Effect<W> {
    /// A closure that runs in a transaction.
    Transaction(W),
    /// A closure that executes exactly one statement. Without a key it needs no transaction around it, and is then one
    /// round trip on PostgreSQL.
    SingleStatement(W),
}

#[derive(Clone)]
enum Key {
    Absent,
    Invalid(ValidationErrors),
    Valid(Scope, Data<KeyedLocks>),
}

impl FromRequest for Idempotency {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(extract(request).map(Self))
    }
}

fn extract(request: &HttpRequest) -> Result<Key, Error> {
    let key = match parse(request) {
        Ok(Some(key)) => key,
        Ok(None) => return Ok(Key::Absent),
        // The extractor of the body reports this with the errors of the body. Without a body, `run` does.
        Err(errors) => return Ok(Key::Invalid(errors)),
    };
    let locks = request.app_data::<Data<KeyedLocks>>().cloned();
    let locks = locks.ok_or_else(|| Error::Internal(anyhow::anyhow!("the app has no KeyedLocks")))?;
    let caller = Caller::of(request)?;
    let operation = format!("{} {}", request.method(), Route::of(request).pattern().unwrap_or_default());
    Ok(Key::Valid(Scope::new(&caller, &operation, key), locks))
}

impl Idempotency {
    /// Runs `prepare`, which may call other services or read a stream, and then the effect that it returns, in one
    /// transaction. For a repeated request, runs neither and returns the first response.
    ///
    /// # Errors
    /// Returns the errors of both, after which the key can be used again, and 409 if the key was used for another
    /// request or the first request is still running.
    pub async fn run<W>(
        self,
        db: &Database,
        fingerprint: Fingerprint,
        prepare: impl AsyncFnOnce() -> Result<W, Error>,
    ) -> Result<JsonResponse, Error>
    where
        W: FnMut(&mut AnyConnection) -> Result<JsonResponse, Error> + Send + 'static,
    {
        let run = self.run_with_output(db, fingerprint, async || {
            let mut effect = prepare().await?;
            Ok(move |c: &mut AnyConnection| Ok((effect(c)?, ())))
        });
        Ok(run.await?.0)
    }

    /// Runs an action outside the database, then stores its response under the key. If the process ends in between, a
    /// repeated request runs the action again.
    ///
    /// # Errors
    /// As [`Idempotency::run`].
    pub async fn run_external(
        self,
        db: &Database,
        fingerprint: Fingerprint,
        action: impl AsyncFnOnce() -> Result<JsonResponse, Error>,
    ) -> Result<JsonResponse, Error> {
        if matches!(self.0, Key::Absent) {
            return action().await;
        }
        self.run(db, fingerprint, async || {
            let response = action().await?;
            Ok(move |_: &mut AnyConnection| Ok(response.clone()))
        })
        .await
    }

    /// Runs an effect that returns an output besides its response, as [`Idempotency::run`] does. The output, for
    /// example for the log or for metrics, is returned after the commit. It is `None` for a repeated request.
    ///
    /// # Errors
    /// As [`Idempotency::run`].
    pub async fn run_with_output<W, T>(
        self,
        db: &Database,
        fingerprint: Fingerprint,
        prepare: impl AsyncFnOnce() -> Result<W, Error>,
    ) -> Result<(JsonResponse, Option<T>), Error>
    where
        T: Send + 'static,
        W: FnMut(&mut AnyConnection) -> Result<(JsonResponse, T), Error> + Send + 'static,
    {
        self.run_effect(db, fingerprint, async || Ok(Effect::Transaction(prepare().await?))).await
    }

    /// As [`Idempotency::run_with_output`], for an effect that may be one statement.
    ///
    /// # Errors
    /// As [`Idempotency::run`].
    pub async fn run_effect<W, T>(
        self,
        db: &Database,
        fingerprint: Fingerprint,
        prepare: impl AsyncFnOnce() -> Result<Effect<W>, Error>,
    ) -> Result<(JsonResponse, Option<T>), Error>
    where
        T: Send + 'static,
        W: FnMut(&mut AnyConnection) -> Result<(JsonResponse, T), Error> + Send + 'static,
    {
        let (scope, locks) = match self.0 {
            Key::Valid(scope, locks) => (scope, locks),
            Key::Invalid(errors) => return Err(errors.into()),
            Key::Absent => {
                let (response, output) = match prepare().await? {
                    Effect::Transaction(effect) => db.write(effect).await?,
                    Effect::SingleStatement(effect) => db.write_statement(effect).await?,
                };
                return Ok((response, Some(output)));
            }
        };
        let _lock = locks.acquire(&scope).await?;
        if let Some(response) = replay(db, &scope, &fingerprint).await? {
            return Ok((response, None));
        }
        locks.check_stored(&scope)?;
        let (Effect::Transaction(effect) | Effect::SingleStatement(effect)) = prepare().await?;
        match commit(db, &scope, &fingerprint, effect).await {
            Ok((response, output)) => {
                locks.count_stored(&scope, response.body.len());
                Ok((response, Some(output)))
            }
            // Another replica inserted the key first.
            Err(Error::IdempotencyInProgress) => match replay(db, &scope, &fingerprint).await? {
                Some(response) => Ok((response, None)),
                None => Err(Error::IdempotencyInProgress),
            },
            Err(error) => Err(error),
        }
    }
}

/// Runs the effect and stores the key with the response, in one transaction.
async fn commit<W, T>(
    db: &Database,
    scope: &Scope,
    fingerprint: &Fingerprint,
    mut effect: W,
) -> Result<(JsonResponse, T), Error>
where
    T: Send + 'static,
    W: FnMut(&mut AnyConnection) -> Result<(JsonResponse, T), Error> + Send + 'static,
{
    let (scope, fingerprint) = (scope.clone(), fingerprint.clone());
    db.write(move |c| store::record(c, &scope, &fingerprint, &mut effect)).await
}

/// Returns the response of the first request with this key, if there was one.
async fn replay(
    db: &Database,
    scope: &Scope,
    fingerprint: &Fingerprint,
) -> Result<Option<JsonResponse>, Error> {
    let scope = scope.clone();
    let Some(first) = db.read(move |c| store::find(c, &scope)).await? else { return Ok(None) };
    if first.fingerprint != fingerprint.0 {
        return Err(Error::IdempotencyKeyReused);
    }
    idempotency_replays().increment(1);
    Ok(Some(first.response.header("Idempotency-Replayed", "true")))
}

/// The name of the header, in lower case.
const HEADER: &str = "idempotency-key";
/// Maximum length of a key in bytes.
const MAX_LENGTH: usize = 255;

/// The scope within which a key is unique: the caller (user and organisation) and the operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scope {
    caller: String,
    operation: String,
    key: String,
}

impl Scope {
    /// Creates the scope of a key. A user who acts for two organisations is two callers.
    fn new(caller: &Caller, operation: &str, key: &str) -> Self {
        let caller = serde_json::json!([caller.user_id, caller.organisation_id_or_empty()]).to_string();
        Self { caller, operation: operation.to_owned(), key: key.to_owned() }
    }
}

/// Returns the key of a request, if it has one.
///
/// # Errors
/// Returns one error if the key is not 1 to 255 ASCII characters, or if there are several.
fn parse(request: &HttpRequest) -> Result<Option<&str>, ValidationErrors> {
    let mut values = request.headers().get_all(HEADER);
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(ValidationErrors::one("Idempotency-Key", Code::Format, "must be sent once"));
    }
    match value.to_str() {
        Ok(key) if (1..=MAX_LENGTH).contains(&key.len()) => Ok(Some(key)),
        _ => {
            Err(ValidationErrors::one("Idempotency-Key", Code::Length, "must have 1 to 255 ASCII characters"))
        }
    }
}

/// Returns the errors of the key of a POST, to be reported before those of the body.
pub(crate) fn key_errors(request: &HttpRequest) -> ValidationErrors {
    if request.method() == Method::POST {
        parse(request).err().unwrap_or_default()
    } else {
        ValidationErrors::default()
    }
}

/// A hash of method, path, query and body, by which a repeated request is recognized. It is empty for a request without
/// an `Idempotency-Key`.
#[derive(Clone, Debug, Default)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Computes the fingerprint of a request with this body.
    pub fn of(request: &HttpRequest, body: &[u8]) -> Self {
        Self::start(request).map_or_else(Self::default, |hash| Self::finish(hash.chain_update(body)))
    }

    /// Hashes method, path and query. The caller continues with the body. Returns `None` for a request without a key.
    pub fn start(request: &HttpRequest) -> Option<Sha256> {
        request.headers().contains_key(HEADER).then(|| {
            let head = format!("{} {}\n", request.method(), request.uri());
            Sha256::new_with_prefix(head)
        })
    }

    /// Completes a hash that [`Fingerprint::start`] began.
    pub fn finish(hash: Sha256) -> Self {
        Self(URL_SAFE_NO_PAD.encode(hash.finalize()))
    }
}

/// Timeout of a repeated request that waits for the first one.
const REPEAT_TIMEOUT: Duration = Duration::from_secs(5);

/// The bytes of responses that the keys of a user store in a [`STORED_PERIOD`], in one process, before further keys
/// are refused: a request of some bytes can have a response of 100 KiB, which is kept for 24 hours.
const MAX_STORED_BYTES: u64 = 64 << 20;
/// The period of [`MAX_STORED_BYTES`].
const STORED_PERIOD: Duration = Duration::from_secs(3600);

/// The locks of keys in use, and the bytes of stored responses (app data).
pub(crate) struct KeyedLocks {
    locks: Mutex<HashMap<Scope, Arc<tokio::sync::Mutex<()>>>>,
    stored: PeriodLimits,
}

impl Default for KeyedLocks {
    fn default() -> Self {
        Self { locks: Mutex::default(), stored: PeriodLimits::new(MAX_STORED_BYTES, STORED_PERIOD) }
    }
}

/// The lock of one key, held until it is dropped.
struct KeyLock<'a> {
    locks: &'a KeyedLocks,
    scope: &'a Scope,
    guard: Option<OwnedMutexGuard<()>>,
}

impl KeyedLocks {
    /// Acquires the lock of a key.
    ///
    /// # Errors
    /// 409 `idempotency_in_progress` if another request holds the lock for 5 seconds.
    async fn acquire<'a>(&'a self, scope: &'a Scope) -> Result<KeyLock<'a>, Error> {
        let mutex = self.locks.lock().entry(scope.clone()).or_default().clone();
        // Created before waiting, so that a request that gives up removes the entry as well.
        let mut lock = KeyLock { locks: self, scope, guard: None };
        let guard = tokio::time::timeout(REPEAT_TIMEOUT, mutex.lock_owned()).await;
        lock.guard = Some(guard.map_err(|_| Error::IdempotencyInProgress)?);
        Ok(lock)
    }

    /// Checks that the keys of a user may store more responses.
    ///
    /// # Errors
    /// 429 if they stored [`MAX_STORED_BYTES`] in the last hour.
    fn check_stored(&self, scope: &Scope) -> Result<(), Error> {
        match self.stored.used_up_for(&scope.caller) {
            Some(wait) => Err(Error::RateLimited(wait.as_secs() + 1)),
            None => Ok(()),
        }
    }

    /// Counts a response that a key of the user stored.
    fn count_stored(&self, scope: &Scope, bytes: usize) {
        self.stored.add(&scope.caller, bytes as u64);
    }
}

impl Drop for KeyLock<'_> {
    fn drop(&mut self) {
        let mut locks = self.locks.locks.lock();
        self.guard = None;
        // Only the map refers to the lock: no request holds it or waits for it.
        if locks.get(self.scope).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            locks.remove(self.scope);
        }
    }
}
