//! The kept answers.

use chrono::TimeDelta;
use database::{AnyConnection, Json, Timestamp};
use diesel::prelude::*;

use super::Scope;
use crate::auth::Caller;
use crate::schema::idempotency_keys::dsl as k;
use crate::{Error, JsonResponse};

/// How long an answer is kept.
fn expiry() -> Timestamp {
    Timestamp::now().plus(-TimeDelta::hours(24))
}

/// The fingerprint and the answer of the request that used this key.
pub(super) fn find(c: &mut AnyConnection, scope: &Scope) -> Result<Option<(String, JsonResponse)>, Error> {
    let row: Option<(String, Json)> = k::idempotency_keys
        .find((&scope.caller, &scope.operation, &scope.key))
        .filter(k::created_at.ge(expiry()))
        .select((k::fingerprint, k::answer))
        .first(c)
        .optional()?;
    row.map(|(fingerprint, answer)| Ok((fingerprint, answer.parse()?))).transpose()
}

/// Takes the key, then runs the effect, then keeps its answer. A key that is taken is
/// [`Error::IdempotencyInProgress`].
pub(super) fn record<T>(
    c: &mut AnyConnection,
    scope: &Scope,
    fingerprint: &str,
    effect: &mut impl FnMut(&mut AnyConnection) -> Result<(JsonResponse, T), Error>,
) -> Result<(JsonResponse, T), Error> {
    let row = k::idempotency_keys.find((&scope.caller, &scope.operation, &scope.key));
    diesel::delete(row.filter(k::created_at.lt(expiry()))).execute(c)?;
    diesel::insert_into(k::idempotency_keys)
        .values((
            k::caller.eq(&scope.caller),
            k::operation.eq(&scope.operation),
            k::key.eq(&scope.key),
            k::fingerprint.eq(fingerprint),
            k::answer.eq(Json("{}".into())),
            k::created_at.eq(Timestamp::now()),
        ))
        .execute(c)
        .map_err(|e| match database::Error::from(e) {
            e if e.is_unique_violation("idempotency_keys") || e.is_lock_timeout() => {
                Error::IdempotencyInProgress
            }
            e => e.into(),
        })?;
    let (answer, told) = effect(c)?;
    diesel::update(row).set(k::answer.eq(Json::of(&answer)?)).execute(c)?;
    Ok((answer, told))
}

/// Takes a key of a caller for an effect that has no answer to keep, in the transaction of that effect. Returns whether the
/// key was free: if not, the effect was carried out before.
///
/// # Errors
/// 503 if the database fails, or while another transaction takes the same key.
pub fn claim(c: &mut AnyConnection, caller: &Caller, operation: &str, key: &str) -> Result<bool, Error> {
    let scope = Scope::new(caller, operation, key);
    let row = k::idempotency_keys.find((&scope.caller, &scope.operation, &scope.key));
    diesel::delete(row.filter(k::created_at.lt(expiry()))).execute(c)?;
    let row = (
        k::caller.eq(&scope.caller),
        k::operation.eq(&scope.operation),
        k::key.eq(&scope.key),
        k::fingerprint.eq(""),
        k::answer.eq(Json("{}".into())),
        k::created_at.eq(Timestamp::now()),
    );
    let taken = database::dispatch!(c, c => diesel::insert_into(k::idempotency_keys)
        .values(row)
        .on_conflict_do_nothing()
        .execute(c));
    match taken.map_err(database::Error::from) {
        Ok(rows) => Ok(rows == 1),
        Err(error) if error.is_lock_timeout() => {
            Err(Error::Busy("The same is being done already: try again later."))
        }
        Err(error) => Err(error.into()),
    }
}

/// Forgets the expired ones.
pub(crate) fn prune(c: &mut AnyConnection) -> Result<usize, Error> {
    Ok(diesel::delete(k::idempotency_keys.filter(k::created_at.lt(expiry()))).execute(c)?)
}
