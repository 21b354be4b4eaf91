//! The kept answers.

use chrono::TimeDelta;
use database::{AnyConnection, Json, Ts};
use diesel::prelude::*;

use super::Scope;
use crate::schema::idempotency_keys::dsl as k;
use crate::{Answer, Error};

/// How long an answer is kept.
fn expiry() -> Ts {
    Ts::now().plus(-TimeDelta::hours(24))
}

/// The fingerprint and the answer of the request that used this key.
pub(super) fn find(c: &mut AnyConnection, scope: &Scope) -> Result<Option<(String, Answer)>, Error> {
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
    effect: &mut impl FnMut(&mut AnyConnection) -> Result<(Answer, T), Error>,
) -> Result<(Answer, T), Error> {
    let row = k::idempotency_keys.find((&scope.caller, &scope.operation, &scope.key));
    diesel::delete(row.filter(k::created_at.lt(expiry()))).execute(c)?;
    diesel::insert_into(k::idempotency_keys)
        .values((
            k::caller.eq(&scope.caller),
            k::operation.eq(&scope.operation),
            k::key.eq(&scope.key),
            k::fingerprint.eq(fingerprint),
            k::answer.eq(Json("{}".into())),
            k::created_at.eq(Ts::now()),
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

/// Forgets the expired ones.
pub(crate) fn prune(c: &mut AnyConnection) -> Result<usize, Error> {
    Ok(diesel::delete(k::idempotency_keys.filter(k::created_at.lt(expiry()))).execute(c)?)
}
