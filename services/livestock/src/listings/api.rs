//! Reading listings.

use actix_web::web::Data;
use actix_web::{HttpRequest, get};
use common::{Answer, Caller, Error, Failures, Format, PathId, Query};

use super::model::Listing;
use super::search::{self, Parameters};
use super::store;
use crate::Livestock;

/// Search listings
#[utoipa::path(operation_id = "search_listings", tag = "listings", security(("bearer" = [])), params(Parameters),
    responses((status = 200, body = [Listing]), Failures))]
#[get("/listings")]
pub(super) async fn search_listings(
    caller: Caller,
    query: Query<Parameters>,
    request: HttpRequest,
    app: Data<Livestock>,
) -> Result<Answer, Error> {
    let accepted = Format::accepted(&request, Format::Json);
    let search = query.check(|p, problems| p.understand(accepted, &app.categories, problems))?;
    let page = search.page.clone();
    let rows = app.db.read(move |c| search::store::search(c, &caller, &search)).await?;
    Ok(rows.answer(&request, &app.public_url, &page))
}

/// Get listing
#[utoipa::path(operation_id = "find_listing", tag = "listings", security(("bearer" = [])),
    params(("id" = String, Path, description = "The listing's id")),
    responses((status = 200, body = Listing), Failures))]
#[get("/listings/{id}")]
pub(super) async fn find(caller: Caller, path: PathId, app: Data<Livestock>) -> Result<Answer, Error> {
    let id = path.id()?;
    let document = app.db.read(move |c| store::find(c, &caller, id)).await?;
    Ok(Answer::raw(document.0))
}
