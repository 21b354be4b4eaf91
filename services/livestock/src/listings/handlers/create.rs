//! `POST /v1/listings/{category}`: one operation for each main category.

use actix_web::post;
use actix_web::web::Data;
use common::system::PublicCall;
use common::validation::ValidationErrors;
use common::wire::{ActionResult, Warning};
use common::{
    Authorized, Body, Caller, Error, ErrorResponses, Idempotency, JsonResponse, Member, Policy, system,
};

use crate::Livestock;
use crate::listings::category_forms::{
    BeddingForm, CategoryForm, CattleForm, FeedForm, SheepForm, WorkingDogForm,
};
use crate::listings::events::Actor;
use crate::listings::model::{Listing, Status};
use crate::listings::{postcodes, price, store};

/// Create sheep listing
///
/// The header `Location` and the member `id` identify the new listing.
#[utoipa::path(operation_id = "create_sheep_listing", tag = "listings", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    request_body = SheepForm, responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/listings/sheep")]
pub(super) async fn create_sheep_listing(
    caller: Authorized<Member>,
    idempotency: Idempotency,
    body: Body<SheepForm>,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    create(&service, &caller, idempotency, body).await
}

/// Create cattle listing
///
/// The header `Location` and the member `id` identify the new listing.
#[utoipa::path(operation_id = "create_cattle_listing", tag = "listings", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    request_body = CattleForm, responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/listings/cattle")]
pub(super) async fn create_cattle_listing(
    caller: Authorized<Member>,
    idempotency: Idempotency,
    body: Body<CattleForm>,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    create(&service, &caller, idempotency, body).await
}

/// Create working dog listing
///
/// The header `Location` and the member `id` identify the new listing.
#[utoipa::path(operation_id = "create_working_dog_listing", tag = "listings", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    request_body = WorkingDogForm, responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/listings/working-dog")]
pub(super) async fn create_working_dog_listing(
    caller: Authorized<Member>,
    idempotency: Idempotency,
    body: Body<WorkingDogForm>,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    create(&service, &caller, idempotency, body).await
}

/// Create feed listing
///
/// The header `Location` and the member `id` identify the new listing.
#[utoipa::path(operation_id = "create_feed_listing", tag = "listings", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    request_body = FeedForm, responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/listings/feed")]
pub(super) async fn create_feed_listing(
    caller: Authorized<Member>,
    idempotency: Idempotency,
    body: Body<FeedForm>,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    create(&service, &caller, idempotency, body).await
}

/// Create bedding listing
///
/// The header `Location` and the member `id` identify the new listing.
#[utoipa::path(operation_id = "create_bedding_listing", tag = "listings", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    request_body = BeddingForm, responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/listings/bedding")]
pub(super) async fn create_bedding_listing(
    caller: Authorized<Member>,
    idempotency: Idempotency,
    body: Body<BeddingForm>,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    create(&service, &caller, idempotency, body).await
}

/// The message for an organisation that has reached `service.new_listings_per_hour`.
const TOO_MANY_LISTINGS: &str = "Your organisation has created as many listings as it may in an hour.";

async fn create<F: CategoryForm>(
    service: &Livestock,
    caller: &Caller,
    idempotency: Idempotency,
    body: Body<F>,
) -> Result<JsonResponse, Error> {
    let rules = |form: &F, errors: &mut ValidationErrors| form.validate(&service.categories, errors);
    let (form, fingerprint) = body.check_with_files(rules, &service.files, caller, F::files).await?;
    let ignored = price::ignored(form.parts().0.ignored_amounts());
    let new = form.into_new_listing(&service.categories, &service.breeds)?;
    let organisation = caller.organisation.as_ref().ok_or(Error::Forbidden(Member::DENIED_MESSAGE))?;
    let run = idempotency.run_with_output(&service.db, fingerprint, async || {
        service.new_listings.check(&caller.tenant(), TOO_MANY_LISTINGS)?;
        let files = service.files.look_up(caller, &new.files).await?;
        let category = new.category;
        let by = PublicCall::of(caller);
        let finding = postcodes::find(&service.places, &by, new.location.as_ref()).await;
        let mut listing = new.into_listing(&caller.user_id, organisation, files.references()?);
        let is_due = finding.complete(&mut listing);
        let share = files.share(caller, listing.id, &[&listing.organisation_id], listing.audience());
        let warnings = ignored.into_iter().chain(finding.warning()).collect();
        let (response, creator) = (created(&listing, warnings, &service.public_url)?, caller.clone());
        Ok(move |c: &mut _| {
            store::create(c, &listing, category, Actor::of(&creator))?;
            if is_due {
                postcodes::store::set_due(c, listing.id, true)?;
            }
            system::record_share(c, share.as_ref())?;
            Ok((response.clone(), share.clone()))
        })
    });
    // The future is large, and every caller of this function would contain it.
    let (response, share) = Box::pin(run).await?;
    if share.is_some() {
        service.new_listings.add(&caller.tenant(), 1);
    }
    service.webhooks.wake();
    service.shares.share(share.flatten()).await;
    Ok(response)
}

fn created(listing: &Listing, warnings: Vec<Warning>, public_url: &str) -> Result<JsonResponse, Error> {
    let message = match listing.status {
        Status::Draft => "The draft is stored; only your organisation sees it.",
        _ => "The listing is published.",
    };
    let response =
        JsonResponse::json(&ActionResult { warnings, ..ActionResult::created(message, listing.id) })?;
    Ok(response.header("Location", format!("{public_url}/v1/listings/{}", listing.id)))
}
