//! `GET /v1/locations/…` finds a location by three words, by address id or by coordinates.

use actix_web::get;
use actix_web::web::Data;
use common::{Error, ErrorResponses, JsonResponse, Query};

use crate::System;
use crate::places::model::Location;
use crate::places::params::{AddressIdParams, CoordinatesParams, WordsParams};

/// Get location by three-word address
///
/// The coordinates are the centre of the cell. An address that does not exist in the deployment's scheme is refused
/// with up to three similar addresses in `data.suggestions`.
#[utoipa::path(operation_id = "find_location_by_words", tag = "locations", params(WordsParams),
    responses((status = 200, body = Location), ErrorResponses))]
#[get("/locations/three-words")]
pub(super) async fn by_words(query: Query<WordsParams>, system: Data<System>) -> Result<JsonResponse, Error> {
    let words = query.check(WordsParams::parse)?;
    JsonResponse::json(&system.places.find_by_words(&words).await?)
}

/// Get location by address id
#[utoipa::path(operation_id = "find_location_by_address", tag = "locations", params(AddressIdParams),
    responses(
        (status = 200, body = Location), (status = 404, description = "The source has no address with this id."),
        ErrorResponses))]
#[get("/locations/address")]
pub(super) async fn by_address_id(
    query: Query<AddressIdParams>,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let sources = system.places.sources();
    let (id, source) = query.check(|params, errors| params.parse(&sources, errors))?;
    JsonResponse::json(&system.places.find_by_address_id(source, &id).await?)
}

/// Get location by coordinates
///
/// Returns the requested coordinates with the nearest address.
#[utoipa::path(operation_id = "find_location_by_coordinates", tag = "locations", params(CoordinatesParams),
    responses((status = 200, body = Location), ErrorResponses))]
#[get("/locations/coordinates")]
pub(super) async fn by_coordinates(
    query: Query<CoordinatesParams>,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let coordinates = query.check(CoordinatesParams::parse)?;
    JsonResponse::json(&system.places.find_by_coordinates(coordinates).await?)
}
