//! The forms that listings are created by: what all categories ask, and what each asks besides.

use common::Error;
use common::problem::{Code, Problems};
use common::wire::{FileReference, Note, Tag};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::cattle::CattleProperties;
use super::location::Location;
use super::model::{Kind, NewListing};
use super::price::Price;
use crate::categories::{CATTLE, Categories};

/// What a listing of any category is created by (interface.md, 4.3).
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ListingForm {
    #[serde(rename = "type")]
    #[schema(required = true)]
    kind: Kind,
    /// A draft is seen by its organisation only.
    #[schema(required = true)]
    is_draft: bool,
    /// The operation's own category or parts of it; none means the category itself.
    #[schema(required = true, max_items = 50)]
    category_ids: Vec<f64>,
    #[schema(required = true)]
    location: Option<Location>,
    #[schema(required = true)]
    price: Price,
    #[schema(required = true, max_items = 50)]
    files: Option<Vec<FileReference>>,
    #[schema(required = true)]
    description: Note,
    #[schema(required = true, max_items = 50)]
    tags: Vec<Tag>,
}

/// A listing of cattle as it is created.
#[derive(Debug, Deserialize, ToSchema)]
pub struct CattleForm {
    #[serde(flatten)]
    listing: ListingForm,
    #[serde(default)]
    #[schema(required = true)]
    properties: CattleProperties,
}

impl CattleForm {
    /// What the schema cannot state.
    pub fn rules(&self, categories: &Categories, problems: &mut Problems) {
        self.listing.rules(CATTLE, categories, problems);
        self.properties.rules(problems);
    }

    /// The listing that is meant.
    pub fn into_new(self, categories: &Categories) -> Result<NewListing, Error> {
        let properties = members(&self.properties)?;
        Ok(self.listing.into_new(CATTLE, categories, Some(properties)))
    }
}

/// Properties as they are stored and shown.
fn members<T: Serialize>(properties: &T) -> Result<Map<String, Value>, Error> {
    Ok(serde_json::from_value(serde_json::to_value(properties)?)?)
}

impl ListingForm {
    /// What the schema cannot state of a listing of this main category.
    fn rules(&self, category: i32, categories: &Categories, problems: &mut Problems) {
        for (i, id) in self.category_ids.iter().enumerate() {
            if categories.find_within(*id, category).is_none() {
                let message = "names no category of this operation: see GET /v1/categories";
                problems.push(format!("categoryIds[{i}]"), Code::UnknownReference, message);
            }
        }
        self.price.rules(problems);
    }

    fn into_new(
        self,
        category: i32,
        categories: &Categories,
        properties: Option<Map<String, Value>>,
    ) -> NewListing {
        let mut category_ids: Vec<_> =
            self.category_ids.iter().filter_map(|id| categories.find_within(*id, category)).collect();
        if category_ids.is_empty() {
            category_ids.push(category);
        }
        NewListing {
            kind: self.kind,
            is_draft: self.is_draft,
            category,
            category_ids,
            location: self.location,
            price: self.price.normalised(),
            files: self.files.unwrap_or_default(),
            description: self.description.0,
            tags: self.tags.into_iter().map(|tag| tag.0).collect(),
            properties,
        }
    }
}
