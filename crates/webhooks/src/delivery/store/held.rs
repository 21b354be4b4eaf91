//! The limit on the deliveries that an organisation holds: pending, delivered and failed together.

use std::collections::{BTreeMap, HashMap};

use common::Error;
use database::{AnyConnection, Id, Json};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use outbox::Status;

use super::{BATCH_SIZE, delete_unused, fail};
use crate::event::stored_elsewhere;
use crate::schema::webhook_deliveries::dsl as d;
use crate::schema::webhooks::dsl as w;

/// The most that an organisation holds, or what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Deliveries.
    pub rows: i64,
    /// Bytes of bodies, each counted once.
    pub bytes: i64,
}

impl Held {
    fn plus(self, other: Self) -> Self {
        Self { rows: self.rows.saturating_add(other.rows), bytes: self.bytes.saturating_add(other.bytes) }
    }

    /// Subtracts a limit or a part. Neither number gets negative.
    pub(crate) fn minus(self, other: Self) -> Self {
        Self { rows: (self.rows - other.rows).max(0), bytes: (self.bytes - other.bytes).max(0) }
    }

    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// What organisations hold at most, as far as this replica knows: what was counted, and all that was stored since then.
#[derive(Debug, Default)]
pub(crate) struct HeldEstimates {
    by_organisation: HashMap<String, Held>,
}

impl HeldEstimates {
    /// Adds new deliveries. Returns the organisations that have some and hold more than the limit, or were not counted
    /// yet.
    pub(crate) fn add(&mut self, grown: BTreeMap<String, Held>, limit: Held) -> Vec<String> {
        let mut to_count = Vec::new();
        for (organisation, new) in grown {
            let estimate = self.by_organisation.get_mut(&organisation);
            if let Some(held) = estimate {
                *held = held.plus(new);
                if held.minus(limit).is_empty() {
                    continue;
                }
            }
            to_count.push(organisation);
        }
        to_count
    }

    /// Sets what an organisation holds.
    pub(crate) fn set(&mut self, organisation: String, held: Held) {
        self.by_organisation.insert(organisation, held);
    }

