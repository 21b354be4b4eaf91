//! Creating a listing, as a draft or at once for everybody.

use actix_web::post;
use actix_web::web::Data;
use common::wire::ActionResult;
use common::{Answer, Body, Caller, Error, Failures, Fingerprint, Granted, Member, Once, Policy};

use super::form::CattleForm;
use super::model::{Listing, NewListing, Status};
use super::store;
use crate::Livestock;

/// Create cattle listing
///
/// The header `Location` and the member `id` name the new listing.
#[utoipa::path(operation_id = "create_cattle_listing", tag = "listings", security(("bearer" = [])),
    request_body = CattleForm, responses((status = 200, body = ActionResult), Failures))]
#[post("/listings/cattle")]
pub(super) async fn create_cattle(
    caller: Granted<Member>,
    once: Once,
    body: Body<CattleForm>,
    app: Data<Livestock>,
) -> Result<Answer, Error> {
    let (form, print) = body.check(|form, problems| form.rules(&app.categories, problems))?;
    create(&app, &caller, once, print, form.into_new(&app.categories)?).await
}

async fn create(
    app: &Livestock,
    caller: &Caller,
    once: Once,
    print: Fingerprint,
    new: NewListing,
) -> Result<Answer, Error> {
    let organisation = caller.organisation.as_ref().ok_or(Error::Forbidden(Member::REFUSAL))?;
    once.run(&app.db, print, async || {
        let files = app.files.resolve(caller, &new.files, new.audience()).await?;
        let category = new.category;
        let listing = new.into_listing(&caller.user_id, organisation, files);
        let answer = made(&listing, &app.public_url)?;
        Ok(move |c: &mut _| store::create(c, &listing, category).map(|()| answer.clone()))
    })
    .await
}

fn made(listing: &Listing, public_url: &str) -> Result<Answer, Error> {
    let message = match listing.status {
        Status::Draft => "The draft is stored; only your organisation sees it.",
        _ => "The listing is published.",
    };
    let answer = Answer::json(&ActionResult::made(message, listing.id))?;
    Ok(answer.header("Location", format!("{public_url}/v1/listings/{}", listing.id)))
}
