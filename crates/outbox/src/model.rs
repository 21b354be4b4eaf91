//! Outboxes, their messages, and the outcomes of delivery.

use std::collections::HashMap;
use std::time::Duration;

use common::Error;
use database::{AnyConnection, Id, Json, Timestamp};
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantNames};
use utoipa::ToSchema;

/// Reads the bodies of messages.
pub type ReadBodies = fn(&mut AnyConnection, &[Id]) -> Result<HashMap<Id, Json>, Error>;

/// The table of an outbox. It has the columns `id`, `event`, `status`, `attempts`, `pending_since`, `due_at`,
/// `claimed_until`, `delivered_at`, `last_error` and `body`, and is indexed by `due_at`, by `pending_since` and by the
/// group with `due_at`.
///
/// Pending messages have a `due_at`, others have none: the partial indexes of both databases depend on that.
#[derive(Debug)]
pub struct Outbox {
    /// What a message is called in the log, in the singular.
    pub name: &'static str,
    /// The plural of it.
    pub plural: &'static str,
    /// The name of the trace of a delivery.
    pub trace: &'static str,
    /// The name of the table.
    pub table: &'static str,
    /// The text column whose values take turns in delivery. With `id` it identifies a message.
    pub group: &'static str,
    /// SQL after `FROM turns`, whose column `key` is a group: groups that it drops are not delivered.
    pub join: &'static str,
    /// The SQL expression of the owner of a group. The groups of an owner share its slots.
    pub owner: &'static str,
    /// The SQL expression of the number of slots that a group may hold.
    pub max_slots: &'static str,
    /// The text column whose values take turns within a group, if messages of a group have several causes.
    pub cause: Option<&'static str>,
    /// Returns the bodies that are not in the table, where it has `null`. [`unclaimed`] is the `claimed_until` of all
    /// messages of such an outbox.
    pub bodies: Option<ReadBodies>,
    /// SQL that is added to the changes of a redelivery, beginning with a comma.
    pub on_redelivery: &'static str,
}

/// Returns the `claimed_until` of a message that no replica claims, in an outbox whose bodies are in another table: a
/// time that never comes. Replicas of the release 1.1, which know no other table, leave such messages alone.
pub fn unclaimed() -> Timestamp {
    Timestamp::from_millis(253_402_214_400_000).unwrap_or_else(Timestamp::now)
}

impl Outbox {
    /// Returns the `claimed_until` of a message of this outbox that no replica claims: [`unclaimed`] if its bodies are
    /// in another table, else NULL.
    pub(crate) fn unclaimed_until(&self) -> Option<Timestamp> {
        self.bodies.map(|_| unclaimed())
    }
}

/// The delivery status of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, IntoStaticStr, VariantNames, ToSchema)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
#[schema(as = DeliveryStatus)]
pub enum Status {
    /// Waits for its first attempt or a retry.
    Pending,
    /// The receiver acknowledged it.
    Delivered,
    /// All attempts failed. It can be redelivered.
    Failed,
}

impl Status {
    /// Returns the name that is stored and sent.
    pub fn into_str(self) -> &'static str {
        self.into()
    }
}

/// A message that this replica alone delivers until its lease expires.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// The id of the message, which receivers get as `webhook-id`.
    pub id: Id,
    /// The group of the message.
    pub group: String,
    /// The owner of the group.
    pub owner: String,
    /// The number of slots that the group may hold.
    pub max_slots: usize,
    /// The reported event.
    pub event: String,
    /// Delivery attempts, including this one.
    pub attempts: i32,
    /// End of the lease. Identifies the claim.
    pub until: Timestamp,
    /// The body to deliver; empty if it was deleted.
    pub body: Json,
    /// The cause of the message, which may be an empty text; `None` in an outbox without causes.
    pub cause: Option<String>,
}

/// Why an attempt failed.
#[derive(Clone, Debug)]
pub enum Failure {
    /// A later attempt may succeed.
    Retry {
        /// Why the attempt failed.
        reason: String,
        /// The pause that the receiver asks for.
        after: Option<Duration>,
    },
    /// No attempt can succeed. Without a reason nothing was attempted.
    Final(String),
}

/// A delivery attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DeliveryTry)]
pub struct Try {
    /// When it began.
    #[serde(rename = "atUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The status of the answer, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub status: Option<u16>,
    /// Why it failed, as in `lastError`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<String>,
}

/// The outcome of a delivery attempt.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The receiver acknowledged the message.
    Delivered,
    /// The attempt failed. The next one is due after the backoff.
    Retry {
        /// Time from the record of this outcome to the next attempt.
        backoff: Duration,
        /// Why the attempt failed.
        reason: String,
    },
    /// The last attempt failed with this reason. It is empty if nothing was attempted.
    Failed(String),
}

/// The messages that are pending.
#[derive(Debug)]
pub struct Backlog {
    /// Their number.
    pub pending: i64,
    /// Time for which the oldest one has been pending.
    pub oldest: Option<Duration>,
}
