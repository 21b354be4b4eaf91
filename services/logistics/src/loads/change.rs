//! Stores a change of the members of a load: by `PATCH`, or by a row of a batch.

use common::history::Changes;
use common::system::{self, DueShare, FoundFiles};
use common::{Caller, Error, JsonResponse};
use database::AnyConnection;

use super::history::{EventType, NewEvent};
use super::model::Load;
use super::send::file_owners;
use super::store::{self, Update};
use super::stored_load::StoredLoad;

/// Stores a load with these changes and all that follows from them. `kept` are the files that a new carrier gets.
/// Returns the load as the response, and the shares of files that are due after the transaction, `shares` among them.
pub(crate) fn store_change(
    c: &mut AnyConnection,
    caller: &Caller,
    stored: &StoredLoad,
    mut load: Load,
    changes: Changes,
    kept: &FoundFiles,
    mut shares: Vec<DueShare>,
) -> Result<(JsonResponse, Vec<DueShare>), Error> {
    let (before, id) = (&stored.load, load.id);
    // The events of a new carrier come after the creation.
    store::announce_one(c, id)?;
    load.revise();
    if changes.contains_key("carrierId") {
        let (owners, carrier) = (file_owners(before, &load, caller), load.carrier_id());
        shares.extend(kept.share_owned(caller, id, &owners, carrier.as_slice()));
    }
    shares.extend(store::release_carrier(c, before, &mut load, caller)?);
    let event = NewEvent { changes, ..NewEvent::new(id, EventType::Updated, caller) };
    let response = store::update(c, &Update { load: &load, event, proof: None })?;
    for share in &shares {
        system::record_share(c, Some(share))?;
    }
    Ok((response, shares))
}
