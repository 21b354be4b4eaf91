//! The queries on the deliveries of webhooks, except those of [`crate::outbox`].

use common::{Error, PageRequest, ResultPage};
use database::search::SortValue;
use database::{AnyConnection, Id, Json, MultiBackend, Timestamp, shared_now};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};

use super::model::WebhookDelivery;
use crate::event::{TEST_EVENT, message};
use crate::outbox::Status;
use crate::schema::webhook_deliveries::{self, dsl as d};
use crate::webhook::order;

/// The most rows that one transaction changes in the background, which takes about 20 ms.
pub(crate) const BATCH_SIZE: i64 = 1_000;

/// Stores a test of a webhook with this id.
pub(crate) fn create_test(c: &mut AnyConnection, webhook: Id, id: Id) -> Result<(), Error> {
    let at = Timestamp::now();
    let now = shared_now(c)?;
    let row = (
        d::id.eq(id),
        d::webhook_id.eq(webhook.to_string()),
        d::event.eq(TEST_EVENT),
        d::status.eq(Status::Pending.into_str()),
        d::attempts.eq(0),
        d::created_at.eq(at),
        d::pending_since.eq(now),
        d::due_at.eq(now),
        d::body.eq(message(id, TEST_EVENT, at, &serde_json::json!({ "webhookId": webhook }))),
    );
    diesel::insert_into(d::webhook_deliveries).values(row).execute(c)?;
    Ok(())
}

/// Returns a page of the deliveries of a webhook, newest first, and the number of all if `count` is true. A `status`
/// limits them.
pub(crate) fn list(
    c: &mut AnyConnection,
    webhook: Id,
    status: Option<&str>,
    page: &PageRequest,
    count: bool,
) -> Result<ResultPage, Error> {
    let matches = || {
        let query = d::webhook_deliveries.filter(d::webhook_id.eq(webhook.to_string()));
        let query: webhook_deliveries::BoxedQuery<'_, MultiBackend> = query.into_boxed();
        match status {
            Some(status) => query.filter(d::status.eq(status)),
            None => query,
        }
    };
    let mut query = matches();
    if let Some((_, last)) = page.position() {
        query = query.filter(d::id.lt(last));
    }
    let query = query.order(d::id.desc()).offset(page.offset).limit(page.fetch());
    let rows: Vec<WebhookDelivery> = query.select(WebhookDelivery::as_select()).load(c)?;
    let row = |row: &WebhookDelivery| Ok((Json::of(row)?, (Some(SortValue::Integer(0)), row.id)));
    let rows = rows.iter().map(row).collect::<Result<_, Error>>()?;
    let mut found = ResultPage::new(rows, page, &order());
    if count {
        found.total = Some(matches().count().get_result(c)?);
    }
    Ok(found)
}

/// Returns the status of a delivery.
///
/// # Errors
/// 404 if there is no such delivery of the webhook.
pub(crate) fn status(c: &mut AnyConnection, webhook: Id, id: Id) -> Result<String, Error> {
    let row = d::webhook_deliveries.find((webhook.to_string(), id)).select(d::status);
    row.first(c).optional()?.ok_or(Error::NotFound)
}

/// Makes up to [`BATCH_SIZE`] pending deliveries of a webhook fail with this reason, oldest first, except the newest
/// `kept` ones. Returns true if there may be more.
pub(crate) fn fail_pending(
    c: &mut AnyConnection,
    webhook: &str,
    reason: &str,
    kept: i64,
) -> Result<bool, Error> {
    let now = shared_now(c)?;
    let pending = d::webhook_deliveries.filter(d::webhook_id.eq(webhook)).filter(d::due_at.is_not_null());
    let limit = if kept == 0 {
        BATCH_SIZE
    } else {
        (pending.count().get_result::<i64>(c)? - kept).clamp(0, BATCH_SIZE)
    };
    let ids: Vec<Id> = pending.order(d::due_at).limit(limit).select(d::id).load(c)?;
    if ids.is_empty() {
        return Ok(false);
    }
    let is_full = ids.len() >= usize::try_from(BATCH_SIZE).unwrap_or_default();
    let changes = (
        d::status.eq(Status::Failed.into_str()),
        d::due_at.eq(None::<Timestamp>),
        d::claimed_until.eq(None::<Timestamp>),
        d::pending_since.eq(now),
        d::last_error.eq(reason),
    );
    let rows = d::webhook_deliveries.filter(d::webhook_id.eq(webhook)).filter(d::id.eq_any(ids));
    diesel::update(rows).set(changes).execute(c)?;
    Ok(is_full)
}

/// Deletes up to [`BATCH_SIZE`] deliveries of a webhook. Returns true if there may be more.
pub(crate) fn delete(c: &mut AnyConnection, webhook: &str) -> Result<bool, Error> {
    let of_webhook = d::webhook_deliveries.filter(d::webhook_id.eq(webhook));
    let ids: Vec<Id> = of_webhook.limit(BATCH_SIZE).select(d::id).load(c)?;
    if ids.is_empty() {
        return Ok(false);
    }
    let is_full = ids.len() >= usize::try_from(BATCH_SIZE).unwrap_or_default();
    let rows = d::webhook_deliveries.filter(d::webhook_id.eq(webhook)).filter(d::id.eq_any(ids));
    diesel::delete(rows).execute(c)?;
    Ok(is_full)
}

#[derive(QueryableByName)]
struct Crowded {
    #[diesel(sql_type = Text)]
    webhook_id: String,
}

/// Returns the webhooks with more than `max` pending deliveries.
pub(crate) fn crowded(c: &mut AnyConnection, max: i64) -> Result<Vec<String>, Error> {
    let query = "SELECT webhook_id FROM webhook_deliveries WHERE due_at IS NOT NULL \
                 GROUP BY webhook_id HAVING count(*) > $1";
    let found: Vec<Crowded> =
        database::dispatch!(c, c => diesel::sql_query(query).bind::<BigInt, _>(max).load(c))?;
    Ok(found.into_iter().map(|row| row.webhook_id).collect())
}
