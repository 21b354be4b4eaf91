//! Limits on concurrent deliveries: in total, and for each organisation.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use common::Error;
use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::notifications::claim::ClaimRequest;

/// Maximum number of concurrent deliveries.
const MAX_DELIVERIES: u32 = 32;
/// Maximum number of concurrent deliveries for one organisation. A receiver that hangs for one organisation leaves the
/// other slots free.
const MAX_DELIVERIES_PER_ORGANISATION: usize = 16;

/// The delivery slots of this replica.
pub(crate) struct Slots {
    /// A permit for each free slot.
    permits: Arc<Semaphore>,
    rotation: Mutex<Rotation>,
    /// Notified when an organisation releases one of the last slots it may hold.
    wake: Arc<Notify>,
}

/// The order in which organisations get slots.
#[derive(Debug, Default)]
struct Rotation {
    /// Number of slots that each organisation holds.
    in_flight: HashMap<String, usize>,
    /// Organisation that got the last slot.
    last: String,
}

impl Slots {
    /// Creates the slots, all of them free.
    pub(crate) fn new(wake: Arc<Notify>) -> Self {
        let permits = Arc::new(Semaphore::new(MAX_DELIVERIES as usize));
        Self { permits, rotation: Mutex::default(), wake }
    }

    /// Waits until a slot is free, and takes all that are free.
    ///
    /// # Errors
    /// If the semaphore was closed, which never happens.
    pub(crate) async fn acquire_free(&self) -> Result<OwnedSemaphorePermit, Error> {
        let closed = |_| Error::Internal(anyhow::anyhow!("the slots were closed"));
        let mut free = self.permits.clone().acquire_owned().await.map_err(closed)?;
        while let Ok(permit) = self.permits.clone().try_acquire_owned() {
            free.merge(permit);
        }
        Ok(free)
    }

    /// Returns the request that claims notifications for this many free slots.
    pub(crate) fn claim_request(&self, slots: usize, lease: Duration) -> ClaimRequest {
        let rotation = self.rotation.lock();
        ClaimRequest {
            slots,
            max_slots_per_organisation: MAX_DELIVERIES_PER_ORGANISATION,
            in_flight: rotation.in_flight.clone(),
            last: rotation.last.clone(),
            lease,
        }
    }

    /// Gives a slot to an organisation until the result is dropped.
    pub(crate) fn hold(
        self: &Arc<Self>,
        organisation_id: &str,
        permit: Option<OwnedSemaphorePermit>,
    ) -> HeldSlot {
        let mut rotation = self.rotation.lock();
        *rotation.in_flight.entry(organisation_id.to_owned()).or_default() += 1;
        organisation_id.clone_into(&mut rotation.last);
        drop(rotation);
        HeldSlot { slots: self.clone(), organisation_id: organisation_id.to_owned(), _permit: permit }
    }

    /// Waits until all slots are free, and takes them for good.
    pub(crate) async fn drain(&self) {
        if let Ok(all) = self.permits.acquire_many(MAX_DELIVERIES).await {
            all.forget();
        }
    }
}

/// A slot that an organisation holds until this is dropped.
pub(crate) struct HeldSlot {
    slots: Arc<Slots>,
    organisation_id: String,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Drop for HeldSlot {
    fn drop(&mut self) {
        let mut rotation = self.slots.rotation.lock();
        let Some(held) = rotation.in_flight.get_mut(&self.organisation_id) else { return };
        let was_full = *held >= MAX_DELIVERIES_PER_ORGANISATION;
        *held -= 1;
        if *held == 0 {
            rotation.in_flight.remove(&self.organisation_id);
        }
        drop(rotation);
        // The organisation may have due notifications that wait for this slot.
        if was_full {
            self.slots.wake.notify_one();
        }
    }
}
