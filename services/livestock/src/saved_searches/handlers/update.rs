//! `PATCH /v1/saved-searches/{id}`.

use actix_web::patch;
use actix_web::web::Data;
use common::validation::ValidationErrors;
use common::{Body, Caller, Error, ErrorResponses, JsonResponse, MergePatch, PathId, Precondition};

use crate::Livestock;
use crate::examples;
use crate::saved_searches::form::{SavedSearchPatch, validate_patch};
use crate::saved_searches::model::SavedSearch;
use crate::saved_searches::parameters::ParameterRules;
use crate::saved_searches::store;

/// Edit a saved search
///
/// A merge patch (RFC 7396), also of `parameters`. Listings that have matched once do not match again.
#[utoipa::path(operation_id = "update_saved_search", tag = "saved searches", security(("bearer" = [])),
    params(("id" = String, Path, description = "The saved search's id", example = json!(examples::SAVED_SEARCH)),
        ("If-Match" = Option<String>, Header, description = "The revision that the client knows, as in `ETag`")),
    request_body(content((SavedSearchPatch = "application/merge-patch+json"), (SavedSearchPatch = "application/json"))),
    responses((status = 200, body = SavedSearch, headers(("ETag" = String, description = "The revision in quotes"))),
        (status = 412, description = "If-Match names another revision; `body.revision` is the current one."),
        ErrorResponses))]
#[patch("/saved-searches/{id}")]
pub(super) async fn update_saved_search(
    caller: Caller,
    path: PathId,
    condition: Precondition,
    body: Body<MergePatch<SavedSearchPatch>>,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let rules = |patch: &MergePatch<SavedSearchPatch>, errors: &mut ValidationErrors| {
        validate_patch(patch, &service.parameter_rules, errors);
    };
    let (requested, _) = body.check(rules)?;
    let (id, rules, budget) = (path.id()?, service.parameter_rules.clone(), service.saved_search_bytes);
    let effect = move |c: &mut _| {
        let change = |search: &SavedSearch| apply(&requested, search, &rules);
        store::update(c, &caller, id, &condition, budget, change)
    };
    let stored = service.db.write(effect).await?;
    Ok(JsonResponse::raw(stored.document).revision(stored.revision))
}

/// Applies a patch.
///
/// # Errors
/// 400 if the parameters are invalid together.
fn apply(
    patch: &MergePatch<SavedSearchPatch>,
    search: &SavedSearch,
    rules: &ParameterRules,
) -> Result<SavedSearch, Error> {
    let SavedSearchPatch { name, parameters, notify } = &patch.members;
    let mut changed = search.clone();
    if let Some(name) = name {
        changed.name.clone_from(&name.0);
    }
    if let Some(parameters) = parameters {
        rules.merge(parameters, &mut changed.parameters);
        let mut errors = ValidationErrors::default();
        rules.check_all(&changed.parameters, &mut errors);
        errors.check()?;
    }
    changed.notify = notify.unwrap_or(changed.notify);
    // Searches that an earlier release saved may exceed the limits, as long as they stay as they are.
    if changed.parameters != search.parameters || (changed.notify && !search.notify) {
        let mut errors = ValidationErrors::default();
        rules.check_size(&changed.parameters, changed.notify, &mut errors);
        errors.check()?;
    }
    Ok(changed)
}
