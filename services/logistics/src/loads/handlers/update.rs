//! `PATCH /v1/loads/{id}`.

use actix_web::patch;
use actix_web::web::Data;
use common::system::FoundFiles;
use common::validation::ValidationErrors;
use common::wire::FileReference;
use common::{Body, Caller, Error, ErrorResponses, JsonResponse, MergePatch, PathId, Precondition};

use crate::loads::form::LoadPatch;
use crate::loads::members::changes;
use crate::loads::model::Load;
use crate::loads::party::PartyNames;
use crate::loads::send::may_share_files;
use crate::loads::stored_load::StoredLoad;
use crate::loads::{edit, store};
use crate::organisations::check_not_blocked;
use crate::{Logistics, examples};

/// Edit a load
///
/// A merge patch (RFC 7396) of an upcoming load, or of some members of a collected one. The organiser, the carrier that
/// created the load and `admin` can change all members of the patch. Another carrier can change only
/// `vehicleRegistration`, `ticketNumber`, `weightNet` and `files`.
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
    let carrier: Vec<String> = requested.members.carrier_id.iter().map(|id| id.0.clone()).collect();
    let party_names =
        app.address_book.names(&caller, carrier.clone(), requested.members.carrier_name.is_none()).await?;
    let files = match prepare(&app, &caller, found, &condition, (&requested, &party_names)).await {
        Ok(files) => files,
        Err(error) => {
            let named = requested.members.files();
            return Err(app.files.report_unknown_before(&caller, named, &present, error).await);
        }
    };
    let warnings: Vec<_> = carrier.iter().filter_map(|id| party_names.warning("carrierId", id)).collect();
    let (id, service) = (path.id()?, app.clone());
    let effect = move |c: &mut _| {
        // Reads again: another request may have changed the load.
        let stored = store::find_stored(c, &caller, id)?;
        edit::check_rights(&requested, &stored, &caller)?;
        if let Some(naming) = edit::new_carrier_named(&requested, &stored.load, &caller) {
            check_not_blocked(c, &naming)?;
        }
        edit::check_state(&requested, &stored, &caller, &condition)?;
        let (before, mut load) = (&stored.load, stored.load.clone());
        edit::apply(&requested, &mut load, &service.commodities, &party_names, &files.named.references()?)?;
        let changes = changes(before, &load);
        if changes.is_empty() {
            return Ok((JsonResponse::json(&load)?.revision(load.revision), Vec::new()));
        }
        let share = files.named.added(&before.files).share(&caller, id, &load.parties(), &load.parties());
        let kept = files.kept.only(&load.files);
        edit::store_change(c, &caller, &stored, load, changes, &kept, share.into_iter().collect())
    };
    let (response, shares) = app.db.write(effect).await?;
    app.webhooks.wake();
    for share in shares {
        app.shares.share(Some(share)).await;
    }
    response.warnings(&warnings)
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

/// Checks the request against the present load, and looks up the files.
async fn prepare(
    app: &Logistics,
    caller: &Caller,
    found: Result<StoredLoad, Error>,
    condition: &Precondition,
    (requested, party_names): (&MergePatch<LoadPatch>, &PartyNames),
) -> Result<PatchedFiles, Error> {
    let stored = found?;
    edit::check_rights(requested, &stored, caller)?;
    if let Some(naming) = edit::new_carrier_named(requested, &stored.load, caller) {
        app.db.read(move |c| check_not_blocked(c, &naming)).await?;
    }
    edit::check_state(requested, &stored, caller, condition)?;
    let (before, mut load) = (&stored.load, stored.load.clone());
    let named = app.files.look_up_added(caller, requested.members.files(), &before.files).await?;
    edit::apply(requested, &mut load, &app.commodities, party_names, &named.references()?)?;
    let gets_files = load.carrier_id() != before.carrier_id() && may_share_files(caller, before, &load);
    let kept: Vec<_> = load.files.iter().filter(|file| before.has_file(&file.id)).cloned().collect();
    let kept = if gets_files { app.files.look_up(caller, &kept).await? } else { FoundFiles::default() };
    Ok(PatchedFiles { named, kept })
}
