//! The queries on webhooks, for callers and for the engine that delivers. Every row that a caller reads by id is
//! checked with `is_managed_by`.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::TimeDelta;
use common::validation::{Code, ValidationErrors};
use common::{Caller, Error, PageRequest, Precondition, Reason, ResultPage, WithEtag};
use database::{AnyConnection, Id, Json, MultiBackend, Timestamp, shared_now};
use diesel::dsl::{exists, sql};
use diesel::prelude::*;
use diesel::sql_types::Bool;
use secrecy::{ExposeSecret, SecretString};

use super::model::{NewWebhook, Receiver, Scope, Webhook, WebhookRow, WebhookStatus};
use crate::schema::webhook_deliveries::dsl as d;
use crate::schema::webhooks::{self, dsl as w};

/// The most webhooks of an organisation.
const MAX_WEBHOOKS: i32 = 20;
/// Time for which the previous secret signs as well after a rotation.
const ROTATION_OVERLAP: Duration = Duration::from_secs(24 * 3600);

/// Stores a webhook.
///
/// # Errors
/// 409 if the organisation has 20 webhooks.
pub(crate) fn create(c: &mut AnyConnection, new: &NewWebhook) -> Result<Webhook, Error> {
    let of_organisation = w::webhooks.filter(w::organisation_id.eq(&new.organisation_id));
    let used: Vec<i32> =
        of_organisation.filter(w::slot.is_not_null()).select(w::slot.assume_not_null()).load(c)?;
    let used: BTreeSet<i32> = used.into_iter().collect();
    let Some(slot) = (1..=MAX_WEBHOOKS).find(|slot| !used.contains(slot)) else {
        return Err(Error::conflict(
            Reason::LimitReached,
            format!("The organisation has {MAX_WEBHOOKS} webhooks, which is the most."),
        ));
    };
    let (id, now) = (new.id.to_string(), Timestamp::now());
    let row = (
        w::id.eq(&id),
        w::organisation_id.eq(&new.organisation_id),
        w::slot.eq(slot),
        w::url.eq(&new.url),
        w::events.eq(Json::of(&new.events)?.0),
        w::scope.eq(new.scope.into_str()),
        w::admin_only.eq(new.scope == Scope::All),
        w::description.eq(&new.description),
        w::status.eq(WebhookStatus::Active.into_str()),
        w::status_since.eq(now),
        w::secret.eq(new.secret.expose_secret()),
        w::revision.eq(1),
        w::created_at.eq(now),
    );
    // Of two concurrent inserts into a slot, PostgreSQL makes the second wait for the first and run again: it then
    // finds that slot used.
    let stored = database::dispatch!(c, c => diesel::insert_into(w::webhooks)
        .values(row)
        .on_conflict_do_nothing()
        .execute(c))?;
    if stored == 0 {
        return Err(Error::Internal(anyhow::anyhow!("a free slot of a webhook was used")));
    }
    let webhook: WebhookRow = w::webhooks.find(&id).select(WebhookRow::as_select()).first(c)?;
    Ok(webhook.webhook()?.with_secret(&new.secret))
}

/// Returns true if there is a webhook with this id, also if it is deleted and not removed yet.
pub(crate) fn is_stored(c: &mut AnyConnection, id: Id) -> Result<bool, Error> {
    Ok(diesel::select(exists(w::webhooks.find(id.to_string()))).get_result(c)?)
}

/// Selects the webhooks that are not deleted.
fn existing<'a>() -> webhooks::BoxedQuery<'a, MultiBackend> {
    webhooks::table.filter(w::status.ne(WebhookStatus::DELETED)).into_boxed()
}

