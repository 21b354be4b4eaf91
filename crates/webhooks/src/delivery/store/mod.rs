//! The queries on the deliveries of webhooks, except those of [`crate::outbox`].

pub(crate) mod held;

use std::collections::{HashMap, HashSet};

use chrono::TimeDelta;
use common::{Error, PageRequest, Reason, ResultPage};
use database::{AnyConnection, Id, Json, MultiBackend, Timestamp, shared_now};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use outbox::{Status, Try, unclaimed};
use serde_json::Value;

use super::{DeliveryRow, WebhookDeliveryDetails};
use crate::event::{message, stored_elsewhere};
use crate::schema::webhook_deliveries::{self, dsl as d};
use crate::schema::webhook_message_users::dsl as u;
use crate::schema::webhook_messages::dsl as m;

/// Time after which the body of a delivered event is deleted.
const DELIVERED_RETENTION: TimeDelta = TimeDelta::days(7);
/// Time after which the body of a failed event is deleted.
const FAILED_RETENTION: TimeDelta = TimeDelta::days(30);
/// The number of attempts that a delivery keeps.
const MAX_TRIES: usize = 10;
/// The most deliveries that one request delivers again.
const MAX_REDELIVERIES: i64 = 10_000;
/// The number of deliveries that are due at the same time after such a request.
const REDELIVERY_BATCH_SIZE: usize = 50;
/// The most by which the id of a delivery may be older than its `created_at`.
const MAX_ID_AGE: TimeDelta = TimeDelta::minutes(5);
/// The most rows that one transaction changes in the background, which takes about 20 ms.
pub(crate) const BATCH_SIZE: i64 = 1_000;

/// Stores a test of a webhook with this id: an event with this name and `data`.
pub(crate) fn create_test(
    c: &mut AnyConnection,
    webhook: Id,
    id: Id,
    (event, data): (&str, &Value),
) -> Result<(), Error> {
    let at = Timestamp::now();
    let now = shared_now(c)?;
    let row = (
        d::id.eq(id),
        d::webhook_id.eq(webhook.to_string()),
        d::event.eq(event),
        d::status.eq(Status::Pending.into_str()),
        d::attempts.eq(0),
        d::created_at.eq(at),
        d::pending_since.eq(now),
        d::due_at.eq(now),
        d::claimed_until.eq(unclaimed()),
        d::body.eq(message(id, event, at, data)),
    );
    diesel::insert_into(d::webhook_deliveries).values(row).execute(c)?;
    Ok(())
}

/// A search for deliveries: filters that a delivery must all pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeliverySearch {
    pub(crate) status: Option<String>,
    pub(crate) event: Option<String>,
}

/// Returns a page of the deliveries of a webhook, newest first, and the number of all if `count` is true.
pub(crate) fn list(
    c: &mut AnyConnection,
    webhook: Id,
    search: &DeliverySearch,
    page: &PageRequest,
    count: bool,
) -> Result<ResultPage, Error> {
    let matches = || {
        let query = d::webhook_deliveries.filter(d::webhook_id.eq(webhook.to_string()));
        let mut query: webhook_deliveries::BoxedQuery<'_, MultiBackend> = query.into_boxed();
        if let Some(status) = &search.status {
            query = query.filter(d::status.eq(status));
        }
        if let Some(event) = &search.event {
            query = query.filter(d::event.eq(event));
        }
        query
    };
    let mut query = matches();
    if let Some((_, last)) = page.position() {
        query = query.filter(d::id.lt(last));
    }
    let query = query.order(d::id.desc()).offset(page.offset).limit(page.fetch());
    let mut rows: Vec<DeliveryRow> = query.select(DeliveryRow::as_select()).load(c)?;
    fill_subjects(c, &mut rows)?;
    let total = count.then(|| matches().count().get_result(c)).transpose()?;
    ResultPage::newest_first(rows.into_iter().map(|row| Ok((row.id, row.delivery()))), page, total)
}

/// Adds the subjects that earlier releases stored with the bodies only.
fn fill_subjects(c: &mut AnyConnection, rows: &mut [DeliveryRow]) -> Result<(), Error> {
    let unknown: Vec<Id> = rows.iter().filter(|row| row.subject_id.is_none()).map(|row| row.id).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let messages = m::webhook_messages.filter(m::id.eq_any(unknown)).select((m::id, m::subject_id));
    let subjects: HashMap<Id, Option<Id>> = messages.load(c)?.into_iter().collect();
    for row in rows {
        row.subject_id = row.subject_id.or_else(|| subjects.get(&row.id).copied().flatten());
    }
    Ok(())
}

