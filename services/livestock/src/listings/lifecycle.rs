//! The way of a listing: published once, closed for good.

use actix_web::post;
use actix_web::web::Data;
use common::wire::ActionResult;
use common::{Answer, Body, Caller, Error, Failures, Fingerprint, Once, PathId};
use database::{AnyConnection, Id};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::model::{Listing, Status};
use super::store;
use crate::Livestock;
use crate::measured::changed as changed_to;

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
/// From then on it is on the market and everybody may open its files. Publishing an active listing changes nothing.
#[utoipa::path(operation_id = "publish_listing", tag = "listings", security(("bearer" = [])),
    params(("id" = String, Path, description = "The listing's id")),
    responses((status = 200, body = ActionResult), Failures))]
#[post("/listings/{id}/publish")]
pub(super) async fn publish(
    caller: Caller,
    path: PathId,
    once: Once,
    print: Fingerprint,
    app: Data<Livestock>,
) -> Result<Answer, Error> {
    change(&app, caller, once, print, path.id()?, Status::Active).await
}

/// Close a listing
///
/// A draft can be cancelled: it stays visible to its organisation only. Closing it again in the same way changes nothing.
#[utoipa::path(operation_id = "close_listing", tag = "listings", security(("bearer" = [])),
    params(("id" = String, Path, description = "The listing's id")),
    request_body = Closing, responses((status = 200, body = ActionResult), Failures))]
#[post("/listings/{id}/close")]
pub(super) async fn close(
    caller: Caller,
    path: PathId,
    once: Once,
    body: Body<Closing>,
    app: Data<Livestock>,
) -> Result<Answer, Error> {
    let (form, print) = body.check(|_, _| {})?;
    change(&app, caller, once, print, path.id()?, form.status.into()).await
}

async fn change(
    app: &Livestock,
    caller: Caller,
    once: Once,
    print: Fingerprint,
    id: Id,
    to: Status,
) -> Result<Answer, Error> {
    let run = once.run_telling(&app.db, print, async || {
        if to == Status::Active {
            share_files(app, &caller, id).await?;
        }
        let caller = caller.clone();
        Ok(move |c: &mut _| Ok((done(to)?, step(c, &caller, id, to)?)))
    });
    let (answer, changed) = run.await?;
    if changed == Some(true) {
        changed_to(to).increment(1);
    }
    Ok(answer)
}

/// Shares the files of a listing that may be published, before it is: without system it stays a draft. Whoever publishes
/// again shares again, should the answer have been lost in between.
async fn share_files(app: &Livestock, caller: &Caller, id: Id) -> Result<(), Error> {
    let reader = caller.clone();
    let listing = app.db.read(move |c| {
        let listing = store::find_own(c, &reader, id)?;
        listing.status.changes_to(Status::Active)?;
        Ok::<Listing, Error>(listing)
    });
    app.files.share(caller, &listing.await?.files, &["*"]).await
}

/// Takes a listing, as it is in this transaction, to a status; says whether that is a change.
fn step(c: &mut AnyConnection, caller: &Caller, id: Id, to: Status) -> Result<bool, Error> {
    let mut listing = store::find_own(c, caller, id)?;
    let from = listing.status;
    let changed = from.changes_to(to)?;
    if changed {
        listing.status = to;
        let reason = (to != Status::Active).then_some(to.as_str());
        store::change_status(c, &listing, caller, from, reason)?;
    }
    Ok(changed)
}

fn done(to: Status) -> Result<Answer, Error> {
    let message = match to {
        Status::Active => "The listing is published.".to_owned(),
        closed => format!("The listing is closed: {}.", closed.as_str()),
    };
    Answer::json(&ActionResult::new(message))
}
