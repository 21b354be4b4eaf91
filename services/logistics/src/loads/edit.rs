//! The rules of editing a load (docs/api/loads.md, "Edit").

use common::history::Changes;
use common::system::{self, DueShare, FoundFiles};
use common::validation::{Code, ValidationErrors};
use common::wire::FileReference;
use common::{Caller, Error, JsonResponse, MergePatch, Precondition};
use database::AnyConnection;
use serde_json::json;

use crate::commodities::Catalogue;
use crate::loads::form::{LoadPatch, UNKNOWN_COMMODITY};
use crate::loads::history::{EventType, NewEvent};
use crate::loads::members::{self, Editor};
use crate::loads::model::{Commodity, Load};
use crate::loads::party::{Party, PartyNames};
use crate::loads::send::file_owners;
use crate::loads::status::{Action, Status};
use crate::loads::store::{self, Update};
use crate::loads::stored_load::StoredLoad;
use crate::loads::weights::reword_tonnes;
use crate::organisations::NamedBy;

/// Validates the rules that the schema cannot state.
pub(crate) fn validate(patch: &MergePatch<LoadPatch>, catalogue: &Catalogue, errors: &mut ValidationErrors) {
    let read_only = members::names(|member| member.editor == Editor::Nobody);
    patch.check_names(&read_only, &members::names(|member| member.is_required), errors);
    if patch.members.commodity_id.is_some_and(|id| catalogue.find(id).is_none()) {
        errors.push("commodityId", Code::UnknownReference, UNKNOWN_COMMODITY);
    }
    reword_tonnes("weight", errors);
    reword_tonnes("weightNet", errors);
    // The old carrier loses access, so that only `null` removes it.
    if patch.is_blank("carrierId") {
        let message = "must not be empty: null removes the carrier";
        errors.push_with("carrierId", Code::Length, message, json!({ "minimum": 1 }));
    }
    let keeps_name = patch.names("carrierName") && !patch.removes("carrierName");
    if patch.names("carrierName") && !patch.names("carrierId") || keeps_name && patch.removes("carrierId") {
        errors.push("carrierId", Code::Required, "is required with carrierName");
    }
}

/// The members that may still change once a load is collected.
const OF_COLLECTED: [&str; 6] =
    ["reference", "deliveryDateISO", "dropoffPostcode", "tags", "files", "vehicleRegistration"];

/// Checks that the caller may make this patch.
///
/// # Errors
/// 403 otherwise.
pub(crate) fn check_rights(
    patch: &MergePatch<LoadPatch>,
    stored: &StoredLoad,
    caller: &Caller,
) -> Result<(), Error> {
    if !stored.is_managed_by(caller) {
        if !stored.is_carried_by(caller) {
            return Err(Error::Forbidden("Only the organisations of a load can edit it."));
        }
        if members::names(|member| member.editor == Editor::Manager).iter().any(|name| patch.names(name)) {
            return Err(Error::Forbidden(
                "The carrier can change only vehicleRegistration, ticketNumber, weightNet and files.",
            ));
        }
    }
    Ok(())
}

/// Checks that the status of the load allows the patch, and then the condition of the request.
///
/// # Errors
/// 409 or 412 otherwise.
pub(crate) fn check_state(
    patch: &MergePatch<LoadPatch>,
    stored: &StoredLoad,
    caller: &Caller,
    condition: &Precondition,
) -> Result<(), Error> {
    Action::Edit.check(stored.load.status)?;
    if stored.load.status == Status::Collected {
        // The vehicle is its carrier's.
        let may_change = |name: &str| {
            let is_of_carrier = name == "vehicleRegistration";
            OF_COLLECTED.contains(&name) && (!is_of_carrier || stored.is_carried_by(caller))
        };
        let named = members::names(|member| member.editor != Editor::Nobody);
        if named.iter().any(|name| patch.names(name) && !may_change(name)) {
            return Action::AssignCarrier.check(Status::Collected);
        }
    }
    condition.check(stored.load.revision)
}

/// Returns the organisation that the patch makes the carrier, unless it is the carrier already.
pub(crate) fn new_carrier<'a>(patch: &'a MergePatch<LoadPatch>, load: &Load) -> Option<&'a str> {
    let carrier = patch.members.carrier_id.as_deref();
    carrier.filter(|carrier| load.carrier_id() != Some(carrier))
}

/// Returns the new carrier that a patch names, and the organisation in whose name.
pub(crate) fn new_carrier_named(
    patch: &MergePatch<LoadPatch>,
    load: &Load,
    caller: &Caller,
) -> Option<NamedBy> {
    let (named, by) = (new_carrier(patch, load)?, load.principal(caller)?);
    Some(NamedBy { named: named.to_owned(), by: by.to_owned() })
}

/// Applies a validated patch. `names` are those of the carrier, and `files` are the complete references of the files
/// that it names.
///
/// # Errors
/// 400 if the load would have neither an organiser with an id nor a carrier. 500 if the patch was not validated.
pub(crate) fn apply(
    patch: &MergePatch<LoadPatch>,
    load: &mut Load,
    catalogue: &Catalogue,
    names: &PartyNames,
    files: &[FileReference],
) -> Result<(), Error> {
    LoadPatch::apply_values(patch, load)?;
    if let Some(entry) = patch.members.commodity_id.and_then(|id| catalogue.find(id))
        && entry.id != load.commodity.id
    {
        load.commodity = Commodity { id: entry.id, name: entry.name.clone() };
    }
    if patch.names("files") && files.iter().map(|file| &file.id).ne(load.files.iter().map(|file| &file.id)) {
        let known = |file: &FileReference| load.files.iter().find(|known| known.id == file.id).cloned();
        load.files = files.iter().map(|file| known(file).unwrap_or_else(|| file.clone())).collect();
    }
    apply_carrier(patch, load, names)
}

fn apply_carrier(patch: &MergePatch<LoadPatch>, load: &mut Load, names: &PartyNames) -> Result<(), Error> {
    if !patch.names("carrierId") {
        return Ok(());
    }
    let LoadPatch { carrier_id, carrier_name, .. } = &patch.members;
    let current = load.carrier.as_ref().and_then(|carrier| carrier.id.as_deref());
    let is_same = carrier_id.as_ref().is_some_and(|id| current == Some(&*id.0));
    if is_same && carrier_name.is_none() {
        return Ok(());
    }
    let has_organiser = load.organiser.as_ref().is_some_and(|organiser| organiser.id.is_some());
    if carrier_id.is_none() && !has_organiser {
        let message = "cannot be removed from a load whose organiser has no id";
        return Err(ValidationErrors::one("carrierId", Code::Required, message).into());
    }
    load.carrier = Party::new(carrier_id.clone(), carrier_name.clone(), names);
    Ok(())
}

/// Stores a load that a `PATCH` or a row of a batch changed, and all that follows from the changes. `kept` are the
/// files that a new carrier gets.
///
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