/// Returns a delivery with its body and its attempts.
///
/// # Errors
/// 404 if there is no such delivery of the webhook.
pub(crate) fn find(c: &mut AnyConnection, webhook: Id, id: Id) -> Result<WebhookDeliveryDetails, Error> {
    let columns = (DeliveryRow::as_select(), d::body, d::tries);
    let row = d::webhook_deliveries.find((webhook.to_string(), id)).select(columns);
    let row: Option<(DeliveryRow, Json, Option<String>)> = row.first(c).optional()?;
    let (mut row, body, tries) = row.ok_or(Error::NotFound)?;
    fill_subjects(c, std::slice::from_mut(&mut row))?;
    let body = if body == stored_elsewhere() { bodies(c, &[id])?.remove(&id) } else { Some(body) };
    WebhookDeliveryDetails::new(row.delivery(), body, tries)
}

/// Adds an attempt to those of a delivery, of which the last [`MAX_TRIES`] stay.
pub(crate) fn add_try(c: &mut AnyConnection, webhook: &str, id: Id, attempt: &Try) -> Result<(), Error> {
    let row = || d::webhook_deliveries.find((webhook, id));
    let stored: Option<String> = row().select(d::tries).first(c)?;
    let mut tries: Vec<Try> = stored.map(|tries| Json(tries).parse()).transpose()?.unwrap_or_default();
    tries.push(attempt.clone());
    let last = tries.len().saturating_sub(MAX_TRIES);
    diesel::update(row()).set(d::tries.eq(Json::of(&tries[last..])?.0)).execute(c)?;
    Ok(())
}

/// Deliveries to deliver again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Redelivery {
    pub(crate) webhook: Id,
    /// The first time of the events.
    pub(crate) since: Timestamp,
    /// The last time of the events, if there is one.
    pub(crate) until: Option<Timestamp>,
    /// `failed` or `delivered`.
    pub(crate) status: Status,
}

/// Makes the first [`MAX_REDELIVERIES`] deliveries pending again whose bodies are not deleted, in the order of their
/// events, each with no attempts. Returns their number, and true if there are more.
pub(crate) fn redeliver_many(c: &mut AnyConnection, again: &Redelivery) -> Result<(usize, bool), Error> {
    let Redelivery { webhook, since, until, status } = *again;
    let now = shared_now(c)?;
    let first = first_id_at(since.plus(-MAX_ID_AGE));
    let has_body = sql::<Bool>("(bytes > 0 OR CAST(body AS TEXT) <> 'null')");
    let mut matches = d::webhook_deliveries
        .filter(d::webhook_id.eq(webhook.to_string()))
        .filter(d::status.eq(status.into_str()))
        .filter(d::id.ge(first).and(d::created_at.ge(since)))
        .filter(has_body)
        .into_boxed();
    if let Some(until) = until {
        matches = matches.filter(d::created_at.le(until));
    }
    let matches = matches.order((d::created_at, d::id)).limit(MAX_REDELIVERIES + 1).select(d::id);
    let mut ids: Vec<Id> = matches.load(c)?;
    let max = usize::try_from(MAX_REDELIVERIES).unwrap_or(usize::MAX);
    let is_more = ids.len() > max;
    ids.truncate(max);
    // The earlier an event is, the earlier it is due.
    let batches = ids.chunks(REDELIVERY_BATCH_SIZE);
    let mut before = i64::try_from(batches.len()).unwrap_or_default();
    for ids in batches {
        before -= 1;
        let changes = (
            d::status.eq(Status::Pending.into_str()),
            d::attempts.eq(0),
            d::due_at.eq(now.plus(TimeDelta::milliseconds(-before))),
            d::pending_since.eq(now),
            d::delivered_at.eq(None::<Timestamp>),
        );
        let rows = d::webhook_deliveries.filter(d::webhook_id.eq(webhook.to_string()));
        diesel::update(rows.filter(d::id.eq_any(ids))).set(changes).execute(c)?;
    }
    Ok((ids.len(), is_more))
}

/// Returns the status of a delivery that can be delivered again.
///
/// # Errors
/// 404 if there is no such delivery of the webhook, 409 if its body is deleted.
pub(crate) fn redeliverable(c: &mut AnyConnection, webhook: Id, id: Id) -> Result<String, Error> {
    let row = d::webhook_deliveries.find((webhook.to_string(), id)).select((d::status, d::body));
    let (status, body): (String, Json) = row.first(c).optional()?.ok_or(Error::NotFound)?;
    if body == stored_elsewhere() && bodies(c, &[id])?.is_empty() {
        return Err(Error::conflict(
            Reason::BodyExpired,
            "The body of this delivery is deleted, so it cannot be delivered again.",
        ));
    }
    Ok(status)
}

/// Returns the bodies of events that are stored once for all webhooks.
pub(crate) fn bodies(c: &mut AnyConnection, ids: &[Id]) -> Result<HashMap<Id, Json>, Error> {
    let rows = m::webhook_messages.filter(m::id.eq_any(ids)).select((m::id, m::body));
    Ok(rows.load::<(Id, Json)>(c)?.into_iter().collect())
}

