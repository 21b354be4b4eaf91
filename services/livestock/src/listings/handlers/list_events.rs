//! `GET /v1/listings/{id}/events`.

use actix_web::web::Data;
use actix_web::{HttpRequest, get};
use common::{Caller, Error, ErrorResponses, JsonResponse, ListParams, PathId, Query, history};

use crate::Livestock;
use crate::examples;
use crate::listings::events::{self, ListingEvent};
use crate::listings::store;

/// List the history of a listing
///
/// Returns an event for each change of the listing, oldest first, to its organisation and to `admin`.
#[utoipa::path(operation_id = "list_events_of_listing", tag = "listings", security(("bearer" = [])),
    params(("id" = String, Path, description = "The listing's id", example = json!(examples::LISTING)), ListParams),
    responses((status = 200, body = [ListingEvent]), ErrorResponses))]
#[get("/listings/{id}/events")]
pub(super) async fn list_events_of_listing(
    caller: Caller,
    path: PathId,
    query: Query<ListParams>,
    request: HttpRequest,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let (page, count) =
        query.check(|parameters, errors| (parameters.parse(&history::order(), errors), parameters.count))?;
    let (id, read_page) = (path.id()?, page.clone());
    let read = move |c: &mut _| {
        store::find_own(c, &caller, id)?;
        events::store::list(c, id, &read_page, count)
    };
    Ok(service.db.read(read).await?.response(&request, &service.public_url, &page))
}