    /// Subtracts deliveries that were deleted.
    pub(crate) fn subtract(&mut self, organisation: &str, deleted: Held) {
        if let Some(held) = self.by_organisation.get_mut(organisation) {
            *held = held.minus(deleted);
        }
    }
}

#[derive(QueryableByName)]
struct GrownRow {
    #[diesel(sql_type = Text)]
    webhook_id: String,
    #[diesel(sql_type = BigInt)]
    new_rows: i64,
    #[diesel(sql_type = BigInt)]
    new_bytes: i64,
}

/// Returns the number and size of the deliveries after an id, by organisation.
pub(crate) fn grown(c: &mut AnyConnection, after: Id) -> Result<BTreeMap<String, Held>, Error> {
    let query = "SELECT webhook_id, count(*) AS new_rows, CAST(sum(bytes) AS BIGINT) AS new_bytes \
                 FROM webhook_deliveries WHERE id > $1 GROUP BY webhook_id";
    let rows: Vec<GrownRow> = database::dispatch!(c, c => diesel::sql_query(query)
        .bind::<database::IdSql, _>(after)
        .load(c))?;
    let webhooks = rows.iter().map(|row| &row.webhook_id);
    let owners = w::webhooks.filter(w::id.eq_any(webhooks)).select((w::id, w::organisation_id));
    let owners: HashMap<String, String> = owners.load::<(String, String)>(c)?.into_iter().collect();
    let mut by_organisation: BTreeMap<String, Held> = BTreeMap::new();
    for GrownRow { webhook_id, new_rows: rows, new_bytes: bytes } in rows {
        if let Some(owner) = owners.get(&webhook_id) {
            let held = by_organisation.entry(owner.clone()).or_default();
            *held = held.plus(Held { rows, bytes });
        }
    }
    Ok(by_organisation)
}

/// Returns the deliveries among the next [`BATCH_SIZE`] after an event whose bodies are stored with them and not
/// measured, and the last event that was looked at; `None` at the end.
pub(crate) fn unmeasured(c: &mut AnyConnection, after: Id) -> Result<(Vec<HeldDelivery>, Option<Id>), Error> {
    let next = d::webhook_deliveries.filter(d::id.gt(after)).order(d::id).limit(BATCH_SIZE);
    let ids: Vec<Id> = next.select(d::id).load(c)?;
    let rows = d::webhook_deliveries.filter(d::id.eq_any(&ids)).filter(d::bytes.eq(0));
    let rows: Vec<(Id, String, Json)> = rows.select((d::id, d::webhook_id, d::body)).load(c)?;
    let inline = rows.into_iter().filter(|(.., body)| *body != stored_elsewhere());
    let size = |body: &Json| i64::try_from(body.0.len()).unwrap_or(i64::MAX);
    Ok((inline.map(|(id, webhook, body)| (id, webhook, size(&body))).collect(), ids.last().copied()))
}

/// Stores the sizes of bodies that are stored with their deliveries.
pub(crate) fn set_sizes(c: &mut AnyConnection, bodies: &[HeldDelivery]) -> Result<(), Error> {
    for (id, webhook, bytes) in bodies {
        let row = d::webhook_deliveries.find((webhook, id)).filter(d::bytes.eq(0));
        diesel::update(row).set(d::bytes.eq(bytes)).execute(c)?;
    }
    Ok(())
}

/// Returns the ids of the webhooks of an organisation, deleted ones too.
fn webhooks_of(c: &mut AnyConnection, organisation: &str) -> Result<Vec<String>, Error> {
    Ok(w::webhooks.filter(w::organisation_id.eq(organisation)).select(w::id).load(c)?)
}

#[derive(QueryableByName)]
struct HeldRow {
    #[diesel(sql_type = BigInt)]
    held_rows: i64,
    #[diesel(sql_type = BigInt)]
    held_bytes: i64,
}

/// Returns what an organisation holds.
pub(crate) fn count(c: &mut AnyConnection, organisation: &str) -> Result<Held, Error> {
    // An event has one body, whatever the number of webhooks.
    let query = "SELECT CAST(COALESCE(sum(deliveries), 0) AS BIGINT) AS held_rows, \
                 CAST(COALESCE(sum(bytes), 0) AS BIGINT) AS held_bytes FROM \
                 (SELECT count(*) AS deliveries, max(d.bytes) AS bytes FROM webhook_deliveries d \
                 JOIN webhooks w ON w.id = d.webhook_id WHERE w.organisation_id = $1 GROUP BY d.id) AS events";
    let HeldRow { held_rows: rows, held_bytes: bytes } = database::dispatch!(c, c => diesel::sql_query(query)
        .bind::<Text, _>(organisation)
        .get_result(c))?;
    Ok(Held { rows, bytes })
}

/// A delivery: its event, its webhook, and the length of the body.
pub(crate) type HeldDelivery = (Id, String, i64);

/// Deliveries of an organisation, at most [`BATCH_SIZE`], and what happens to them.
#[derive(Clone, Debug)]
pub(crate) enum Chosen {
    /// Settled ones, which are deleted.
    Settled(Vec<HeldDelivery>),
    /// Pending ones, which fail.
    Pending(Vec<HeldDelivery>),
}

impl Chosen {
    pub(crate) fn is_empty(&self) -> bool {
        let (Self::Settled(deliveries) | Self::Pending(deliveries)) = self;
        deliveries.is_empty()
    }
}

/// The pending deliveries of a cause that fail, as many as there are rows and bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailingCause {
    cause: String,
    left: Held,
}

