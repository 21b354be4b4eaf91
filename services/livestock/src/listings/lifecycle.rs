//! The way of a listing: published once, closed for good.

use actix_web::post;
use actix_web::web::Data;
use common::files::{self, FoundFiles};
use common::wire::ActionResult;
use common::{Body, Caller, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, PathId};
use database::{AnyConnection, Id};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::model::{Listing, Status};
use super::store;
use crate::Livestock;
use crate::metrics::changed as changed_to;

/// How a listing is closed (interface.md, 4.3).
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = CloseListing)]
struct Closing {
    #[schema(required = true)]
    status: Outcome,
}

/// What became of it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ListingOutcome)]
enum Outcome {
    #[default]
    Sold,
    Found,
    Cancelled,
}

impl From<Outcome> for Status {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Sold => Self::Sold,
            Outcome::Found => Self::Found,
            Outcome::Cancelled => Self::Cancelled,
        }
    }
}

/// Publish a draft
///
/// From then on it is on the market and everybody may open those of its files that are its organisation's. A draft stays one
/// while a file of it is archived or not readable. Publishing an active listing changes nothing.
#[utoipa::path(operation_id = "publish_listing", tag = "listings", security(("bearer" = [])),
    params(("id" = String, Path, description = "The listing's id")),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/listings/{id}/publish")]
pub(super) async fn publish(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    fingerprint: Fingerprint,
    app: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    change(&app, caller, idempotency, fingerprint, path.id()?, Status::Active).await
}

/// Close a listing
///
/// A draft can be cancelled: it stays visible to its organisation only. Closing it again in the same way changes nothing.
#[utoipa::path(operation_id = "close_listing", tag = "listings", security(("bearer" = [])),
    params(("id" = String, Path, description = "The listing's id")),
    request_body = Closing, responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/listings/{id}/close")]
pub(super) async fn close(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    body: Body<Closing>,
    app: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let (form, fingerprint) = body.check(|_, _| {})?;
    change(&app, caller, idempotency, fingerprint, path.id()?, form.status.into()).await
}

async fn change(
    app: &Livestock,
    caller: Caller,
    idempotency: Idempotency,
    fingerprint: Fingerprint,
    id: Id,
    to: Status,
) -> Result<JsonResponse, Error> {
    let run = idempotency.run_with_output(&app.db, fingerprint, async || {
        let found =
            if to == Status::Active { look_up(app, &caller, id).await? } else { FoundFiles::default() };
        let caller = caller.clone();
        Ok(move |c: &mut _| {
            let (listing, changed) = step(c, &caller, id, to)?;
            let share = || found.share(&caller, id, &[&listing.organisation_id], listing.audience());
            let share = if changed { share() } else { None };
            files::record(c, share.as_ref())?;
            Ok((done(to)?, (changed, share)))
        })
    });
    let (answer, effect) = run.await?;
    if let Some((changed, share)) = effect {
        if changed {
            changed_to(to).increment(1);
        }
        app.shares.share(share).await;
    }
    Ok(answer)
}

/// Looks up the files of a draft that is to be published. It stays a draft without system, and while one of its files is
/// archived or not readable. Publishing an active listing again calls nobody: the outbox retries what is not shared yet.
async fn look_up(app: &Livestock, caller: &Caller, id: Id) -> Result<FoundFiles, Error> {
    let reader = caller.clone();
    let read = app.db.read(move |c| {
        let listing = store::find_own(c, &reader, id)?;
        let changes = listing.status.changes_to(Status::Active)?;
        Ok::<_, Error>((listing, changes))
    });
    let (listing, changes) = read.await?;
    if !changes {
        return Ok(FoundFiles::default());
    }
    let found = app.files.look_up(caller, &listing.files).await?;
    found.references()?;
    Ok(found)
}

/// Takes a listing, as it is in this transaction, to a status. Returns it, and whether that is a change.
fn step(c: &mut AnyConnection, caller: &Caller, id: Id, to: Status) -> Result<(Listing, bool), Error> {
    let mut listing = store::find_own(c, caller, id)?;
    let from = listing.status;
    let changed = from.changes_to(to)?;
    if changed {
        listing.status = to;
        let reason = (to != Status::Active).then_some(to.as_str());
        store::change_status(c, &listing, caller, from, reason)?;
    }
    Ok((listing, changed))
}

fn done(to: Status) -> Result<JsonResponse, Error> {
    let message = match to {
        Status::Active => "The listing is published.".to_owned(),
        closed => format!("The listing is closed: {}.", closed.as_str()),
    };
    JsonResponse::json(&ActionResult::new(message))
}
