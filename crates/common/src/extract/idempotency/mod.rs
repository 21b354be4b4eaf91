//! `Idempotency-Key`: a repeated POST is answered as the first was, and does nothing.
//!
//! The key is a row that is inserted in the transaction of the effect itself. So there is no moment at which one is
//! stored without the other, and two replicas that run the same request at once cannot both commit: the unique key
//! makes the second wait for the first, then fail and replay. Within a process they queue before that.

mod store;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::future::{Ready, ready};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::http::Method;
use actix_web::web::Data;
use actix_web::{FromRequest, HttpRequest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use database::{AnyConnection, Database};
use sha2::{Digest, Sha256};

pub use store::claim;
pub(crate) use store::prune;

use crate::auth::Caller;
use crate::response::validation::{Code, ValidationErrors};
use crate::telemetry::metrics::replays;
use crate::{Error, JsonResponse};

const HEADER: &str = "idempotency-key";
/// How long a repeat waits for the first request to finish.
const REPEAT_TIMEOUT: Duration = Duration::from_secs(5);

/// What two requests share if they are the same: method, path, query and body.
#[derive(Clone, Debug, Default)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Of a request with this body; nothing is computed for a request without a key.
    pub fn of(request: &HttpRequest, body: &[u8]) -> Self {
        Self::start(request).map_or_else(Self::default, |hash| Self::finish(hash.chain_update(body)))
    }

    /// The hash of method, path and query, to be fed with what the body is; nothing without a key.
    pub fn start(request: &HttpRequest) -> Option<Sha256> {
        request.headers().contains_key(HEADER).then(|| {
            let head = format!("{} {}\n", request.method(), request.uri());
            Sha256::new_with_prefix(head)
        })
    }

    /// Closes a hash made by [`Fingerprint::start`].
    pub fn finish(hash: Sha256) -> Self {
        Self(URL_SAFE_NO_PAD.encode(hash.finalize()))
    }
}

/// Runs the effect of a POST once for each `Idempotency-Key` of a caller and operation; every time without a key.
pub struct Idempotency(Result<Option<(Scope, Data<KeyedLocks>)>, ValidationErrors>);

/// What a key is unique within.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scope {
    caller: String,
    operation: String,
    key: String,
}

impl Scope {
    /// Somebody who acts for two organisations is two callers.
    fn new(caller: &Caller, operation: &str, key: &str) -> Self {
        let caller = serde_json::json!([caller.user_id, caller.organisation_id()]).to_string();
        Self { caller, operation: operation.to_owned(), key: key.to_owned() }
    }
}

impl FromRequest for Idempotency {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let key = match key(request) {
            Ok(Some(key)) => key,
            Ok(None) => return ready(Ok(Self(Ok(None)))),
            // What reads the body tells of it beside what else is wrong; if nothing did, it is refused when it runs.
            Err(errors) => return ready(Ok(Self(Err(errors)))),
        };
        let operation = format!("{} {}", request.method(), request.match_pattern().unwrap_or_default());
        let Some(turns) = request.app_data::<Data<KeyedLocks>>().cloned() else {
            return ready(Err(Error::Internal(anyhow::anyhow!("the app has no turns"))));
        };
        let caller = Caller::from_request(request, payload).into_inner();
        ready(caller.map(|caller| Self(Ok(Some((Scope::new(&caller, &operation, key), turns))))))
    }
}

/// The request's key, if it has one, or what is wrong with it.
fn key(request: &HttpRequest) -> Result<Option<&str>, ValidationErrors> {
    let Some(value) = request.headers().get(HEADER) else { return Ok(None) };
    let key = value.to_str().ok().filter(|key| (1..=255).contains(&key.len()));
    key.map(Some).ok_or_else(|| {
        let mut errors = ValidationErrors::default();
        errors.push("Idempotency-Key", Code::Length, "must have 1 to 255 ASCII characters");
        errors
    })
}

