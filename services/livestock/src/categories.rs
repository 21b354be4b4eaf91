//! The categories of listings, and the operation that lists them. Each of the five main categories has an operation
//! that creates its listings.

use std::collections::BTreeMap;
use std::path::Path;

use common::catalogue;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub(crate) use handlers::routes;

const EMBEDDED: &str = include_str!("../data/categories.csv");

/// The main category of sheep.
pub(crate) const SHEEP: i32 = 1;
/// The main category of cattle.
pub(crate) const CATTLE: i32 = 2;
/// The main category of working dogs.
pub(crate) const WORKING_DOG: i32 = 3;
/// The main category of feed.
pub(crate) const FEED: i32 = 4;
/// The main category of bedding.
pub(crate) const BEDDING: i32 = 5;

/// A category of listings.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Category {
    /// The id never changes.
    pub id: i32,
    /// The name, for example `store cattle`.
    pub name: String,
    /// The id of the category that this one is part of; absent for main categories.
    #[serde(rename = "parentId", alias = "parent_id", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub parent_id: Option<i32>,
}

/// All categories, by id.
pub(crate) struct Categories(BTreeMap<i32, Category>);

impl Categories {
    /// Loads the file of the setting `service.categories_file`, or the embedded table without one.
    ///
    /// # Errors
    /// If the file cannot be read, lacks a column or a main category, or has a category whose chain of parents does not
    /// end at a main category.
    pub(crate) fn open(file: Option<&Path>) -> anyhow::Result<Self> {
        Self::new(catalogue::load(EMBEDDED, file, "service.categories_file")?)
    }

    fn new(categories: Vec<Category>) -> anyhow::Result<Self> {
        let categories = Self(categories.into_iter().map(|category| (category.id, category)).collect());
        for id in categories.0.keys() {
            anyhow::ensure!(categories.main_of(*id).is_some(), "category {id} has no main category");
        }
        for main in SHEEP..=BEDDING {
            anyhow::ensure!(categories.main_of(main) == Some(main), "the main category {main} is missing");
        }
        Ok(categories)
    }

    /// Iterates over all categories in the order of their ids.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Category> {
        self.0.values()
    }

    /// Returns the main category of a category; a main category is its own.
    fn main_of(&self, id: i32) -> Option<i32> {
        let mut category = self.0.get(&id)?;
        // A chain of parents that is longer than the table has a cycle.
        for _ in 0..self.0.len() {
            let Some(parent) = category.parent_id else { return Some(category.id) };
            category = self.0.get(&parent)?;
        }
        None
    }

    /// Returns true if there is a category with an id, which clients send as a JSON number.
    pub(crate) fn exists(&self, id: f64) -> bool {
        catalogue::whole_id(id).is_some_and(|id| self.0.contains_key(&id))
    }

    /// Returns the category with an id, which clients send as a JSON number, if it is the main category `main` or part
    /// of it.
    pub(crate) fn find_within(&self, id: f64, main: i32) -> Option<i32> {
        catalogue::whole_id(id).filter(|id| self.main_of(*id) == Some(main))
    }

    /// Returns the name of the main category of the first known of these categories.
    pub(crate) fn main_name(&self, ids: &[i32]) -> Option<&str> {
        let main = ids.iter().find_map(|id| self.main_of(*id))?;
        self.0.get(&main).map(|category| category.name.as_str())
    }

    /// Returns the main category with a name. Case is ignored, and a hyphen equals a space.
    pub(crate) fn find_main(&self, name: &str) -> Option<i32> {
        let normalize = |name: &str| name.trim().to_lowercase().replace('-', " ");
        let name = normalize(name);
        self.0.values().find(|c| c.parent_id.is_none() && normalize(&c.name) == name).map(|c| c.id)
    }
}

mod handlers {
    //! The operation on categories.

    use actix_web::get;
    use actix_web::web::Data;
    use common::{Caller, Error, ErrorResponses, JsonResponse};
    use utoipa_actix_web::service_config::ServiceConfig;

    use super::Category;
    use crate::Livestock;

    /// Registers the operations.
    pub(crate) fn routes(v1: &mut ServiceConfig) {
        v1.service(list_categories);
    }

    /// List categories
    #[utoipa::path(operation_id = "list_categories", tag = "categories", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
        responses((status = 200, body = [Category]), ErrorResponses))]
    #[get("/categories")]
    async fn list_categories(_caller: Caller, service: Data<Livestock>) -> Result<JsonResponse, Error> {
        JsonResponse::json(&service.categories.iter().collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_embedded_categories_by_id_and_name() {
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
    fn tables_need_all_main_categories_and_acyclic_parents() {
        let read = |table: &str| Categories::new(catalogue::parse(table)?);
        let main = "id,parent_id,name\n1,,a\n2,,b\n3,,c\n4,,d\n5,,e\n";
        assert!(read(&format!("{main}6,2,f\n7,6,g\n")).is_ok());
        assert_eq!(read(&format!("{main}6,2,f\n7,6,g\n")).unwrap().find_within(7.0, 2), Some(7));
        for invalid in ["id,name\n1,a\n", "id,parent_id,name\n1,,a\n", &format!("{main}6,9,f\n")] {
            assert!(read(invalid).is_err(), "{invalid}");
        }
        assert!(read(&format!("{main}6,7,f\n7,6,g\n")).is_err(), "a cycle");
    }
}
