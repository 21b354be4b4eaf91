//! `PATCH /v1/loads/{id}`.

use actix_web::patch;
use actix_web::web::Data;
use common::files::{self, FoundFiles};
use common::validation::ValidationErrors;
use common::{Body, Caller, Error, ErrorResponses, JsonResponse, MergePatch, PathId, Precondition};

use crate::Logistics;
use crate::loads::edit::{self, LoadPatch};
use crate::loads::history::{EventType, NewEvent, changes};
use crate::loads::model::Load;
use crate::loads::send::may_share_files_with_carrier;
use crate::loads::store::{self, Update};

/// Edit a load
///
/// A merge patch (RFC 7396) of an upcoming load. The organisation that created the load, the organiser and `admin` can
/// change all members of the patch, the carrier only `vehicleRegistration`, `ticketNumber`, `weightNet` and `files`.
#[utoipa::path(operation_id = "update_load", tag = "loads", security(("bearer" = [])),
    params(("id" = String, Path, description = "The load's id"),
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
    let (requested, _) =
        body.check_with_files(rules, &app.files, &caller, |requested| requested.members.files()).await?;
    let files = match prepare(&app, &caller, &path, &condition, &requested).await {
        Ok(files) => files,
        Err(error) => {
            return Err(app.files.report_unknown_before(&caller, requested.members.files(), error).await);
        }
    };
    let (id, service) = (path.id()?, app.clone());
    let effect = move |c: &mut _| {
        // Reads again: another request may have changed the load.
        let stored = store::find_stored(c, &caller, id)?;
        edit::check(&requested, &stored, &caller, &condition)?;
        let (before, mut load) = (&stored.load, stored.load.clone());
        edit::apply(&requested, &mut load, &service.commodities, &caller, &files.named.references()?)?;
        let changes = changes(before, &load);
        if changes.is_empty() {
            return Ok((JsonResponse::json(&load)?.revision(stored.revision), Vec::new()));
        }
        let mut shares = Vec::new();
        let (added, kept) = files.named.partition(&before.files);
        shares.extend(added.share(&caller, id, &load.parties(), &load.parties()));
        if changes.contains_key("carrierId") {
            let kept = if requested.names("files") { &kept } else { &files.present };
            let carrier = load.carrier.as_ref().and_then(|carrier| carrier.id.as_deref());
            shares.extend(kept.share_owned(&caller, id, &load.file_owners(), carrier.as_slice()));
        }
        let event = NewEvent { changes, ..NewEvent::new(id, EventType::Updated, &caller) };
        let update = Update { load: &load, revision: stored.revision + 1, event, proof: None };
        let response = store::update(c, &update)?;
        for share in &shares {
            files::record(c, Some(share))?;
        }
        Ok::<_, Error>((response, shares))
    };
    let (response, shares) = app.db.write(effect).await?;
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
    present: FoundFiles,
}

/// Checks the request against the present load, and looks up the files.
async fn prepare(
    app: &Logistics,
    caller: &Caller,
    path: &PathId,
    condition: &Precondition,
    requested: &MergePatch<LoadPatch>,
) -> Result<PatchedFiles, Error> {
    let (id, reader) = (path.id()?, caller.clone());
    let stored = app.db.read(move |c| store::find_stored(c, &reader, id)).await?;
    edit::check(requested, &stored, caller, condition)?;
    let named = app.files.look_up(caller, requested.members.files()).await?;
    let mut load = stored.load;
    edit::apply(requested, &mut load, &app.commodities, caller, &named.references()?)?;
    let gets_files = requested.names("carrierId") && !requested.names("files");
    let present = if gets_files && may_share_files_with_carrier(caller, &load) {
        app.files.look_up(caller, &load.files).await?
    } else {
        FoundFiles::default()
    };
    Ok(PatchedFiles { named, present })
}
