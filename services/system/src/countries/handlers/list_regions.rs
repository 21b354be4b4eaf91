//! `GET /v1/regions` returns the regions of a country.

use actix_web::get;
use actix_web::web::Data;
use common::validation::ValidationErrors;
use common::wire::QueryText;
use common::{Error, ErrorResponses, JsonResponse, Query};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::System;
use crate::countries::model::{CountryRegions, parse_country_code};

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
pub(super) async fn list_regions(
    query: Query<RegionParams>,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let country = query.check(RegionParams::country)?;
    Ok(JsonResponse::raw(system.countries.regions(&country)?))
}
