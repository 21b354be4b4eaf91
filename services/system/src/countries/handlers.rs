//! `GET /v1/countries` returns countries by code, `GET /v1/regions` the regions of a country. The routes need no token
//! and exist under `/v1` and `/v1/public`.

use actix_web::get;
use actix_web::web::Data;
use common::validation::ValidationErrors;
use common::wire::QueryText;
use common::{Error, ErrorResponses, JsonResponse, Query};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_actix_web::service_config::ServiceConfig;

use super::model::{Country, CountryRegions, parse_country_code};
use crate::System;

/// Registers the routes in one of the two groups.
pub(crate) fn routes(group: &mut ServiceConfig) {
    group.service(list_countries);
    group.service(list_regions);
}

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
async fn list_countries(query: Query<CountryParams>, system: Data<System>) -> Result<JsonResponse, Error> {
    let enabled = query.check(|params, _| params.enabled)?;
    Ok(JsonResponse::raw(system.countries.list(enabled)))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct RegionParams {
    /// ISO 3166-1 alpha-2 code of the country, in any case. Default: `GB`.
    #[serde(rename = "countryISO")]
    #[param(example = "GB")]
    country_iso: Option<QueryText>,
}

impl RegionParams {
    fn country(&self, errors: &mut ValidationErrors) -> String {
        let code = self.country_iso.as_deref().unwrap_or("GB");
        parse_country_code(code, errors).unwrap_or_default()
    }
}

/// Get country regions
///
/// Returns the subdivisions of ISO 3166-2.
#[utoipa::path(operation_id = "list_regions", tag = "countries", params(RegionParams),
    responses((status = 200, body = CountryRegions), ErrorResponses))]
#[get("/regions")]
async fn list_regions(query: Query<RegionParams>, system: Data<System>) -> Result<JsonResponse, Error> {
    let country = query.check(RegionParams::country)?;
    Ok(JsonResponse::raw(system.countries.regions(&country)?))
}