/// Makes up to [`BATCH_SIZE`] pending deliveries of a webhook fail, oldest first. Returns true if there may be more.
pub(crate) fn fail_pending(c: &mut AnyConnection, webhook: &str) -> Result<bool, Error> {
    let pending = d::webhook_deliveries.filter(d::webhook_id.eq(webhook)).filter(d::due_at.is_not_null());
    let ids: Vec<Id> = pending.order(d::due_at).limit(BATCH_SIZE).select(d::id).load(c)?;
    let is_full = ids.len() >= usize::try_from(BATCH_SIZE).unwrap_or_default();
    fail(c, webhook, &ids)?;
    Ok(is_full)
}

/// Makes these pending deliveries of a webhook fail. What their last attempts had stays.
pub(super) fn fail(c: &mut AnyConnection, webhook: &str, ids: &[Id]) -> Result<(), Error> {
    if ids.is_empty() {
        return Ok(());
    }
    let changes = (
        d::status.eq(Status::Failed.into_str()),
        d::due_at.eq(None::<Timestamp>),
        d::claimed_until.eq(unclaimed()),
        d::pending_since.eq(shared_now(c)?),
    );
    let rows = d::webhook_deliveries.filter(d::webhook_id.eq(webhook)).filter(d::id.eq_any(ids));
    diesel::update(rows.filter(d::due_at.is_not_null())).set(changes).execute(c)?;
    Ok(())
}

/// Deletes up to [`BATCH_SIZE`] deliveries of a webhook. Returns true if there may be more.
pub(crate) fn delete(c: &mut AnyConnection, webhook: &str) -> Result<bool, Error> {
    let of_webhook = d::webhook_deliveries.filter(d::webhook_id.eq(webhook));
    let ids: Vec<Id> = of_webhook.limit(BATCH_SIZE).select(d::id).load(c)?;
    if ids.is_empty() {
        return Ok(false);
    }
    let is_full = ids.len() >= usize::try_from(BATCH_SIZE).unwrap_or_default();
    diesel::delete(of_webhook.filter(d::id.eq_any(&ids))).execute(c)?;
    delete_unused(c, &ids)?;
    Ok(is_full)
}

/// Deletes those of the messages that have no deliveries any more. Returns the deliveries of the others, each with its
/// webhook.
pub(super) fn delete_unused(c: &mut AnyConnection, ids: &[Id]) -> Result<Vec<(Id, String)>, Error> {
    let left = d::webhook_deliveries.filter(d::id.eq_any(ids)).select((d::id, d::webhook_id));
    let left: Vec<(Id, String)> = left.load(c)?;
    let used: HashSet<Id> = left.iter().map(|(id, _)| *id).collect();
    delete_messages(c, ids.iter().filter(|id| !used.contains(id)).copied().collect())?;
    Ok(left)
}

fn delete_messages(c: &mut AnyConnection, ids: Vec<Id>) -> Result<(), Error> {
    if !ids.is_empty() {
        diesel::delete(u::webhook_message_users.filter(u::message_id.eq_any(&ids))).execute(c)?;
        diesel::delete(m::webhook_messages.filter(m::id.eq_any(ids))).execute(c)?;
    }
    Ok(())
}

/// Returns an id before those that are created from this time on.
pub(crate) fn first_id_at(at: Timestamp) -> Id {
    let millis = at.millis().max(0);
    let text = format!("{:08x}-{:04x}-7000-8000-000000000000", millis >> 16, millis & 0xffff);
    Id::parse(&text).unwrap_or(Id::NIL)
}

/// Deletes those of the next [`BATCH_SIZE`] messages after this one that no delivery needs: one that is pending, was
/// delivered in the last 7 days or failed in the last 30. Returns the last one that was looked at; `None` at the end.
pub(crate) fn prune_messages(c: &mut AnyConnection, after: Id) -> Result<Option<Id>, Error> {
    let now = shared_now(c)?;
    let (of_delivered, of_failed) = (now.plus(-DELIVERED_RETENTION), now.plus(-FAILED_RETENTION));
    let next = m::webhook_messages
        .filter(m::id.gt(after).and(m::id.lt(first_id_at(of_delivered))))
        .order(m::id)
        .limit(BATCH_SIZE);
    let ids: Vec<Id> = next.select(m::id).load(c)?;
    let Some(last) = ids.last().copied() else { return Ok(None) };
    let is_settled_after = |status: Status, at| d::status.eq(status.into_str()).and(d::pending_since.gt(at));
    let needed = d::webhook_deliveries.filter(d::id.eq_any(&ids)).filter(
        d::due_at
            .is_not_null()
            .or(is_settled_after(Status::Delivered, of_delivered))
            .or(is_settled_after(Status::Failed, of_failed)),
    );
    let needed: HashSet<Id> = needed.select(d::id).distinct().load::<Id>(c)?.into_iter().collect();
    let expired: Vec<Id> = ids.into_iter().filter(|id| !needed.contains(id)).collect();
    if !expired.is_empty() {
        diesel::update(d::webhook_deliveries.filter(d::id.eq_any(&expired)))
            .set(d::bytes.eq(0))
            .execute(c)?;
    }
    delete_messages(c, expired)?;
    Ok(Some(last))
}
