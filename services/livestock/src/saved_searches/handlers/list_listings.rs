//! `GET /v1/saved-searches/{id}/listings`.

use actix_web::web::Data;
use actix_web::{HttpRequest, get};
use common::{Caller, Error, ErrorResponses, IsHead, JsonResponse, PathId, Query};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::Livestock;
use crate::examples;
use crate::listings::{Listing, find_page, prepare_words, sort_by};
use crate::saved_searches::store;

/// The query parameters of the listing search that page and sort.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct PageOfListingsParams {
    /// Listings on a page, by default 20.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<i64>,
    /// Listings to skip.
    #[param(minimum = 0, maximum = 1_000_000)]
    offset: Option<i64>,
    /// Where the previous page ended: from the `next` link.
    #[param(max_length = 4096)]
    cursor: Option<String>,
    /// `true`: count all listings, in `X-Total-Count`.
    count: Option<bool>,
    /// As for the listing search. `distance` needs a point in the saved search.
    #[param(schema_with = sort_by)]
    sort_by: Option<String>,
    /// Descending if true, else ascending.
    sort_desc: Option<bool>,
}

impl PageOfListingsParams {
    /// Returns the parameters that are present, as texts by name.
    fn to_texts(&self) -> Vec<(&'static str, String)> {
        let number = |number: Option<i64>| number.map(|number| number.to_string());
        let flag = |flag: Option<bool>| flag.map(|flag| flag.to_string());
        let all = [
            ("limit", number(self.limit)),
            ("offset", number(self.offset)),
            ("cursor", self.cursor.clone()),
            ("count", flag(self.count)),
            ("sortBy", self.sort_by.clone()),
            ("sortDesc", flag(self.sort_desc)),
        ];
        all.into_iter().filter_map(|(name, text)| Some((name, text?))).collect()
    }
}

/// List the listings of a saved search
///
/// What the search finds now, for the caller. Sets `newMatches` to 0, except with HEAD.
#[utoipa::path(operation_id = "list_listings_of_saved_search", tag = "saved searches", security(("bearer" = [])),
    params(("id" = String, Path, description = "The saved search's id", example = json!(examples::SAVED_SEARCH)),
        PageOfListingsParams),
    responses((status = 200, body = [Listing]), ErrorResponses))]
#[get("/saved-searches/{id}/listings")]
pub(super) async fn list_listings_of_saved_search(
    caller: Caller,
    path: PathId,
    query: Query<PageOfListingsParams>,
    IsHead(is_head): IsHead,
    request: HttpRequest,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let of_request = query.check(|parameters, _| parameters.to_texts())?;
    let (id, reader) = (path.id()?, caller.clone());
    // Read before the listings: a match that is recorded meanwhile still counts afterwards.
    let stored = service.db.read(move |c| store::parameters(c, &reader, id)).await?;
    let mut search = service.parameter_rules.search(&stored.parameters, &of_request)?;
    prepare_words(&service.db, &service.facets, &mut search).await?;
    let page = search.page.clone();
    let found = find_page(&service.db, caller, search).await?;
    if stored.has_new && !is_head {
        service.db.write(move |c| store::mark_read(c, id, stored.matched)).await?;
    }
    Ok(found.response(&request, &service.public_url, &page))
}
