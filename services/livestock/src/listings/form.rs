//! The forms that listings are created by: what all categories ask, and what each asks besides.

use common::Error;
use common::validation::{Code, ValidationErrors};
use common::wire::{FileReference, LongText, Tag};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::location::Location;
use super::model::{Kind, NewListing};
use super::price::Price;
use super::properties::{CattleProperties, Properties, SheepProperties, WorkingDogProperties};
use crate::Livestock;
use crate::categories::{BEDDING, CATTLE, Categories, FEED, SHEEP, WORKING_DOG};

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
    description: LongText,
    #[schema(required = true, max_items = 50)]
    tags: Vec<Tag>,
}

/// A listing of one category as it is created.
pub trait Form {
    /// What the schema cannot state.
    fn rules(&self, app: &Livestock, errors: &mut ValidationErrors);
    /// The files that the listing names.
    fn files(&self) -> &[FileReference];
    /// The listing that is meant.
    fn into_new(self, app: &Livestock) -> Result<NewListing, Error>;
}

/// The form of a category: `ListingForm` and, where it has some, its `properties`.
macro_rules! form {
    ($(#[$doc:meta])* $form:ident, $category:ident, $(#[$attribute:meta])* $properties:ty) => {
        $(#[$doc])*
        #[derive(Debug, Deserialize, ToSchema)]
        pub struct $form {
            #[serde(flatten)]
            listing: ListingForm,
            $(#[$attribute])*
            properties: $properties,
        }

        impl Form for $form {
            fn rules(&self, app: &Livestock, errors: &mut ValidationErrors) {
                self.listing.rules($category, &app.categories, errors);
                self.properties.rules(errors);
            }

            fn files(&self) -> &[FileReference] {
                self.listing.files.as_deref().unwrap_or_default()
            }

            fn into_new(mut self, app: &Livestock) -> Result<NewListing, Error> {
                self.properties.spell($category, &app.breeds);
                let properties = serde_json::from_value(serde_json::to_value(self.properties)?)?;
                Ok(self.listing.into_new($category, &app.categories, properties))
            }
        }
    };
}

form!(
    /// A listing of sheep as it is created.
    SheepForm, SHEEP, #[serde(default)] #[schema(required = true)] SheepProperties
);
form!(
    /// A listing of cattle as it is created.
    CattleForm, CATTLE, #[serde(default)] #[schema(required = true)] CattleProperties
);
form!(
    /// A listing of a working dog as it is created.
    WorkingDogForm, WORKING_DOG, #[serde(default)] #[schema(required = true)] WorkingDogProperties
);
form!(
    /// A listing of feed as it is created.
    FeedForm, FEED, #[serde(skip)] ()
);
form!(
    /// A listing of bedding as it is created.
    BeddingForm, BEDDING, #[serde(skip)] ()
);

impl ListingForm {
    /// What the schema cannot state of a listing of this main category.
    fn rules(&self, category: i32, categories: &Categories, errors: &mut ValidationErrors) {
        for (i, id) in self.category_ids.iter().enumerate() {
            if categories.find_within(*id, category).is_none() {
                let message = "names no category of this operation: see GET /v1/categories";
                errors.push(format!("categoryIds[{i}]"), Code::UnknownReference, message);
            }
        }
        self.price.rules(errors);
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
