//! `PATCH /v1/listings/{id}`.

use actix_web::patch;
use actix_web::web::Data;
use common::system::{self, FoundFiles, PublicCall};
use common::validation::ValidationErrors;
use common::wire::FileReference;
use common::{Body, Caller, Error, ErrorResponses, JsonResponse, MergePatch, PathId, Precondition};
use database::Json;

use crate::Livestock;
use crate::examples;
use crate::listings::edit::{Editor, ListingPatch, StoredListing};
use crate::listings::events::{Actor, NewEvent};
use crate::listings::members::changes;
use crate::listings::model::{Listing, append_warnings};
use crate::listings::postcodes::{self, Finding};
use crate::listings::store::{self, mark};

/// Edit a listing
///
/// A merge patch (RFC 7396) of a draft or an active listing, by its organisation or `admin`. The result must satisfy
/// the rules for creating. The type of a published listing, and the main category, cannot be changed.
#[utoipa::path(operation_id = "update_listing", tag = "listings", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    params(("id" = String, Path, description = "The listing's id", example = json!(examples::LISTING)),
        ("If-Match" = Option<String>, Header, description = "The revision that the client knows, as in `ETag`")),
    request_body(content((ListingPatch = "application/merge-patch+json"), (ListingPatch = "application/json"))),
    responses((status = 200, body = Listing, headers(("ETag" = String, description = "The revision in quotes"))),
        (status = 412, description = "If-Match names another revision; `body.revision` is the current one."),
        ErrorResponses))]
#[patch("/listings/{id}")]
pub(super) async fn update_listing(
    caller: Caller,
    id: PathId,
    condition: Precondition,
    body: Body<MergePatch<ListingPatch>>,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let found = find(&service, &caller, &id).await;
    let rules = |patch: &MergePatch<ListingPatch>, errors: &mut ValidationErrors| {
        service.editor().validate(patch, found.as_ref().ok(), errors);
    };
    // The files that the listing has already are not looked up again.
    let present: &[FileReference] = found.as_ref().map_or(&[], |stored| &stored.listing.files);
    let present = present.to_vec();
    let (patch, _) = body
        .check_with_added_files(rules, &service.files, &caller, |patch| patch.members.files(), &present)
        .await?;
    let LookedUp { named, finding } = match look_up(&service, &caller, found, &condition, &patch).await {
        Ok(looked_up) => looked_up,
        Err(error) => {
            let files = patch.members.files();
            return Err(service.files.report_unknown_before(&caller, files, &present, error).await);
        }
    };
    let (id, app) = (id.id()?, service.clone());
    let effect = move |c: &mut _| {
        // Reads again: another request may have changed the listing.
        let (stored, editor) = (store::find_stored(c, &caller, id)?, app.editor());
        editor.check(&patch, &stored, &caller, &condition)?;
        let before = &stored.listing;
        let mut listing = editor.apply(&patch, &stored, &named.references()?)?;
        let is_due = patch.names("location") && finding.complete(&mut listing);
        let mut warnings = Editor::warnings(&patch, &listing);
        warnings.extend(finding.warning().filter(|_| patch.names("location")));
        let changes = changes(before, &listing);
        if changes.is_empty() {
            let mut document = Json::of(before)?.0;
            mark(c, &caller, id, &mut document)?;
            append_warnings(&mut document, &warnings)?;
            return Ok((JsonResponse::raw(document).revision(before.revision), None));
        }
        listing.revise();
        let owner = [listing.organisation_id.as_str()];
        let share = named.added(&before.files).share(&caller, id, &owner, listing.audience());
        let event = NewEvent { changes, ..NewEvent::new(&listing, Some(before.status), Actor::of(&caller)) };
        let mut stored = store::update(c, &stored, &event)?;
        mark(c, &caller, id, &mut stored.document)?;
        append_warnings(&mut stored.document, &warnings)?;
        let response = JsonResponse::raw(stored.document).revision(stored.revision);
        if patch.names("location") {
            postcodes::store::set_due(c, id, is_due)?;
        }
        system::record_share(c, share.as_ref())?;
        Ok::<_, Error>((response, share))
    };
    let (response, share) = service.db.write(effect).await?;
    service.webhooks.wake();
    service.shares.share(share).await;
    Ok(response)
}

/// Returns the present listing.
async fn find(service: &Livestock, caller: &Caller, path: &PathId) -> Result<StoredListing, Error> {
    let (id, reader) = (path.id()?, caller.clone());
    service.db.read(move |c| store::find_stored(c, &reader, id)).await
}

/// What system knows of a patch.
struct LookedUp {
    /// The files that the patch names.
    named: FoundFiles,
    /// The coordinates of the postcode, if the patch changes the location.
    finding: Finding,
}

/// Checks the request against the present listing, and looks up the files that the patch adds, and the postcode.
async fn look_up(
    service: &Livestock,
    caller: &Caller,
    found: Result<StoredListing, Error>,
    condition: &Precondition,
    patch: &MergePatch<ListingPatch>,
) -> Result<LookedUp, Error> {
    let stored = found?;
    service.editor().check(patch, &stored, caller, condition)?;
    let named = service.files.look_up_added(caller, patch.members.files(), &stored.listing.files).await?;
    let listing = service.editor().apply(patch, &stored, &named.references()?)?;
    let location = listing.location.as_ref().filter(|_| patch.names("location"));
    let finding = postcodes::find(&service.places, &PublicCall::of(caller), location).await;
    Ok(LookedUp { named, finding })
}
