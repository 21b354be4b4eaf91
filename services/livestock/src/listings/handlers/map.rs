//! The response of a search as a map.

use actix_web::HttpRequest;
use common::{Caller, Error, GEO_JSON_MEDIA_TYPE, JsonResponse, MAX_FEATURES};

use crate::Livestock;
use crate::listings::find_page::{find_page, prepare};
use crate::listings::map::{FeatureCollection, points};
use crate::listings::search::ListingSearch;

/// Returns the listings of a search as points, or as clusters, up to 10,000.
pub(super) async fn map(
    service: &Livestock,
    caller: Caller,
    mut search: ListingSearch,
    request: &HttpRequest,
) -> Result<JsonResponse, Error> {
    search.page.limit = search.page.limit.min(MAX_FEATURES);
    // In a box or within a distance are only listings with coordinates.
    let may_lack_coordinates = search.bounding_area().is_none();
    let counts = if search.cluster_zoom.is_some() || may_lack_coordinates {
        Some(service.facets.map(&service.db, &caller, &search).await?)
    } else {
        None
    };
    let without_coordinates = counts.as_ref().map_or(0, |counts| counts.without_coordinates);
    if let (Some(_), Some(counts)) = (search.cluster_zoom, counts) {
        let total: u64 = counts.clusters.iter().map(|cluster| u64::from(cluster.count)).sum();
        let map = FeatureCollection::of_clusters(counts.clusters, search.page.limit, without_coordinates);
        let response = JsonResponse::json(&map)?.media_type(GEO_JSON_MEDIA_TYPE);
        return Ok(if search.count { response.header("X-Total-Count", total.to_string()) } else { response });
    }
    prepare(&service.db, &service.facets, &mut search).await?;
    let (page, audience, categories) = (search.page.clone(), search.audience, service.categories.clone());
    let mut found = find_page(&service.db, caller, search).await?;
    let (documents, is_truncated) = (std::mem::take(&mut found.documents), found.next.is_some());
    // Thousands of listings take some tenths of a second.
    let write = move || {
        let features = points(&documents, &categories, audience)?;
        JsonResponse::json(&FeatureCollection::new(features, is_truncated, without_coordinates))
    };
    let written = actix_web::web::block(write).await.map_err(|error| Error::Internal(error.into()))?;
    let response = written?.media_type(GEO_JSON_MEDIA_TYPE);
    Ok(found.add_headers(response, request, &service.public_url, &page))
}
