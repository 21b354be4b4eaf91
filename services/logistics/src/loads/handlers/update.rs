//! `PATCH /v1/loads/{id}`.

use actix_web::patch;
use actix_web::web::Data;
use common::system::{self, FoundFiles};
use common::validation::ValidationErrors;
use common::wire::FileReference;
use common::{Body, Caller, Error, ErrorResponses, JsonResponse, MergePatch, PathId, Precondition};

use crate::Logistics;
use crate::examples;
use crate::loads::edit;
use crate::loads::form::LoadPatch;
use crate::loads::history::{EventType, NewEvent};
use crate::loads::members::changes;
use crate::loads::model::Load;
use crate::loads::send::{file_owners, may_share_files};
use crate::loads::store::{self, Update};
use crate::loads::stored_load::StoredLoad;
use crate::organisations::{NamedBy, check_not_blocked};

/// Edit a load
///
/// A merge patch (RFC 7396) of an upcoming load. The organiser, the carrier that created the load and `admin` can
/// change all members of the patch. Another carrier can change only `vehicleRegistration`, `ticketNumber`,
/// `weightNet` and `files`.
#[utoipa::path(operation_id = "update_load", tag = "loads", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    params(("id" = String, Path, description = "The load's id", example = json!(examples::LOAD)),
        ("If-Match" = Option<String>, Header, description = "The revision that the client knows, as in `ETag`")),
    request_body(content((LoadPatch = "application/merge-patch+json"), (LoadPatch = "application/json"))),
    responses((status = 200, body = Load, headers(("ETag" = String, description = "The revision in quotes"))),
        (status = 412, description = "If-Match names another revision; `body.revision` is the current one."),
        ErrorResponses))]
#[patch("/loads/{id}")]
pub(super) async fn update(
    caller: Caller,
    path: PathId,
    condition: Precondition,
    body: Body<MergePatch<LoadPatch>>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let rules = |requested: &MergePatch<LoadPatch>, errors: &mut ValidationErrors| {
        edit::validate(requested, &app.commodities, errors);
    };
    // The files that the load has already are not looked up again.
    let found = find(&app, &caller, &path).await;
    let present: &[FileReference] = found.as_ref().map_or(&[], |stored| &stored.load.files);
    let present = present.to_vec();
    let (requested, _) = body
        .check_with_added_files(rules, &app.files, &caller, |requested| requested.members.files(), &present)
        .await?;
    let files = match prepare(&app, &caller, found, &condition, &requested).await {
        Ok(files) => files,
        Err(error) => {
            let named = requested.members.files();
            return Err(app.files.report_unknown_before(&caller, named, &present, error).await);
        }
    };
    let (id, service) = (path.id()?, app.clone());
    let effect = move |c: &mut _| {
        // Reads again: another request may have changed the load.
        let stored = store::find_stored(c, &caller, id)?;
        edit::check_rights(&requested, &stored, &caller)?;
        if let Some(naming) = new_carrier(&caller, &stored.load, &requested) {
            check_not_blocked(c, &naming)?;
        }
        edit::check_state(&requested, &stored, &caller, &condition)?;
        let (before, mut load) = (&stored.load, stored.load.clone());
        edit::apply(&requested, &mut load, &service.commodities, &caller, &files.named.references()?)?;
        let changes = changes(before, &load);
        if changes.is_empty() {
            return Ok((JsonResponse::json(&load)?.revision(load.revision), Vec::new()));
        }
        let mut shares = Vec::new();
        shares.extend(files.named.added(&before.files).share(&caller, id, &load.parties(), &load.parties()));
        if changes.contains_key("carrierId") {
            let (owners, carrier) = (file_owners(before, &load, &caller), load.carrier_id());
            shares.extend(files.kept.share_owned(&caller, id, &owners, carrier.as_slice()));
        }
        load.revise();
        shares.extend(store::release_carrier(c, before, &mut load, &caller)?);
        let event = NewEvent { changes, ..NewEvent::new(id, EventType::Updated, &caller) };
        let update = Update { load: &load, event, proof: None };
        let response = store::update(c, &update)?;
        for share in &shares {
            system::record_share(c, Some(share))?;
        }
        Ok::<_, Error>((response, shares))
    };
    let (response, shares) = app.db.write(effect).await?;
    app.webhooks.wake();
    for share in shares {
        app.shares.share(Some(share)).await;
    }
    Ok(response)
}

/// The files that a patch concerns.
struct PatchedFiles {
    /// Those that the patch names.
    named: FoundFiles,
    /// Those that the load keeps, if a new carrier gets them.
    kept: FoundFiles,
}

/// Returns the present load.
async fn find(app: &Logistics, caller: &Caller, path: &PathId) -> Result<StoredLoad, Error> {
    let (id, reader) = (path.id()?, caller.clone());
    app.db.read(move |c| store::find_stored(c, &reader, id)).await
}

/// Returns the new carrier that the patch names, if the load was not carried by it before.
fn new_carrier(caller: &Caller, load: &Load, patch: &MergePatch<LoadPatch>) -> Option<NamedBy> {
    let (named, by) = (edit::new_carrier(patch, load)?, load.principal(caller)?);
    Some(NamedBy { named: named.to_owned(), by: by.to_owned() })
}

/// Checks the request against the present load, and looks up the files.
async fn prepare(
    app: &Logistics,
    caller: &Caller,
    found: Result<StoredLoad, Error>,
    condition: &Precondition,
    requested: &MergePatch<LoadPatch>,
) -> Result<PatchedFiles, Error> {
    let stored = found?;
    edit::check_rights(requested, &stored, caller)?;
    if let Some(naming) = new_carrier(caller, &stored.load, requested) {
        app.db.read(move |c| check_not_blocked(c, &naming)).await?;
    }
    edit::check_state(requested, &stored, caller, condition)?;
    let (before, mut load) = (&stored.load, stored.load.clone());
    let named = app.files.look_up_added(caller, requested.members.files(), &before.files).await?;
    edit::apply(requested, &mut load, &app.commodities, caller, &named.references()?)?;
    let gets_files = load.carrier_id() != before.carrier_id() && may_share_files(caller, before, &load);
    let kept: Vec<_> = load.files.iter().filter(|file| before.has_file(&file.id)).cloned().collect();
    let kept = if gets_files { app.files.look_up(caller, &kept).await? } else { FoundFiles::default() };
    Ok(PatchedFiles { named, kept })
}
