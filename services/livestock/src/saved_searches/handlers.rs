//! The operations on saved searches.

use actix_web::web::Data;
use actix_web::{HttpRequest, delete, get, patch, post};
use common::system::PublicCall;
use common::validation::{Code, ValidationErrors};
use common::wire::ActionResult;
use common::{
    Body, Caller, Error, ErrorResponses, Idempotency, IsHead, JsonResponse, ListParams, MergePatch, PathId,
    Precondition, Query, Sorting, WithEtag,
};
use database::{AnyConnection, Id};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::listings::{Listing, Point, UNKNOWN_NEAR, find_page, find_point, sort_by};
use crate::saved_searches::form::{SavedSearchForm, SavedSearchPatch, validate_form, validate_patch};
use crate::saved_searches::model::{NewSavedSearch, SavedSearch};
use crate::saved_searches::parameters::{NEAR, PREFIX, ParameterRules, Parameters, near};
use crate::saved_searches::store;
use crate::{Livestock, examples};

/// Registers the operations.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(create_saved_search)
        .service(list_saved_searches)
        .service(list_listings_of_saved_search)
        .service(find_saved_search)
        .service(update_saved_search)
        .service(delete_saved_search);
}

/// Save a search
///
/// Only the user who saved it sees it. A user can save 50 searches, with at most 4 KiB of parameters each; with
/// `notify` these have at most 50 values. With `notify`, each listing that is published or edited so that it matches
/// for the first time counts in `newMatches`, and is the event `listing.matched` to the webhooks of the organisation
/// that the user acts for now.
#[utoipa::path(operation_id = "create_saved_search", tag = "saved searches", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    request_body = SavedSearchForm, responses((status = 200, body = SavedSearch), ErrorResponses))]
#[post("/saved-searches")]
async fn create_saved_search(
    caller: Caller,
    idempotency: Idempotency,
    body: Body<SavedSearchForm>,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let rules = |form: &SavedSearchForm, errors: &mut ValidationErrors| {
        validate_form(form, &service.parameter_rules, errors);
    };
    let report_near = async |form: &SavedSearchForm, errors: &mut ValidationErrors| {
        errors.extend(unknown_near(&service, &caller, &form.parameters).await);
    };
    let (form, fingerprint) = body.check_and_complete(rules, report_near).await?;
    let mut new = NewSavedSearch {
        id: Id::new(),
        user_id: caller.user_id.clone(),
        organisation_id: caller.organisation_id_or_empty().to_owned(),
        parameters: form.parameters(&service.parameter_rules),
        name: form.name.0,
        near: None,
        notify: form.notify,
    };
    let location = format!("{}/v1/saved-searches/{}", service.public_url, new.id);
    let budget = service.saved_search_bytes;
    let prepare = async || {
        new.near = find_near(&service, &caller, &new.parameters).await?;
        Ok(move |c: &mut AnyConnection| {
            let stored = store::create(c, &new, budget)?;
            let response = JsonResponse::raw(stored.document).revision(stored.revision);
            Ok(response.header("Location", location.clone()))
        })
    };
    idempotency.run(&service.db, fingerprint, prepare).await
}

/// Returns the point that the parameter `near` names, if there is one.
///
/// # Errors
/// 400 if it is not known, 503 if system is unavailable.
async fn find_near(
    service: &Livestock,
    caller: &Caller,
    parameters: &Parameters,
) -> Result<Option<Point>, Error> {
    let Some(text) = near(parameters) else { return Ok(None) };
    let found = find_point(&service.places, &PublicCall::of(caller), text).await?;
    let path = format!("{PREFIX}{NEAR}");
    let unknown = || ValidationErrors::one(path, Code::UnknownReference, UNKNOWN_NEAR);
    Ok(Some(found.ok_or_else(unknown)?))
}

/// Returns the error of a parameter `near` that is not known.
async fn unknown_near(service: &Livestock, caller: &Caller, parameters: &Parameters) -> ValidationErrors {
    match find_near(service, caller, parameters).await {
        Err(Error::Validation(errors)) => errors,
        _ => ValidationErrors::default(),
    }
}

