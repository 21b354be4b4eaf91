//! The catalogue of commodities.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use common::catalogue;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

const EMBEDDED: &str = include_str!("../../data/commodities.csv");

/// A commodity of the catalogue.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct CatalogueEntry {
    /// Permanent id.
    pub id: i32,
    /// Name, such as `Feed Wheat`.
    pub name: String,
    /// Category, such as `cereals`.
    pub category: String,
}

/// All commodities, indexed by id and name.
pub(crate) struct Catalogue {
    by_id: BTreeMap<i32, CatalogueEntry>,
    /// Ids by lower-case names.
    by_name: HashMap<String, i32>,
}

impl Catalogue {
    /// Loads a CSV file with the columns `id`, `name` and `category`, or the embedded catalogue without a file.
    ///
    /// # Errors
    /// If the file cannot be read or lacks a column.
    pub(crate) fn open(file: Option<&Path>) -> anyhow::Result<Self> {
        let entries: Vec<CatalogueEntry> = catalogue::load(EMBEDDED, file, "service.commodities_file")?;
        let by_name = entries.iter().map(|entry| (entry.name.to_lowercase(), entry.id)).collect();
        Ok(Self { by_id: entries.into_iter().map(|entry| (entry.id, entry)).collect(), by_name })
    }

    /// Returns all commodities in the order of their ids.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &CatalogueEntry> {
        self.by_id.values()
    }

    /// Returns the commodity with this id, a JSON number in requests.
    pub(crate) fn find(&self, id: f64) -> Option<&CatalogueEntry> {
        self.by_id.get(&catalogue::whole_id(id)?)
    }

    /// Returns the commodity with this name, without regard to case and surrounding white space.
    pub(crate) fn find_name(&self, name: &str) -> Option<&CatalogueEntry> {
        self.by_id.get(self.by_name.get(&name.trim().to_lowercase())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_commodities_by_id_and_name() {
        let catalogue = Catalogue::open(None).unwrap();
        assert_eq!(catalogue.find(1.0).unwrap().name, "Feed Wheat");
        for id in [0.0, 1.5, -1.0, 1e300, f64::NAN] {
            assert!(catalogue.find(id).is_none(), "{id}");
        }
        assert_eq!(catalogue.find_name(" feed WHEAT ").unwrap().id, 1);
        assert!(catalogue.find_name("gold").is_none());
    }
}
