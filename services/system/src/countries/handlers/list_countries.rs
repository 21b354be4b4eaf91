//! `GET /v1/countries` returns countries by code.

use actix_web::get;
use actix_web::web::Data;
use common::{Error, ErrorResponses, JsonResponse, Query};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::System;
use crate::countries::model::Country;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct CountryParams {
    /// `true` returns the enabled countries only, `false` the others only. Default: all countries.
    enabled: Option<bool>,
}

/// List countries
///
/// Returns all countries of ISO 3166-1 by their alpha-2 codes.
#[utoipa::path(operation_id = "list_countries", tag = "countries", params(CountryParams),
    responses((status = 200, body = BTreeMap<String, Country>), ErrorResponses))]
#[get("/countries")]
pub(super) async fn list_countries(
    query: Query<CountryParams>,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let enabled = query.check(|params, _| params.enabled)?;
    Ok(JsonResponse::raw(system.countries.list(enabled)))
}
