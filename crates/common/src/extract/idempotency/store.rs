//! The table of keys and responses.

use chrono::TimeDelta;
use database::{AnyConnection, Json, Timestamp};
use diesel::prelude::*;

use super::{Fingerprint, Scope};
use crate::auth::Caller;
use crate::schema::idempotency_keys::dsl as k;
use crate::{Error, JsonResponse};

/// How long a key is kept.
const RETENTION: TimeDelta = TimeDelta::hours(24);

/// Keys created before this time are expired.
fn expiry() -> Timestamp {
    Timestamp::now().plus(-RETENTION)
}

/// The first request that used a key.
pub(super) struct FirstRequest {
    pub(super) fingerprint: String,
    pub(super) response: JsonResponse,
}

/// Returns the first request that used this key, unless it is expired.
pub(super) fn find(c: &mut AnyConnection, scope: &Scope) -> Result<Option<FirstRequest>, Error> {
    let row: Option<(String, Json)> = k::idempotency_keys
        .find((&scope.caller, &scope.operation, &scope.key))
        .filter(k::created_at.ge(expiry()))
        .select((k::fingerprint, k::answer))
        .first(c)
        .optional()?;
    row.map(|(fingerprint, response)| Ok(FirstRequest { fingerprint, response: response.parse()? }))
        .transpose()
}

/// Inserts the key, runs the effect and stores its response.
///
/// # Errors
/// Returns [`Error::IdempotencyInProgress`] if the key exists or another transaction is inserting it, and the errors of
/// the effect.
pub(super) fn record<T>(
    c: &mut AnyConnection,
    scope: &Scope,
    fingerprint: &Fingerprint,
    effect: &mut impl FnMut(&mut AnyConnection) -> Result<(JsonResponse, T), Error>,
) -> Result<(JsonResponse, T), Error> {
    delete_if_expired(c, scope)?;
    diesel::insert_into(k::idempotency_keys).values(new_row(scope, &fingerprint.0)).execute(c).map_err(
        |e| match database::Error::from(e) {
            e if e.is_unique_violation("idempotency_keys") || e.is_lock_timeout() => {
                Error::IdempotencyInProgress
            }
            e => e.into(),
        },
    )?;
    let (response, output) = effect(c)?;
    let row = k::idempotency_keys.find((&scope.caller, &scope.operation, &scope.key));
    let subject = response.subject.map(|id| id.to_string());
    let columns = (k::answer.eq(answer(&response)?), k::subject_id.eq(subject));
    diesel::update(row).set(columns).execute(c)?;
    Ok((response, output))
}

/// Returns what is stored of a response.
fn answer(response: &JsonResponse) -> Result<Json, Error> {
    Ok(match &response.replayed_body {
        Some(body) => Json::of(&JsonResponse { body: body.clone(), ..response.clone() })?,
        None => Json::of(response)?,
    })
}

/// Inserts a key for an effect without a response, in the transaction of that effect. Returns whether the key was free.
/// If it was not, the effect was carried out before.
///
/// # Errors
/// 503 if the database fails, or while another transaction inserts the same key.
pub fn claim(c: &mut AnyConnection, caller: &Caller, operation: &str, key: &str) -> Result<bool, Error> {
    let scope = Scope::new(caller, operation, key);
    delete_if_expired(c, &scope)?;
    let row = new_row(&scope, "");
    let inserted = database::dispatch!(c, c => diesel::insert_into(k::idempotency_keys)
        .values(row)
        .on_conflict_do_nothing()
        .execute(c));
    match inserted.map_err(database::Error::from) {
        Ok(rows) => Ok(rows == 1),
        Err(error) if error.is_lock_timeout() => {
            Err(Error::Busy("The same operation is already running: try again later."))
        }
        Err(error) => Err(error.into()),
    }
}

/// Deletes all expired keys. Returns their number.
pub(crate) fn prune(c: &mut AnyConnection) -> Result<usize, Error> {
    Ok(diesel::delete(k::idempotency_keys.filter(k::created_at.lt(expiry()))).execute(c)?)
}

fn delete_if_expired(c: &mut AnyConnection, scope: &Scope) -> Result<(), Error> {
    let row = k::idempotency_keys.find((&scope.caller, &scope.operation, &scope.key));
    diesel::delete(row.filter(k::created_at.lt(expiry()))).execute(c)?;
    Ok(())
}

/// The columns of a key without a response yet.
#[derive(Insertable)]
// The default marks the statement as one that is not kept prepared.
#[diesel(table_name = crate::schema::idempotency_keys, treat_none_as_default_value = false)]
struct NewRow<'a> {
    caller: &'a str,
    operation: &'a str,
    key: &'a str,
    fingerprint: &'a str,
    answer: Json,
    created_at: Timestamp,
}

fn new_row<'a>(scope: &'a Scope, fingerprint: &'a str) -> NewRow<'a> {
    NewRow {
        caller: &scope.caller,
        operation: &scope.operation,
        key: &scope.key,
        fingerprint,
        answer: Json("{}".into()),
        created_at: Timestamp::now(),
    }
}
