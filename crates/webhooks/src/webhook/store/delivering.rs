//! The queries of the engine that delivers: receivers, failures, and webhooks that are disabled or deleted.

use chrono::TimeDelta;
use common::Error;
use database::{AnyConnection, MultiBackend, Timestamp, shared_now};
use diesel::dsl::{exists, sql};
use diesel::prelude::*;
use diesel::sql_types::Bool;
use secrecy::SecretString;

use crate::schema::webhook_deliveries::dsl as d;
use crate::schema::webhooks::{self, dsl as w};
use crate::webhook::model::{Receiver, WebhookStatus};

/// Time after which a webhook is disabled if every attempt has failed since.
const MAX_FAILING: TimeDelta = TimeDelta::days(5);
/// Time after which a deleted webhook without deliveries is removed: longer than any transaction that may still store
/// a delivery.
const TOMBSTONE_AGE: TimeDelta = TimeDelta::minutes(10);

/// Returns what a delivery needs of its webhook; `None` if the webhook is not active.
pub(crate) fn receiver(c: &mut AnyConnection, id: &str) -> Result<Option<Receiver>, Error> {
    type Columns = (String, String, Option<String>, Option<Timestamp>);
    let columns = (w::url, w::secret, w::previous_secret, w::previous_secret_until);
    let active = w::webhooks.find(id).filter(w::status.eq(WebhookStatus::Active.into_str())).select(columns);
    let Some((url, secret, previous, until)) = active.first::<Columns>(c).optional()? else {
        return Ok(None);
    };
    let previous = previous.filter(|_| until.is_some_and(|until| until > Timestamp::now()));
    let secrets = [Some(secret), previous].into_iter().flatten().map(SecretString::from).collect();
    Ok(Some(Receiver { url, secrets }))
}

/// Ends the failure period of a webhook after a successful attempt.
pub(crate) fn note_success(c: &mut AnyConnection, id: &str) -> Result<(), Error> {
    let failing = w::webhooks.find(id).filter(w::failing_since.is_not_null());
    diesel::update(failing).set(w::failing_since.eq(None::<Timestamp>)).execute(c)?;
    Ok(())
}

/// Begins the failure period of a webhook after a failed attempt, or disables the webhook if that began five days ago.
/// Returns true if the webhook was disabled.
pub(crate) fn note_failure(c: &mut AnyConnection, id: &str, reason: &str) -> Result<bool, Error> {
    let now = shared_now(c)?;
    let active = || w::webhooks.find(id).filter(w::status.eq(WebhookStatus::Active.into_str()));
    let Some(since) = active().select(w::failing_since).first::<Option<Timestamp>>(c).optional()? else {
        return Ok(false);
    };
    let Some(since) = since else {
        diesel::update(active()).set(w::failing_since.eq(now)).execute(c)?;
        return Ok(false);
    };
    if since.plus(MAX_FAILING) > now {
        return Ok(false);
    }
    disable(c, id, &format!("Every attempt failed for 5 days. The last one: {reason}."))?;
    Ok(true)
}

/// Disables an active webhook.
pub(crate) fn disable(c: &mut AnyConnection, id: &str, reason: &str) -> Result<(), Error> {
    let now = shared_now(c)?;
    let changes = (
        w::status.eq(WebhookStatus::Disabled.into_str()),
        w::status_since.eq(now),
        w::updated_at.eq(now),
        w::disabled_reason.eq(reason),
        w::revision.eq(w::revision + 1),
    );
    let active = w::webhooks.find(id).filter(w::status.eq(WebhookStatus::Active.into_str()));
    diesel::update(active).set(changes).execute(c)?;
    Ok(())
}

/// Selects the webhooks that are disabled or deleted, in the form of the partial index.
fn inactive<'a>() -> webhooks::BoxedQuery<'a, MultiBackend> {
    w::webhooks.filter(sql::<Bool>("webhooks.status <> 'active'")).into_boxed()
}

/// Returns the number of disabled webhooks.
pub(crate) fn count_disabled(c: &mut AnyConnection) -> Result<i64, Error> {
    Ok(inactive().filter(w::status.eq(WebhookStatus::Disabled.into_str())).count().get_result(c)?)
}

/// Returns disabled webhooks that have pending deliveries, and deleted ones that have deliveries or can be removed,
/// each with its status.
pub(crate) fn list_unfinished(c: &mut AnyConnection) -> Result<Vec<(String, String)>, Error> {
    let is_old = w::status_since.lt(Timestamp::now().plus(-TOMBSTONE_AGE));
    let is_deleted = w::status.eq(WebhookStatus::DELETED);
    if c.is_distributed() {
        // Citus knows no correlated subquery below OR. Each server joins its deliveries with its copy of the webhooks.
        let joined = d::webhook_deliveries.inner_join(w::webhooks.on(d::webhook_id.eq(w::id)));
        let has_work = joined.filter(sql::<Bool>("webhooks.status <> 'active'"));
        let has_work = has_work.filter(is_deleted.or(d::due_at.is_not_null()));
        let mut rows: Vec<(String, String)> = has_work.select((w::id, w::status)).distinct().load(c)?;
        let removable = inactive().filter(is_deleted.and(is_old));
        rows.extend(removable.select((w::id, w::status)).load::<(String, String)>(c)?);
        rows.sort_unstable();
        rows.dedup();
        return Ok(rows);
    }
    let of_webhook = || d::webhook_deliveries.filter(d::webhook_id.eq(w::id));
    let has_pending = exists(of_webhook().filter(d::due_at.is_not_null()));
    let unfinished = has_pending.or(is_deleted.and(is_old.or(exists(of_webhook()))));
    Ok(inactive().filter(unfinished).select((w::id, w::status)).load(c)?)
}

/// Removes a deleted webhook that has no deliveries, if no transaction can store another one.
pub(crate) fn remove_deleted(c: &mut AnyConnection, id: &str) -> Result<(), Error> {
    let before = Timestamp::now().plus(-TOMBSTONE_AGE);
    let deleted = w::webhooks.find(id).filter(w::status.eq(WebhookStatus::DELETED));
    diesel::delete(deleted.filter(w::status_since.lt(before))).execute(c)?;
    Ok(())
}
