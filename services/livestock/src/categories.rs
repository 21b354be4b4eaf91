//! The categories that listings are of: five main ones, which the operations are named by, and what they divide into.

use std::collections::BTreeMap;
use std::path::Path;

use actix_web::get;
use actix_web::web::Data;
use anyhow::Context;
use common::{Caller, Error, ErrorResponses, JsonResponse};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::Livestock;

const EMBEDDED: &str = include_str!("../data/categories.csv");

/// The main category of sheep.
pub const SHEEP: i32 = 1;
/// The main category of cattle.
pub const CATTLE: i32 = 2;
/// The main category of working dogs.
pub const WORKING_DOG: i32 = 3;
/// The main category of feed.
pub const FEED: i32 = 4;
/// The main category of bedding.
pub const BEDDING: i32 = 5;

/// A category of listings.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Category {
    /// Stable for ever.
    pub id: i32,
    /// `store cattle`
    pub name: String,
    /// The category that it is part of; main categories have none.
    #[serde(rename = "parentId", alias = "parent_id", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub parent_id: Option<i32>,
}

/// All categories, by id.
pub struct Categories(BTreeMap<i32, Category>);

impl Categories {
    /// The embedded categories, or those in this CSV file of the same columns.
    ///
    /// # Errors
    /// If the file cannot be read, lacks a column or one of the main categories, or names parents that are not there.
    pub fn open(file: Option<&Path>) -> anyhow::Result<Self> {
        let text = match file {
            None => EMBEDDED.to_owned(),
            Some(path) => std::fs::read_to_string(path)
                .with_context(|| format!("cannot read {} (service.categories_file)", path.display()))?,
        };
        Self::read(&text)
    }

    fn read(text: &str) -> anyhow::Result<Self> {
        let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize::<Category>();
        let entries = rows.collect::<Result<Vec<_>, _>>().context("the categories are not as expected")?;
        let all = Self(entries.into_iter().map(|entry| (entry.id, entry)).collect());
        for entry in all.0.values() {
            anyhow::ensure!(all.main_of(entry.id).is_some(), "category {} is part of none", entry.id);
        }
        for main in 1..=5 {
            anyhow::ensure!(all.main_of(main) == Some(main), "the main category {main} is missing");
        }
        Ok(all)
    }

    /// The main category that this one is, or is part of.
    fn main_of(&self, id: i32) -> Option<i32> {
        let mut category = self.0.get(&id)?;
        // No chain of parents is longer than the table, unless it is a ring.
        for _ in 0..self.0.len() {
            let Some(parent) = category.parent_id else { return Some(category.id) };
            category = self.0.get(&parent)?;
        }
        None
    }

    /// The category with this id, which clients give as a JSON number, if it is this main one or part of it.
    pub fn find_within(&self, id: f64, main: i32) -> Option<i32> {
        #[expect(clippy::cast_possible_truncation, reason = "checked by the comparison")]
        let whole = id as i32;
        (f64::from(whole) - id == 0.0 && self.main_of(whole) == Some(main)).then_some(whole)
    }

    /// The name of the main category that these are, or are part of.
    pub fn main_name(&self, ids: &[i32]) -> Option<&str> {
        let main = ids.iter().find_map(|id| self.main_of(*id))?;
        self.0.get(&main).map(|category| category.name.as_str())
    }

    /// The main category of this name, written in any case and with spaces or hyphens.
    pub fn find_main(&self, name: &str) -> Option<i32> {
        let plain = |name: &str| name.trim().to_lowercase().replace('-', " ");
        let name = plain(name);
        self.0.values().find(|c| c.parent_id.is_none() && plain(&c.name) == name).map(|c| c.id)
    }
}

pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(list);
}

/// List categories
#[utoipa::path(operation_id = "list_categories", tag = "categories", security(("bearer" = [])),
    responses((status = 200, body = [Category]), ErrorResponses))]
#[get("/categories")]
async fn list(_caller: Caller, app: Data<Livestock>) -> Result<JsonResponse, Error> {
    JsonResponse::json(&app.categories.0.values().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_categories() {
        let categories = Categories::open(None).unwrap();
        assert_eq!(categories.find_within(2.0, CATTLE), Some(2));
        assert_eq!(categories.find_within(206.0, CATTLE), Some(206));
        for id in [1.0, 101.0, 0.0, 2.5, -2.0, 999.0, 1e300, f64::NAN] {
            assert_eq!(categories.find_within(id, CATTLE), None, "{id}");
        }
        for name in ["working dog", "working-dog", "Working Dog"] {
            assert_eq!(categories.find_main(name), Some(3), "{name}");
        }
        assert_eq!(categories.find_main("calves"), None, "not a main category");
        assert_eq!(categories.main_name(&[999, 303, 206]), Some("working dog"));
        assert_eq!(categories.main_name(&[]), None);
    }

    #[test]
    fn a_table_of_ones_own_must_be_whole() {
        let main = "id,parent_id,name\n1,,a\n2,,b\n3,,c\n4,,d\n5,,e\n";
        assert!(Categories::read(&format!("{main}6,2,f\n7,6,g\n")).is_ok());
        assert_eq!(Categories::read(&format!("{main}6,2,f\n7,6,g\n")).unwrap().find_within(7.0, 2), Some(7));
        for wrong in ["id,name\n1,a\n", "id,parent_id,name\n1,,a\n", &format!("{main}6,9,f\n")] {
            assert!(Categories::read(wrong).is_err(), "{wrong}");
        }
        assert!(Categories::read(&format!("{main}6,7,f\n7,6,g\n")).is_err(), "a ring");
    }
}
