//! What a notification is, and what of it is sent.

use std::time::Duration;

use database::{Id, Timestamp};
use diesel::{Queryable, Selectable};
use serde::Serialize;
use utoipa::ToSchema;

use crate::loads::Load;
use crate::schema::notifications;

/// After so many tries in vain it has failed.
pub const MAX_ATTEMPTS: i32 = 10;
/// The longest pause between two tries.
const LONGEST: Duration = Duration::from_secs(8 * 3600);

/// What a notification tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub enum Event {
    /// A load was sent to its driver.
    #[serde(rename = "load.sent_to_driver")]
    SentToDriver,
    /// A load was sent to its carrier.
    #[serde(rename = "load.sent_to_carrier")]
    SentToCarrier,
}

impl Event {
    /// All there are.
    pub const ALL: [Self; 2] = [Self::SentToDriver, Self::SentToCarrier];

    /// As stored and sent.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SentToDriver => "load.sent_to_driver",
            Self::SentToCarrier => "load.sent_to_carrier",
        }
    }
}

/// How far a notification has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = NotificationStatus)]
pub enum Status {
    /// To be delivered, perhaps not for the first time.
    Pending,
    /// The receiver has taken it.
    Delivered,
    /// Given up; it can be redelivered.
    Failed,
}

impl Status {
    /// As stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }
}

/// An entry of a load's delivery log (contract, section 6, "Shapes of additions").
#[derive(Clone, Debug, Serialize, Queryable, Selectable, ToSchema)]
#[diesel(table_name = notifications)]
#[serde(rename_all = "camelCase")]
pub struct Notification {
    /// UUIDv7; receivers know it as `webhook-id`.
    #[schema(value_type = String, format = Uuid)]
    pub id: Id,
    /// What it tells.
    #[schema(value_type = Event)]
    pub event: String,
    /// The driver or carrier.
    pub recipient_id: String,
    /// How far it has come.
    #[schema(value_type = Status)]
    pub status: String,
    /// Tries so far, the running one among them.
    pub attempts: i32,
    /// When it was recorded.
    #[serde(rename = "createdAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When the receiver took it.
    #[serde(rename = "deliveredAtUTC", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub delivered_at: Option<Timestamp>,
}

/// The body of a delivery (contract, section 6, "Shapes of additions").
#[derive(Serialize)]
pub struct Message<'a> {
    pub id: Id,
    #[serde(rename = "type")]
    pub event: Event,
    pub timestamp: Timestamp,
    pub data: Data<'a>,
}

/// What a delivery is about.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Data<'a> {
    pub notification_id: Id,
    pub load_id: Id,
    pub recipient_id: &'a str,
    pub load: &'a Load,
}

/// How long to wait after so many tries in vain: `base`, then three times as long each time, of which a random half is
/// left out, so that what failed together does not come back together.
pub fn pause(attempts: i32, base: Duration) -> Duration {
    let tripled = 3_u32.saturating_pow(u32::try_from(attempts - 1).unwrap_or_default());
    let whole = base.saturating_mul(tripled).min(LONGEST);
    whole.mul_f64(rand::random_range(0.5..=1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_eight_hours_and_differ() {
        let base = Duration::from_secs(15);
        for (attempts, whole) in
            [(1, 15), (2, 45), (5, 1215), (8, 8 * 3600), (9, 8 * 3600), (i32::MAX, 8 * 3600)]
        {
            for _ in 0..100 {
                let paused = pause(attempts, base).as_secs_f64();
                assert!(
                    (f64::from(whole) / 2.0..=f64::from(whole)).contains(&paused),
                    "{attempts}: {paused}"
                );
            }
        }
        assert_ne!(pause(9, base), pause(9, base));
        assert_eq!(pause(9, Duration::ZERO), Duration::ZERO);
    }
}