/// List saved searches
///
/// Those of the caller, newest first.
#[utoipa::path(operation_id = "list_saved_searches", tag = "saved searches", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(ListParams), responses((status = 200, body = [SavedSearch]), ErrorResponses))]
#[get("/saved-searches")]
async fn list_saved_searches(
    caller: Caller,
    query: Query<ListParams>,
    request: HttpRequest,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let (page, count) = query
        .check(|parameters, errors| (parameters.parse(&Sorting::newest_first(), errors), parameters.count))?;
    let read_page = page.clone();
    let found = service.db.read(move |c| store::list(c, &caller, &read_page, count)).await?;
    Ok(found.response(&request, &service.public_url, &page))
}

/// The query parameters of the listing search that page and sort.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct PageOfListingsParams {
    /// Listings on a page, by default 20.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<i64>,
    /// Listings to skip.
    #[param(minimum = 0, maximum = 1_000_000)]
    offset: Option<i64>,
    /// Where the previous page ended: from the `next` link.
    #[param(max_length = 4096)]
    cursor: Option<String>,
    /// `true`: count all listings, in `X-Total-Count`.
    count: Option<bool>,
    /// As for the listing search. `distance` needs a point in the saved search.
    #[param(schema_with = sort_by)]
    sort_by: Option<String>,
    /// Descending if true, else ascending.
    sort_desc: Option<bool>,
}

impl PageOfListingsParams {
    /// Returns the parameters that are present, as texts by name.
    fn to_texts(&self) -> Vec<(&'static str, String)> {
        let number = |number: Option<i64>| number.map(|number| number.to_string());
        let flag = |flag: Option<bool>| flag.map(|flag| flag.to_string());
        let all = [
            ("limit", number(self.limit)),
            ("offset", number(self.offset)),
            ("cursor", self.cursor.clone()),
            ("count", flag(self.count)),
            ("sortBy", self.sort_by.clone()),
            ("sortDesc", flag(self.sort_desc)),
        ];
        all.into_iter().filter_map(|(name, text)| Some((name, text?))).collect()
    }
}

/// List the listings of a saved search
///
/// What the search finds now, for the caller. Sets `newMatches` to 0, except with HEAD.
#[utoipa::path(operation_id = "list_listings_of_saved_search", tag = "saved searches", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(("id" = String, Path, description = "The saved search's id", example = json!(examples::SAVED_SEARCH)),
        PageOfListingsParams),
    responses((status = 200, body = [Listing]), ErrorResponses))]
#[get("/saved-searches/{id}/listings")]
async fn list_listings_of_saved_search(
    caller: Caller,
    path: PathId,
    query: Query<PageOfListingsParams>,
    IsHead(is_head): IsHead,
    request: HttpRequest,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let of_request = query.check(|parameters, _| parameters.to_texts())?;
    let (id, reader) = (path.id()?, caller.clone());
    // Read before the listings: a match that is recorded meanwhile still counts afterwards.
    let stored = service.db.read(move |c| store::parameters(c, &reader, id)).await?;
    let search = service.parameter_rules.search(&stored.parameters, stored.near, &of_request)?;
    let candidates = service.facets.candidates(&service.db, &search).await?;
    let page = search.page.clone();
    let found = find_page(&service.db, caller, search, candidates).await?;
    if stored.has_new && !is_head {
        service.db.write(move |c| store::mark_read(c, id, stored.matched)).await?;
    }
    Ok(found.response(&request, &service.public_url, &page))
}

/// Get a saved search
#[utoipa::path(operation_id = "find_saved_search", tag = "saved searches", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(("id" = String, Path, description = "The saved search's id", example = json!(examples::SAVED_SEARCH)),
        ("If-None-Match" = Option<String>, Header, description = "Revisions that the client knows")),
    responses((status = 200, body = SavedSearch, headers(("ETag" = String, description = "The revision in quotes"))),
        (status = 304, description = "The client knows this revision."), ErrorResponses))]