/// Chooses the oldest settled deliveries of an organisation that holds more than the limit. Without any, chooses the
/// oldest pending ones of the cause that holds the most, and says in `failing` how many more of that cause fail.
pub(crate) fn choose(
    c: &mut AnyConnection,
    organisation: &str,
    excess: Held,
    failing: &mut Option<FailingCause>,
) -> Result<Chosen, Error> {
    let webhooks = webhooks_of(c, organisation)?;
    let mut settled = Oldest::new(2 * webhooks.len());
    for webhook in &webhooks {
        for status in [Status::Delivered, Status::Failed] {
            let of_status = d::webhook_id.eq(webhook).and(d::status.eq(status.into_str()));
            let oldest = d::webhook_deliveries.filter(of_status).order(d::id).limit(settled.limit);
            settled.add(oldest.select((d::id, d::webhook_id, d::bytes)).load(c)?);
        }
    }
    let settled = settled.take(excess);
    if !settled.is_empty() {
        return Ok(Chosen::Settled(settled));
    }
    if failing.as_ref().is_none_or(|failing| failing.left.is_empty()) {
        *failing = largest_cause(c, &webhooks, excess)?;
    }
    let Some(FailingCause { cause, left }) = failing else { return Ok(Chosen::Pending(Vec::new())) };
    let mut pending = Oldest::new(webhooks.len());
    for webhook in &webhooks {
        let of_cause = d::webhook_id.eq(webhook).and(d::cause_id.eq(&*cause)).and(d::due_at.is_not_null());
        let oldest = d::webhook_deliveries.filter(of_cause).order(d::due_at).limit(pending.limit);
        pending.add(oldest.select((d::id, d::webhook_id, d::bytes)).load(c)?);
    }
    let pending = pending.take(*left);
    *left = left.minus(size(&pending));
    if pending.is_empty() {
        *left = Held::default();
    }
    Ok(Chosen::Pending(pending))
}

/// Returns the number of deliveries, and the bytes of their bodies.
fn size(deliveries: &[HeldDelivery]) -> Held {
    let bodies: BTreeMap<Id, i64> = deliveries.iter().map(|(id, _, bytes)| (*id, *bytes)).collect();
    Held { rows: i64::try_from(deliveries.len()).unwrap_or(i64::MAX), bytes: bodies.values().sum() }
}

/// The oldest deliveries of several lists.
struct Oldest {
    /// The most deliveries of a list.
    limit: i64,
    all: Vec<HeldDelivery>,
    /// The end of the first list that has more.
    last: Option<Id>,
}

impl Oldest {
    fn new(lists: usize) -> Self {
        let lists = i64::try_from(lists).unwrap_or(i64::MAX).max(1);
        Self { limit: (BATCH_SIZE / lists).max(50), all: Vec::new(), last: None }
    }

    /// Adds a list. Pending deliveries are only roughly in the order of their ids, because retried ones are due later.
    fn add(&mut self, deliveries: Vec<HeldDelivery>) {
        if i64::try_from(deliveries.len()).is_ok_and(|count| count >= self.limit) {
            let newest = deliveries.iter().map(|(id, ..)| *id).max();
            self.last = self.last.into_iter().chain(newest).min();
        }
        self.all.extend(deliveries);
    }

    /// Returns the oldest ones that are enough, at most [`BATCH_SIZE`].
    fn take(mut self, enough: Held) -> Vec<HeldDelivery> {
        self.all.retain(|(id, ..)| self.last.is_none_or(|last| *id <= last));
        self.all.sort_unstable();
        self.all.truncate(usize::try_from(BATCH_SIZE).unwrap_or_default());
        let (mut left, mut last) = (enough, None);
        let is_needed = |(id, _, bytes): &&HeldDelivery| {
            // A body is freed with the last of its deliveries.
            if left.is_empty() && last != Some(*id) {
                return false;
            }
            let bytes = if last == Some(*id) { 0 } else { *bytes };
            left = left.minus(Held { rows: 1, bytes });
            last = Some(*id);
            true
        };
        let count = self.all.iter().take_while(is_needed).count();
        self.all.truncate(count);
        self.all
    }
}

