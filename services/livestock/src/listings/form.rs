//! Requests that create and close listings (`docs/api/listings.md`, "Create" and "Lifecycle"). `category_forms.rs` has
//! the members of single categories.

use common::validation::{Code, ValidationErrors};
use common::wire::{FileReference, LongText, Tag};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::location::{Location, LocationForm};
use super::model::{Kind, NewListing, Status};
use super::price::Price;
use crate::categories::Categories;

/// The members of a new listing that all categories share.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ListingForm {
    #[serde(rename = "type")]
    #[schema(required = true)]
    kind: Kind,
    /// `true`: only the caller's organisation sees the listing.
    #[schema(required = true)]
    is_draft: bool,
    /// The category of the operation or parts of it; an empty array means that category.
    #[schema(required = true, max_items = 50)]
    category_ids: Vec<f64>,
    #[schema(required = true)]
    location: Option<LocationForm>,
    #[schema(required = true)]
    price: Price,
    #[schema(required = true, max_items = 50)]
    files: Option<Vec<FileReference>>,
    #[schema(required = true)]
    description: LongText,
    #[schema(required = true, max_items = 50)]
    tags: Vec<Tag>,
}

impl ListingForm {
    /// Checks the rules that the schema cannot express, for a listing of this main category.
    pub(crate) fn validate(&self, category: i32, categories: &Categories, errors: &mut ValidationErrors) {
        for (i, id) in self.category_ids.iter().enumerate() {
            if categories.find_within(*id, category).is_none() {
                let message = "is not a category of this operation: see GET /v1/categories";
                errors.push(format!("categoryIds[{i}]"), Code::UnknownReference, message);
            }
        }
        self.price.validate(errors);
        if let Some(location) = &self.location {
            location.validate(errors);
        }
    }

    /// Returns the paths of the amounts that the type of the price does not use. They are not stored.
    pub(crate) fn ignored_amounts(&self) -> Vec<&'static str> {
        self.price.unused()
    }

    /// Returns the files that the listing references.
    pub(crate) fn files(&self) -> &[FileReference] {
        self.files.as_deref().unwrap_or_default()
    }

    /// Converts the form into a listing of this main category.
    pub(crate) fn into_new_listing(
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
            location: self.location.map(Location::from),
            price: self.price.normalized().without_unused(),
            files: self.files.unwrap_or_default(),
            description: self.description.0,
            tags: self.tags.into_iter().map(|tag| tag.0).collect(),
            properties,
        }
    }
}

/// The request that closes a listing.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = CloseListing, example = json!({ "status": "sold" }))]
pub(crate) struct CloseForm {
    /// The new status.
    #[schema(required = true)]
    pub status: ListingOutcome,
}

/// The status of a closed listing.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ListingOutcome {
    #[default]
    Sold,
    Found,
    Cancelled,
}

impl From<ListingOutcome> for Status {
    fn from(outcome: ListingOutcome) -> Self {
        match outcome {
            ListingOutcome::Sold => Self::Sold,
            ListingOutcome::Found => Self::Found,
            ListingOutcome::Cancelled => Self::Cancelled,
        }
    }
}
