//! `POST /v1/saved-searches`.

use actix_web::post;
use actix_web::web::Data;
use common::validation::ValidationErrors;
use common::{Body, Caller, Error, ErrorResponses, Idempotency, JsonResponse, UnknownParameters};
use database::{AnyConnection, Id};

use crate::Livestock;
use crate::saved_searches::form::{SavedSearchForm, validate_form};
use crate::saved_searches::model::{NewSavedSearch, SavedSearch};
use crate::saved_searches::parameters::Parameters;
use crate::saved_searches::store;

/// Save a search
///
/// Only the user who saved it sees it. A user can save 50 searches. With `notify`, each listing that is published or
/// edited so that it matches for the first time counts in `newMatches`, and is the event `listing.matched` to the
/// webhooks of the organisation that the user acts for now.
#[utoipa::path(operation_id = "create_saved_search", tag = "saved searches", security(("bearer" = [])),
    request_body = SavedSearchForm, responses((status = 200, body = SavedSearch), ErrorResponses))]
#[post("/saved-searches")]
pub(super) async fn create_saved_search(
    caller: Caller,
    idempotency: Idempotency,
    unknown: UnknownParameters,
    body: Body<SavedSearchForm>,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let rules = |form: &SavedSearchForm, errors: &mut ValidationErrors| {
        validate_form(form, &service.parameter_rules, unknown, errors);
    };
    let (form, fingerprint) = body.check(rules)?;
    let mut parameters = Parameters::new();
    service.parameter_rules.merge(&form.parameters, &mut parameters);
    let new = NewSavedSearch {
        id: Id::new(),
        user_id: caller.user_id.clone(),
        organisation_id: caller.organisation_id_or_empty().to_owned(),
        name: form.name.0,
        parameters,
        notify: form.notify,
    };
    let location = format!("{}/v1/saved-searches/{}", service.public_url, new.id);
    let unknown = service.parameter_rules.unknown_names(&form.parameters);
    let effect = move |c: &mut AnyConnection| {
        let stored = store::create(c, &new)?;
        let response = JsonResponse::raw(stored.document).revision(stored.revision);
        Ok(UnknownParameters::name_in(response.header("Location", location.clone()), &unknown))
    };
    idempotency.run(&service.db, fingerprint, async || Ok(effect)).await
}
