//! `POST /v1/saved-searches`.

use actix_web::post;
use actix_web::web::Data;
use common::validation::ValidationErrors;
use common::{Body, Caller, Error, ErrorResponses, Idempotency, JsonResponse};
use database::{AnyConnection, Id};

use crate::Livestock;
use crate::saved_searches::form::{SavedSearchForm, validate_form};
use crate::saved_searches::model::{NewSavedSearch, SavedSearch};
use crate::saved_searches::store;

/// Save a search
///
/// Only the user who saved it sees it. A user can save 50 searches, with at most 4 KiB of parameters each; with
/// `notify` these have at most 50 values. With `notify`, each listing that is published or edited so that it matches
/// for the first time counts in `newMatches`, and is the event `listing.matched` to the webhooks of the organisation
/// that the user acts for now.
#[utoipa::path(operation_id = "create_saved_search", tag = "saved searches", security(("bearer" = [])),
    request_body = SavedSearchForm, responses((status = 200, body = SavedSearch), ErrorResponses))]
#[post("/saved-searches")]
pub(super) async fn create_saved_search(
    caller: Caller,
    idempotency: Idempotency,
    body: Body<SavedSearchForm>,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let rules = |form: &SavedSearchForm, errors: &mut ValidationErrors| {
        validate_form(form, &service.parameter_rules, errors);
    };
    let (form, fingerprint) = body.check(rules)?;
    let new = NewSavedSearch {
        id: Id::new(),
        user_id: caller.user_id.clone(),
        organisation_id: caller.organisation_id_or_empty().to_owned(),
        parameters: form.parameters(&service.parameter_rules),
        name: form.name.0,
        notify: form.notify,
    };
    let location = format!("{}/v1/saved-searches/{}", service.public_url, new.id);
    let budget = service.saved_search_bytes;
    let effect = move |c: &mut AnyConnection| {
        let stored = store::create(c, &new, budget)?;
        let response = JsonResponse::raw(stored.document).revision(stored.revision);
        Ok(response.header("Location", location.clone()))
    };
    idempotency.run(&service.db, fingerprint, async || Ok(effect)).await
}
