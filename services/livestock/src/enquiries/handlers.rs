//! The operations on enquiries.

use actix_web::web::Data;
use actix_web::{HttpRequest, get, post};
use common::validation::ValidationErrors;
use common::wire::{ActionResult, QueryText};
use common::{
    Body, Caller, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, ListParams, PageRequest,
    PathId, Query, Sorting, text_choice,
};
use database::Id;
use serde::Deserialize;
use strum::VariantNames;
use utoipa::IntoParams;
use utoipa::openapi::schema::Object;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::enquiries::enquiries;
use crate::enquiries::model::EnquiryForm;
use crate::enquiries::store::{self, EnquirySearch};
use crate::listings::{Enquiry, EnquiryStatus};
use crate::{Livestock, examples};

/// Registers the operations.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(send_enquiry).service(list_enquiries).service(mark_enquiry_answered);
}

/// Enquire about a listing
///
/// Sends a message to the organisation of an active listing, which gets the event `listing.enquiry`. A user can enquire
/// 20 times a day (UTC), and once a day about a listing. Users without an organisation can enquire too.
#[utoipa::path(operation_id = "send_enquiry", tag = "enquiries", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    params(("id" = String, Path, description = "The listing's id", example = json!(examples::FOREIGN_LISTING))),
    request_body = EnquiryForm,
    responses((status = 200, body = ActionResult),
        (status = 429, description = "The user has sent 20 enquiries today."), ErrorResponses))]
#[post("/listings/{id}/enquiries")]
async fn send_enquiry(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    body: Body<EnquiryForm>,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let (form, fingerprint) = body.check(EnquiryForm::check)?;
    let listing = path.id()?;
    let run = idempotency.run_with_output(&service.db, fingerprint, async || {
        Ok(move |c: &mut _| {
            let id = store::create(c, &caller, listing, &form)?;
            let result = ActionResult {
                id: Some(id.to_string()),
                ..ActionResult::new("The seller has your enquiry.")
            };
            Ok((JsonResponse::json(&result)?, id))
        })
    });
    let (response, sent) = run.await?;
    if let Some(enquiry) = sent {
        service.webhooks.wake();
        enquiries().increment(1);
        tracing::info!(%listing, %enquiry, "an enquiry was sent");
    }
    Ok(response)
}

/// Query parameters of the list of enquiries.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct EnquiryParams {
    #[serde(flatten)]
    #[param(ignore)]
    page: ListParams,
    /// `sent`: those that the caller sent. By default those about the listings of the caller's organisation, for
    /// `admin` all.
    #[param(schema_with = scope)]
    scope: Option<String>,
    /// Those about one listing.
    #[serde(rename = "f:listingId")]
    listing_id: Option<QueryText>,
    /// By default both.
    #[serde(rename = "f:status")]
    #[param(schema_with = status)]
    status: Option<String>,
}

fn scope() -> Object {
    text_choice(&["received", "sent"])
}

fn status() -> Object {
    text_choice(EnquiryStatus::VARIANTS)
}

impl EnquiryParams {
    fn parse(&self, errors: &mut ValidationErrors) -> (EnquirySearch, PageRequest, bool) {
        let search = EnquirySearch {
            is_sent: self.scope.as_deref() == Some("sent"),
            // A text that is no id names no listing.
            listing: self.listing_id.as_deref().map(|id| Id::parse(id).unwrap_or(Id::NIL)),
            status: self.status.clone(),
        };
        (search, self.page.parse(&Sorting::newest_first(), errors), self.page.count)
    }
}

/// List enquiries
///
/// Newest first. They are deleted after a year.
#[utoipa::path(operation_id = "list_enquiries", tag = "enquiries", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(ListParams, EnquiryParams), responses((status = 200, body = [Enquiry]), ErrorResponses))]
#[get("/enquiries")]
async fn list_enquiries(
    caller: Caller,
    query: Query<EnquiryParams>,
    request: HttpRequest,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let (search, page, count) = query.check(EnquiryParams::parse)?;
    let read_page = page.clone();
    let found = service.db.read(move |c| store::list(c, &caller, &search, &read_page, count)).await?;
    Ok(found.response(&request, &service.public_url, &page))
}

/// Mark an enquiry as answered
///
/// For the organisation of the listing. An answered enquiry stays as it is.
#[utoipa::path(operation_id = "mark_enquiry_answered", tag = "enquiries", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    params(("id" = String, Path, description = "The enquiry's id", example = json!(examples::ENQUIRY))),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/enquiries/{id}/answered")]
async fn mark_enquiry_answered(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    fingerprint: Fingerprint,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    let mark = async || {
        Ok(move |c: &mut _| {
            store::mark_answered(c, &caller, id)?;
            JsonResponse::json(&ActionResult::new("The enquiry is answered."))
        })
    };
    idempotency.run(&service.db, fingerprint, mark).await
}