/// What is wrong with the key of a request that may have one: the first entries of all that is wrong with it.
pub(crate) fn errors(request: &HttpRequest) -> ValidationErrors {
    if request.method() == Method::POST {
        key(request).err().unwrap_or_default()
    } else {
        ValidationErrors::default()
    }
}

impl Idempotency {
    /// As [`Idempotency::run`], for what has no effect in the database: which is needed to keep a key only.
    ///
    /// # Errors
    /// What `act` returns, and as [`Idempotency::run`].
    pub async fn run_without_db(
        self,
        db: &Database,
        fingerprint: Fingerprint,
        act: impl AsyncFnOnce() -> Result<JsonResponse, Error>,
    ) -> Result<JsonResponse, Error> {
        if matches!(self.0, Ok(None)) {
            return act().await;
        }
        self.run(db, fingerprint, async || {
            let answer = act().await?;
            Ok(move |_: &mut AnyConnection| Ok(answer.clone()))
        })
        .await
    }

    /// Prepares (asks other services, streams content) and then runs what `prepare` returns in one transaction;
    /// or, when this was done before, does neither and gives the first answer.
    ///
    /// # Errors
    /// What either returns, which leaves the key free; 409 for a key that is in use otherwise.
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

    /// As [`Idempotency::run`], for an effect that tells something besides its answer, to be counted or logged once it is
    /// committed. An answer that is a replay comes with nothing.
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
        let told = |(answer, told)| (answer, Some(told));
        let Some((scope, turns)) = self.0.map_err(Error::Validation)? else {
            return db.write(prepare().await?).await.map(told);
        };
        let _turn = turns.wait(&scope).await?;
        if let Some(answer) = replay(db, &scope, &fingerprint).await? {
            return Ok((answer, None));
        }
        let mut effect = prepare().await?;
        let (row, stored) = (scope.clone(), fingerprint.clone());
        let written = db.write(move |c| store::record(c, &row, &stored.0, &mut effect)).await;
        match written {
            // Another replica was faster.
            Err(Error::IdempotencyInProgress) => {
                let answer = replay(db, &scope, &fingerprint).await?;
                answer.map(|answer| (answer, None)).ok_or(Error::IdempotencyInProgress)
            }
            other => other.map(told),
        }
    }
}

async fn replay(
    db: &Database,
    scope: &Scope,
    fingerprint: &Fingerprint,
) -> Result<Option<JsonResponse>, Error> {
    let row = scope.clone();
    match db.read(move |c| store::find(c, &row)).await? {
        None => Ok(None),
        Some((stored, _)) if stored != fingerprint.0 => Err(Error::IdempotencyKeyReused),
        Some((_, answer)) => {
            replays().increment(1);
            Ok(Some(answer.header("Idempotency-Replayed", "true")))
        }
    }
}

type Lock = Arc<tokio::sync::Mutex<()>>;

/// Who runs and who waits in this process, by scope.
#[derive(Default)]
pub(crate) struct KeyedLocks(Mutex<HashMap<Scope, Lock>>);

/// The right to run, one at a time for each scope.
struct KeyLock<'a> {
    turns: &'a KeyedLocks,
    scope: &'a Scope,
    guard: Option<tokio::sync::OwnedMutexGuard<()>>,
}

impl KeyedLocks {
    async fn wait<'a>(&'a self, scope: &'a Scope) -> Result<KeyLock<'a>, Error> {
        let queue = self.map().entry(scope.clone()).or_default().clone();
        let mut turn = KeyLock { turns: self, scope, guard: None };
        let guard = tokio::time::timeout(REPEAT_TIMEOUT, queue.lock_owned()).await;
        turn.guard = Some(guard.map_err(|_| Error::IdempotencyInProgress)?);
        Ok(turn)
    }

    fn map(&self) -> std::sync::MutexGuard<'_, HashMap<Scope, Lock>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for KeyLock<'_> {
    fn drop(&mut self) {
        let mut running = self.turns.map();
        self.guard = None;
        // The map's own reference is the last one: nobody else waits.
        if running.get(self.scope).is_some_and(|queue| Arc::strong_count(queue) == 1) {
            running.remove(self.scope);
        }
    }
}