/// Deletes settled deliveries of an organisation, or makes pending ones fail. Leaves out those that changed since they
/// were chosen. Returns what the organisation no longer holds.
pub(crate) fn trim(c: &mut AnyConnection, organisation: &str, chosen: &Chosen) -> Result<Held, Error> {
    match chosen {
        Chosen::Pending(deliveries) => {
            for (webhook, ids) in by_webhook(deliveries) {
                fail(c, webhook, &ids)?;
            }
            Ok(Held::default())
        }
        Chosen::Settled(deliveries) => {
            let mut rows = 0;
            for (webhook, ids) in by_webhook(deliveries) {
                let settled =
                    d::webhook_deliveries.filter(d::webhook_id.eq(webhook)).filter(d::id.eq_any(ids));
                rows += diesel::delete(settled.filter(d::due_at.is_null())).execute(c)?;
            }
            let mut bodies: BTreeMap<Id, i64> =
                deliveries.iter().map(|(id, _, bytes)| (*id, *bytes)).collect();
            let ids: Vec<Id> = bodies.keys().copied().collect();
            let own = webhooks_of(c, organisation)?;
            for (id, webhook) in delete_unused(c, &ids)? {
                if own.contains(&webhook) {
                    bodies.remove(&id);
                }
            }
            Ok(Held { rows: i64::try_from(rows).unwrap_or(i64::MAX), bytes: bodies.values().sum() })
        }
    }
}

fn by_webhook(deliveries: &[HeldDelivery]) -> BTreeMap<&str, Vec<Id>> {
    let mut by_webhook: BTreeMap<&str, Vec<Id>> = BTreeMap::new();
    for (id, webhook, _) in deliveries {
        by_webhook.entry(webhook).or_default().push(*id);
    }
    by_webhook
}

#[derive(QueryableByName)]
struct CauseRow {
    #[diesel(sql_type = Text)]
    cause: String,
    #[diesel(sql_type = BigInt)]
    pending: i64,
    #[diesel(sql_type = BigInt)]
    bytes: i64,
}

/// Returns the cause that has the most pending deliveries, and how many of them fail.
fn largest_cause(
    c: &mut AnyConnection,
    webhooks: &[String],
    excess: Held,
) -> Result<Option<FailingCause>, Error> {
    let mut by_cause: HashMap<String, Held> = HashMap::new();
    for webhook in webhooks {
        let query = "SELECT cause_id AS cause, count(*) AS pending, CAST(sum(bytes) AS BIGINT) AS bytes \
                     FROM webhook_deliveries WHERE webhook_id = $1 AND due_at IS NOT NULL GROUP BY cause_id";
        let rows: Vec<CauseRow> =
            database::dispatch!(c, c => diesel::sql_query(query).bind::<Text, _>(webhook).load(c))?;
        for CauseRow { cause, pending: rows, bytes } in rows {
            let held = by_cause.entry(cause).or_default();
            *held = held.plus(Held { rows, bytes });
        }
    }
    let size = |held: &Held| if excess.rows > 0 { held.rows } else { held.bytes };
    let Some((cause, most)) = by_cause.iter().max_by_key(|(_, held)| size(held)) else { return Ok(None) };
    let second = by_cause.iter().filter(|(other, _)| *other != cause).map(|(_, held)| size(held)).max();
    // Not more than brings the cause to the level of the next one, or to nine tenths of what it has.
    let surplus = (size(most) - second.unwrap_or_default()).max(size(most) / 10).max(1);
    let left = if excess.rows > 0 {
        Held { rows: excess.rows.min(surplus), bytes: 0 }
    } else {
        Held { rows: 0, bytes: excess.bytes.min(surplus) }
    };
    Ok(Some(FailingCause { cause: cause.clone(), left }))
}