/// Returns a webhook that the caller may manage.
///
/// # Errors
/// 404 if there is no such webhook, 403 if it is another organisation's.
fn find_row(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<WebhookRow, Error> {
    let row = existing().filter(w::id.eq(id.to_string())).select(WebhookRow::as_select());
    let row: WebhookRow = row.first(c).optional()?.ok_or(Error::NotFound)?;
    if row.is_managed_by(caller) {
        Ok(row)
    } else {
        Err(Error::Forbidden("This webhook is another organisation's."))
    }
}

/// Returns the document of a webhook and its revision.
///
/// # Errors
/// As [`check_active`] does for a webhook that the caller may not manage.
pub(crate) fn find(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<WithEtag, Error> {
    let row = find_row(c, caller, id)?;
    let revision = row.revision;
    Ok(WithEtag { document: Json::of(&row.webhook()?)?.0, revision })
}

/// Checks that the caller may manage a webhook.
///
/// # Errors
/// 404 if there is no such webhook, 403 if it is another organisation's.
pub(crate) fn check_managed(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<(), Error> {
    find_row(c, caller, id).map(drop)
}

/// Checks that the caller may manage a webhook and that it is active.
///
/// # Errors
/// 404 if there is no such webhook, 403 if it is another organisation's, 409 if it is disabled.
pub(crate) fn check_active(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<(), Error> {
    if find_row(c, caller, id)?.status == WebhookStatus::Active.into_str() {
        return Ok(());
    }
    Err(Error::conflict(Reason::WebhookDisabled, "The webhook is disabled: set its status to active first."))
}

/// Returns a page of the webhooks that the caller may manage, newest first, and the number of all if `count` is true.
pub(crate) fn list(
    c: &mut AnyConnection,
    caller: &Caller,
    page: &PageRequest,
    count: bool,
) -> Result<ResultPage, Error> {
    let visible = || {
        let own = caller.organisation_id_or_empty();
        if caller.admin {
            return existing();
        }
        existing().filter(w::organisation_id.eq(own)).filter(w::admin_only.eq(false))
    };
    let mut query = visible();
    if let Some((_, last)) = page.position() {
        query = query.filter(w::id.lt(last.to_string()));
    }
    let query = query.order(w::id.desc()).offset(page.offset).limit(page.fetch());
    let rows: Vec<WebhookRow> = query.select(WebhookRow::as_select()).load(c)?;
    let entry = |row: WebhookRow| {
        let id = Id::parse(&row.id).ok_or_else(|| anyhow::anyhow!("the id of a webhook is no UUID"));
        Ok((id.map_err(Error::Internal)?, row.webhook()?))
    };
    let total = count.then(|| visible().count().get_result(c)).transpose()?;
    ResultPage::newest_first(rows.into_iter().map(entry), page, total)
}

/// Changes a webhook. `change` gets the present one and returns the one to store. Returns the webhook, and true if it
/// was disabled.
///
/// # Errors
/// 404 if there is no such webhook, 403 if it is another organisation's, 412 if the condition names another revision,
/// 400 if the webhook belongs to no organisation and would get its events.
pub(crate) fn update(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
    condition: &Precondition,
    change: impl FnOnce(&Webhook) -> Webhook,
) -> Result<(Webhook, bool), Error> {
    let row = find_row(c, caller, id)?;
    let has_organisation = !row.organisation_id.is_empty();
    let before = row.webhook()?;
    condition.check(before.revision)?;
    let mut after = change(&before);
    let status_changed = after.status != before.status;
    if status_changed {
        after.disabled_reason = None;
    }
    if after.scope == Scope::Own && !has_organisation {
        let message = "must be all: the webhook belongs to no organisation";
        return Err(ValidationErrors::one("scope", Code::Inconsistent, message).into());
    }
    if after == before {
        return Ok((after, false));
    }
    let now = Timestamp::now();
    (after.revision, after.updated_at) = (before.revision + 1, now);
    let changes = (
        w::url.eq(&after.url),
        w::events.eq(Json::of(&after.events)?.0),
        w::scope.eq(after.scope.into_str()),
        (after.scope == Scope::All).then(|| w::admin_only.eq(true)),
        w::description.eq(&after.description),
        w::status.eq(after.status.into_str()),
        w::disabled_reason.eq(&after.disabled_reason),
        w::revision.eq(after.revision),
        w::updated_at.eq(now),
        status_changed.then(|| (w::status_since.eq(now), w::failing_since.eq(None::<Timestamp>))),
    );
    diesel::update(w::webhooks.find(id.to_string())).set(changes).execute(c)?;
    let is_disabled = status_changed && after.status == WebhookStatus::Disabled;
    Ok((after, is_disabled))
}

/// Marks a webhook as deleted. It is gone for all callers.
///
/// # Errors
/// 404 if there is no such webhook, 403 if it is another organisation's, 412 if the condition names another revision.
pub(crate) fn delete(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
    condition: &Precondition,
) -> Result<(), Error> {
    condition.check(find_row(c, caller, id)?.revision)?;
    let changes = (
        w::status.eq(WebhookStatus::DELETED),
        w::status_since.eq(Timestamp::now()),
        w::slot.eq(None::<i32>),
        w::secret.eq(""),
        w::previous_secret.eq(None::<String>),
    );
    database::with_secure_delete(c, |c| {
        diesel::update(w::webhooks.find(id.to_string())).set(changes).execute(c)?;
        Ok(())
    })
}

/// Replaces the secret of a webhook. The present one signs as well for another day. Returns the webhook.
///
/// # Errors
/// 404 if there is no such webhook, 403 if it is another organisation's.
pub(crate) fn rotate_secret(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
    secret: &SecretString,
) -> Result<Webhook, Error> {
    let webhook = find_row(c, caller, id)?.webhook()?;
    let changes = (
        w::previous_secret.eq(w::secret.nullable()),
        w::previous_secret_until.eq(Timestamp::now().after(ROTATION_OVERLAP)),
        w::secret.eq(secret.expose_secret()),
    );
    diesel::update(w::webhooks.find(id.to_string())).set(changes).execute(c)?;
    Ok(webhook.with_secret(secret))
}

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
