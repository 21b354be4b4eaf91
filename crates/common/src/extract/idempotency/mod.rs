//! `Idempotency-Key`: a repeated POST returns the response of the first one and does nothing again
//! (docs/api/idempotency.md).
//!
//! The key is inserted in the transaction of the effect, so that neither is ever stored without the other. If two
//! replicas run the same request at once, the primary key makes the second insertion wait for the first transaction and
//! then fail, and the second replica replays the response. Within a process, requests with the same key wait for each
//! other beforehand.

mod key;
mod locks;
mod store;
#[cfg(test)]
mod tests;

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::web::Data;
use actix_web::{FromRequest, HttpRequest};
use database::{AnyConnection, Database};

pub use key::Fingerprint;
pub(crate) use key::key_errors;
pub(crate) use locks::KeyedLocks;
pub use store::claim;
pub(crate) use store::prune;

use crate::auth::Caller;
use crate::openapi::Route;
use crate::response::validation::ValidationErrors;
use crate::telemetry::metrics::idempotency_replays;
use crate::{Error, JsonResponse};
use key::Scope;

/// Runs the effect of a POST once for each key of a caller and operation. Without a key, runs it every time.
#[derive(Clone)]
pub struct Idempotency(Key);

/// What a request does in the database.
pub enum Effect<W> {
    /// A closure that runs in a transaction.
    Transaction(W),
    /// A closure that executes exactly one statement. Without a key it needs no transaction around it, and is then one
    /// round trip on PostgreSQL.
    Statement(W),
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
    let key = match key::parse(request) {
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
                    Effect::Statement(effect) => db.write_statement(effect).await?,
                };
                return Ok((response, Some(output)));
            }
        };
        let _lock = locks.acquire(&scope).await?;
        if let Some(response) = replay(db, &scope, &fingerprint).await? {
            return Ok((response, None));
        }
        locks.check_stored(&scope)?;
        let (Effect::Transaction(effect) | Effect::Statement(effect)) = prepare().await?;
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
