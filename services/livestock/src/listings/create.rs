//! Creating a listing, as a draft or at once for everybody.

use actix_web::post;
use actix_web::web::Data;
use common::validation::ValidationErrors;
use common::wire::ActionResult;
use common::{
    Authorized, Body, Caller, Error, ErrorResponses, Idempotency, JsonResponse, Member, Policy, files,
};

use super::form::{BeddingForm, CattleForm, FeedForm, Form, SheepForm, WorkingDogForm};
use super::model::{Listing, Status};
use super::store;
use crate::Livestock;

/// The operation that creates listings of a category: all five do the same.
macro_rules! operation {
    ($(#[$doc:meta])* $name:ident, $id:literal, $path:literal, $form:ty) => {
        $(#[$doc])*
        ///
        /// The header `Location` and the member `id` name the new listing.
        #[utoipa::path(operation_id = $id, tag = "listings", security(("bearer" = [])),
            request_body = $form, responses((status = 200, body = ActionResult), ErrorResponses))]
        #[post($path)]
        pub(super) async fn $name(
            caller: Authorized<Member>,
            idempotency: Idempotency,
            body: Body<$form>,
            app: Data<Livestock>,
        ) -> Result<JsonResponse, Error> {
            create(&app, &caller, idempotency, body).await
        }
    };
}

operation!(
    /// Create sheep listing
    sheep, "create_sheep_listing", "/listings/sheep", SheepForm
);
operation!(
    /// Create cattle listing
    cattle, "create_cattle_listing", "/listings/cattle", CattleForm
);
operation!(
    /// Create working dog listing
    working_dog, "create_working_dog_listing", "/listings/working-dog", WorkingDogForm
);
operation!(
    /// Create feed listing
    feed, "create_feed_listing", "/listings/feed", FeedForm
);
operation!(
    /// Create bedding listing
    bedding, "create_bedding_listing", "/listings/bedding", BeddingForm
);

async fn create<F: Form>(
    app: &Livestock,
    caller: &Caller,
    idempotency: Idempotency,
    body: Body<F>,
) -> Result<JsonResponse, Error> {
    let rules = |form: &F, errors: &mut ValidationErrors| form.rules(app, errors);
    let (form, fingerprint) = body.check_with_files(rules, &app.files, caller, F::files).await?;
    let new = form.into_new(app)?;
    let organisation = caller.organisation.as_ref().ok_or(Error::Forbidden(Member::DENIED_MESSAGE))?;
    let run = idempotency.run_with_output(&app.db, fingerprint, async || {
        let found = app.files.look_up(caller, &new.files).await?;
        let category = new.category;
        let listing = new.into_listing(&caller.user_id, organisation, found.references()?);
        let share = found.share(caller, listing.id, &[&listing.organisation_id], listing.audience());
        let answer = made(&listing, &app.public_url)?;
        Ok(move |c: &mut _| {
            store::create(c, &listing, category)?;
            files::record(c, share.as_ref())?;
            Ok((answer.clone(), share.clone()))
        })
    });
    let (answer, share) = run.await?;
    app.shares.share(share.flatten()).await;
    Ok(answer)
}

fn made(listing: &Listing, public_url: &str) -> Result<JsonResponse, Error> {
    let message = match listing.status {
        Status::Draft => "The draft is stored; only your organisation sees it.",
        _ => "The listing is published.",
    };
    let answer = JsonResponse::json(&ActionResult::created(message, listing.id))?;
    Ok(answer.header("Location", format!("{public_url}/v1/listings/{}", listing.id)))
}
