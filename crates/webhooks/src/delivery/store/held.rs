//! The limit on the deliveries that an organisation holds: pending, delivered and failed together.

use std::collections::{BTreeMap, HashMap};

use common::Error;
use database::{AnyConnection, Id};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};

use super::{BATCH_SIZE, delete_rows, delete_unused, fail};
use crate::outbox::Status;
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

    /// Returns what is beyond a limit.
    pub(crate) fn beyond(self, limit: Self) -> Self {
        Self { rows: (self.rows - limit.rows).max(0), bytes: (self.bytes - limit.bytes).max(0) }
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
                if held.beyond(limit).is_empty() {
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

/// Returns the ids of the webhooks of an organisation, deleted ones too.
fn webhooks_of(c: &mut AnyConnection, organisation: &str) -> Result<Vec<String>, Error> {
    Ok(w::webhooks.filter(w::organisation_id.eq(organisation)).select(w::id).load(c)?)
}

/// Returns what an organisation holds.
pub(crate) fn count(c: &mut AnyConnection, organisation: &str) -> Result<Held, Error> {
    let webhooks = webhooks_of(c, organisation)?;
    let of_organisation = || d::webhook_deliveries.filter(d::webhook_id.eq_any(&webhooks));
    let rows: i64 = of_organisation().count().get_result(c)?;
    // An event has one body, whatever the number of webhooks.
    let bodies = of_organisation().filter(d::bytes.gt(0)).select((d::id, d::bytes)).distinct();
    let bodies: Vec<(Id, i64)> = bodies.load(c)?;
    Ok(Held { rows, bytes: bodies.iter().map(|(_, bytes)| bytes).sum() })
}

/// Deletes up to [`BATCH_SIZE`] of the oldest settled deliveries of an organisation that holds more than the limit.
/// Without any, makes as many of the oldest pending ones fail, of the cause that holds the most.
pub(crate) fn trim(c: &mut AnyConnection, organisation: &str, excess: Held) -> Result<(), Error> {
    let webhooks = webhooks_of(c, organisation)?;
    let mut settled = Vec::new();
    for webhook in &webhooks {
        for status in [Status::Delivered, Status::Failed] {
            let oldest = d::webhook_deliveries
                .filter(d::webhook_id.eq(webhook).and(d::status.eq(status.into_str())))
                .order(d::id)
                .limit(BATCH_SIZE)
                .select((d::id, d::webhook_id, d::bytes));
            settled.extend(oldest.load::<(Id, String, i64)>(c)?);
        }
    }
    if settled.is_empty() {
        return fail_oldest(c, &webhooks, excess);
    }
    settled.sort_unstable();
    let chosen = choose(settled, excess);
    for (webhook, ids) in &chosen {
        delete_rows(c, webhook, ids)?;
    }
    let ids: Vec<Id> = chosen.into_values().flatten().collect();
    delete_unused(c, &ids)
}

/// Returns the first deliveries that are enough, at most [`BATCH_SIZE`], by webhook.
fn choose(deliveries: Vec<(Id, String, i64)>, excess: Held) -> BTreeMap<String, Vec<Id>> {
    let (mut left, mut last) = (excess, None);
    let mut chosen: BTreeMap<String, Vec<Id>> = BTreeMap::new();
    for (id, webhook, bytes) in deliveries.into_iter().take(usize::try_from(BATCH_SIZE).unwrap_or_default()) {
        // A body is freed with the last of its deliveries.
        if left.rows <= 0 && left.bytes <= 0 && last != Some(id) {
            break;
        }
        left.rows -= 1;
        if last != Some(id) {
            left.bytes -= bytes;
        }
        last = Some(id);
        chosen.entry(webhook).or_default().push(id);
    }
    chosen
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

/// Makes the oldest pending deliveries fail, of the cause that has the most.
fn fail_oldest(c: &mut AnyConnection, webhooks: &[String], excess: Held) -> Result<(), Error> {
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
    let Some((cause, most)) = by_cause.iter().max_by_key(|(_, held)| size(held)) else { return Ok(()) };
    let second = by_cause.iter().filter(|(other, _)| *other != cause).map(|(_, held)| size(held)).max();
    // Not more than brings the cause to the level of the next one, or to nine tenths of what it has.
    let surplus = (size(most) - second.unwrap_or_default()).max(size(most) / 10).max(1);
    let excess = if excess.rows > 0 {
        Held { rows: excess.rows.min(surplus), bytes: 0 }
    } else {
        Held { rows: 0, bytes: excess.bytes.min(surplus) }
    };
    let mut pending = Vec::new();
    for webhook in webhooks {
        let oldest = d::webhook_deliveries
            .filter(d::webhook_id.eq(webhook).and(d::cause_id.eq(cause)).and(d::due_at.is_not_null()))
            .order(d::due_at)
            .limit(BATCH_SIZE)
            .select((d::id, d::webhook_id, d::bytes));
        pending.extend(oldest.load::<(Id, String, i64)>(c)?);
    }
    pending.sort_unstable();
    for (webhook, ids) in choose(pending, excess) {
        fail(c, &webhook, &ids)?;
    }
    Ok(())
}
