//! The operations on countries. None needs a caller; each is served for browsers too, under `/v1/public`.

use actix_web::get;
use actix_web::web::Data;
use common::validation::ValidationErrors;
use common::wire::QueryText;
use common::{Error, ErrorResponses, JsonResponse, Query};
use serde::Deserialize;
use utoipa::IntoParams;

use super::model::{Country, Regions};
use crate::System;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct List {
    /// Only the countries that are enabled, or only the others; all if absent
    enabled: Option<bool>,
}

/// List countries
///
/// All countries of ISO 3166-1 by their alpha-2 codes.
#[utoipa::path(operation_id = "list_countries", tag = "countries", params(List),
    responses((status = 200, body = BTreeMap<String, Country>), ErrorResponses))]
#[get("/countries")]
pub(super) async fn list(query: Query<List>, system: Data<System>) -> Result<JsonResponse, Error> {
    let enabled = query.check(|query, _| query.enabled)?;
    Ok(JsonResponse::raw(system.countries.list(enabled)))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct Within {
    /// The country's ISO 3166-1 alpha-2 code; `GB` if absent
    #[serde(rename = "countryISO")]
    country_iso: Option<QueryText>,
}

impl Within {
    fn understand(&self, errors: &mut ValidationErrors) -> String {
        let iso = self.country_iso.as_deref().unwrap_or("GB");
        super::known(iso, errors).unwrap_or_default()
    }
}

/// Get country regions
///
/// The subdivisions of ISO 3166-2.
#[utoipa::path(operation_id = "list_regions", tag = "countries", params(Within),
    responses((status = 200, body = Regions), ErrorResponses))]
#[get("/regions")]
pub(super) async fn regions(query: Query<Within>, system: Data<System>) -> Result<JsonResponse, Error> {
    let country = query.check(Within::understand)?;
    Ok(JsonResponse::raw(system.countries.regions(&country)?))
}
