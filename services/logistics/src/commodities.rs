//! The catalogue of commodities that loads are of.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use actix_web::get;
use actix_web::web::Data;
use common::{Caller, Error, ErrorResponses, JsonResponse, catalogue};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::Logistics;

const EMBEDDED: &str = include_str!("../data/commodities.csv");

/// A commodity of the catalogue.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CatalogueEntry {
    /// Stable for ever.
    pub id: i32,
    /// `Feed Wheat`
    pub name: String,
    /// `cereals`
    pub category: String,
}

/// All commodities.
pub struct Catalogue {
    by_id: BTreeMap<i32, CatalogueEntry>,
    /// Ids by names in lower case.
    by_name: HashMap<String, i32>,
}

impl Catalogue {
    /// The embedded catalogue, or the one in this CSV file of the same columns.
    ///
    /// # Errors
    /// If the file cannot be read or lacks a column.
    pub fn open(file: Option<&Path>) -> anyhow::Result<Self> {
        let entries: Vec<CatalogueEntry> = catalogue::load(EMBEDDED, file, "service.commodities_file")?;
        let by_name = entries.iter().map(|entry| (entry.name.to_lowercase(), entry.id)).collect();
        Ok(Self { by_id: entries.into_iter().map(|entry| (entry.id, entry)).collect(), by_name })
    }

    /// The commodity with this id, which clients give as a JSON number.
    pub fn find(&self, id: f64) -> Option<&CatalogueEntry> {
        self.by_id.get(&catalogue::whole_id(id)?)
    }

    /// The commodity with this name, without regard to case.
    pub fn find_name(&self, name: &str) -> Option<&CatalogueEntry> {
        self.by_id.get(self.by_name.get(&name.trim().to_lowercase())?)
    }
}

pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(list);
}

/// List commodities
#[utoipa::path(operation_id = "list_commodities", tag = "commodities", security(("bearer" = [])),
    responses((status = 200, body = [CatalogueEntry]), ErrorResponses))]
#[get("/commodities")]
async fn list(_caller: Caller, app: Data<Logistics>) -> Result<JsonResponse, Error> {
    JsonResponse::json(&app.commodities.by_id.values().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_catalogue() {
        let catalogue = Catalogue::open(None).unwrap();
        assert_eq!(catalogue.find(1.0).unwrap().name, "Feed Wheat");
        for id in [0.0, 1.5, -1.0, 1e300, f64::NAN] {
            assert!(catalogue.find(id).is_none(), "{id}");
        }
        assert_eq!(catalogue.find_name(" feed WHEAT ").unwrap().id, 1);
        assert!(catalogue.find_name("gold").is_none());
    }
}