#[get("/saved-searches/{id}")]
async fn find_saved_search(
    caller: Caller,
    path: PathId,
    service: Data<Livestock>,
) -> Result<WithEtag, Error> {
    let id = path.id()?;
    service.db.read(move |c| store::find(c, &caller, id)).await
}

/// Edit a saved search
///
/// A merge patch (RFC 7396), also of `parameters`. Listings that have matched once do not match again.
#[utoipa::path(operation_id = "update_saved_search", tag = "saved searches", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(("id" = String, Path, description = "The saved search's id", example = json!(examples::SAVED_SEARCH)),
        ("If-Match" = Option<String>, Header, description = "The revision that the client knows, as in `ETag`")),
    request_body(content((SavedSearchPatch = "application/merge-patch+json"), (SavedSearchPatch = "application/json"))),
    responses((status = 200, body = SavedSearch, headers(("ETag" = String, description = "The revision in quotes"))),
        (status = 412, description = "If-Match names another revision; `body.revision` is the current one."),
        ErrorResponses))]
#[patch("/saved-searches/{id}")]
async fn update_saved_search(
    caller: Caller,
    path: PathId,
    condition: Precondition,
    body: Body<MergePatch<SavedSearchPatch>>,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let rules = |patch: &MergePatch<SavedSearchPatch>, errors: &mut ValidationErrors| {
        validate_patch(patch, &service.parameter_rules, errors);
    };
    let report_near = async |patch: &MergePatch<SavedSearchPatch>, errors: &mut ValidationErrors| {
        let parameters = patch.members.parameters.iter().flatten();
        let parameters = parameters.map(|(name, value)| (name.clone(), value.clone())).collect();
        errors.extend(unknown_near(&service, &caller, &parameters).await);
    };
    let (requested, _) = body.check_and_complete(rules, report_near).await?;
    let point = match &requested.members.parameters {
        Some(parameters) => find_near(&service, &caller, parameters).await?,
        None => None,
    };
    let (id, rules, budget) = (path.id()?, service.parameter_rules.clone(), service.saved_search_bytes);
    let effect = move |c: &mut _| {
        let change = |search: &SavedSearch| apply(&requested, search, point, &rules);
        store::update(c, &caller, id, &condition, budget, change)
    };
    let stored = service.db.write(effect).await?;
    Ok(JsonResponse::raw(stored.document).revision(stored.revision))
}

/// Applies a patch. `point` is the one that its parameter `near` names.
///
/// # Errors
/// 400 if the parameters are invalid together.
fn apply(
    patch: &MergePatch<SavedSearchPatch>,
    search: &SavedSearch,
    point: Option<Point>,
    rules: &ParameterRules,
) -> Result<SavedSearch, Error> {
    let SavedSearchPatch { name, parameters, notify } = &patch.members;
    let mut changed = search.clone();
    if let Some(name) = name {
        changed.name.clone_from(&name.0);
    }
    if let Some(parameters) = parameters {
        rules.merge(parameters, &mut changed.parameters);
        if parameters.contains_key(NEAR) {
            changed.near = point;
        }
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

/// Delete a saved search
#[utoipa::path(operation_id = "delete_saved_search", tag = "saved searches", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(("id" = String, Path, description = "The saved search's id", example = json!(examples::SAVED_SEARCH_TO_DELETE)),
        ("If-Match" = Option<String>, Header, description = "The revision that the client knows, as in `ETag`")),
    responses((status = 200, body = ActionResult),
        (status = 412, description = "If-Match names another revision; `body.revision` is the current one."),
        ErrorResponses))]
#[delete("/saved-searches/{id}")]
async fn delete_saved_search(
    caller: Caller,
    path: PathId,
    condition: Precondition,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    service.db.write(move |c| store::delete(c, &caller, id, &condition)).await?;
    JsonResponse::json(&ActionResult::new("The saved search is deleted."))
}
