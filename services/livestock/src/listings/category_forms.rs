//! The requests that create listings of each category: [`ListingForm`] and the properties of the category.

use common::Error;
use common::validation::ValidationErrors;
use common::wire::FileReference;
use serde::Deserialize;
use utoipa::ToSchema;

use super::form::ListingForm;
use super::model::NewListing;
use super::properties::{CattleProperties, Properties, SheepProperties, WorkingDogProperties};
use crate::breeds::Breeds;
use crate::categories::{BEDDING, CATTLE, Categories, FEED, SHEEP, WORKING_DOG};

/// A request that creates a listing of one main category.
pub(crate) trait CategoryForm: Sized {
    /// The main category.
    const CATEGORY: i32;
    /// The properties of the category; `()` if it has none.
    type Properties: Properties;

    /// Returns the members that all categories share, and the properties.
    fn parts(&self) -> (&ListingForm, &Self::Properties);
    /// Splits the form into the members that all categories share, and the properties.
    fn into_parts(self) -> (ListingForm, Self::Properties);

    /// Checks the rules that the schema cannot express.
    fn validate(&self, categories: &Categories, errors: &mut ValidationErrors) {
        let (listing, properties) = self.parts();
        listing.validate(Self::CATEGORY, categories, errors);
        properties.validate(errors);
    }

    /// Returns the files that the listing references.
    fn files(&self) -> &[FileReference] {
        self.parts().0.files()
    }

    /// Converts the form into a listing. Breeds and societies get the spelling of the catalogue.
    fn into_new_listing(self, categories: &Categories, breeds: &Breeds) -> Result<NewListing, Error> {
        let (listing, mut properties) = self.into_parts();
        properties.normalize_breeds(Self::CATEGORY, breeds);
        let properties = serde_json::from_value(serde_json::to_value(properties)?)?;
        Ok(listing.into_new_listing(Self::CATEGORY, categories, properties))
    }
}

/// Implements [`CategoryForm`] for a form with its category and the type of its properties.
macro_rules! category_form {
    ($form:ident, $category:ident, $properties:ty) => {
        impl CategoryForm for $form {
            const CATEGORY: i32 = $category;
            type Properties = $properties;

            fn parts(&self) -> (&ListingForm, &$properties) {
                (&self.listing, &self.properties)
            }

            fn into_parts(self) -> (ListingForm, $properties) {
                (self.listing, self.properties)
            }
        }
    };
}

/// A new listing of sheep.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(example = json!({
    "type": "selling", "isDraft": false, "categoryIds": [1, 105],
    "location": {
        "address": { "city": "Brecon", "region": "Powys", "postcode": "LD3 7HR", "countryISO": "GB" },
        "coordinates": { "lat": 51.9469, "lon": -3.3915 },
    },
    "price": { "type": "fixed", "pricePerUnit": { "amount": 145, "currency": "GBP" } },
    "files": null,
    "description": "24 Beulah shearling ewes, hill reared, correct mouths.",
    "tags": ["spring"],
    "properties": {
        "title": "Beulah shearling ewes", "breed": "Beulah Speckled Face", "breedType": "pure", "type": ["store"],
        "additionalInfo": ["pedigree"], "sexes": "shearlings,ewes", "quantity": 24, "minAge": 14, "maxAge": 18,
        "health": { "data": "Heptavac-P and fluke treatment in February" },
    },
}))]
pub(crate) struct SheepForm {
    #[serde(flatten)]
    listing: ListingForm,
    #[serde(default)]
    #[schema(required = true)]
    properties: SheepProperties,
}

category_form!(SheepForm, SHEEP, SheepProperties);

/// A new listing of cattle.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(example = json!({
    "type": "selling", "isDraft": false, "categoryIds": [2, 206],
    "location": {
        "address": { "city": "Brecon", "region": "Powys", "postcode": "LD3 7HR", "countryISO": "GB" },
        "coordinates": { "lat": 51.9469, "lon": -3.3915 },
    },
    "price": { "type": "fixed", "pricePerUnit": { "amount": 1250, "currency": "GBP" } },
    "files": null,
    "description": "12 Hereford cross store steers, farm assured, out-wintered.",
    "tags": ["farm assured"],
    "properties": {
        "title": "Hereford store steers", "breed": "Hereford", "breedType": "cross", "type": "store",
        "additionalInfo": ["crossbred"], "sexes": "steers", "quantity": 12, "minAge": 16, "maxAge": 20,
        "societyNumber": "UK-HB-4471",
        "health": { "tbStatus": "clear", "tbDetails": "Tested clear in January", "tbInterval": "12 months" },
        "performance": {
            "averageWeight": { "name": "kilogram", "conversion": 1, "weight": 465 },
            "dailyLiveWeightGain": { "name": "kilogram", "conversion": 1, "weight": 0.9 },
        },
    },
}))]
pub(crate) struct CattleForm {
    #[serde(flatten)]
    listing: ListingForm,
    #[serde(default)]
    #[schema(required = true)]
    properties: CattleProperties,
}

category_form!(CattleForm, CATTLE, CattleProperties);

/// A new listing of a working dog.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(example = json!({
    "type": "selling", "isDraft": false, "categoryIds": [3, 301],
    "location": {
        "address": { "city": "Brecon", "region": "Powys", "postcode": "LD3 7HR", "countryISO": "GB" },
        "coordinates": { "lat": 51.9469, "lon": -3.3915 },
    },
    "price": { "type": "fixed", "pricePerUnit": { "amount": 3500, "currency": "GBP" } },
    "files": null,
    "description": "Trained sheepdog with a wide outrun, easy to handle, used daily.",
    "tags": ["trained"],
    "properties": {
        "title": "Trained Border Collie", "breed": "Border Collie", "breedType": "pure", "sex": "male",
        "registration": {
            "dateOfBirth": "2023-04-12", "isRegistered": true, "registrationNumber": "00/412233", "name": "Moss",
        },
    },
}))]
pub(crate) struct WorkingDogForm {
    #[serde(flatten)]
    listing: ListingForm,
    #[serde(default)]
    #[schema(required = true)]
    properties: WorkingDogProperties,
}

category_form!(WorkingDogForm, WORKING_DOG, WorkingDogProperties);

/// A new listing of feed.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(example = json!({
    "type": "selling", "isDraft": false, "categoryIds": [4, 401],
    "location": {
        "address": { "city": "Brecon", "region": "Powys", "postcode": "LD3 7HR", "countryISO": "GB" },
        "coordinates": { "lat": 51.9469, "lon": -3.3915 },
    },
    "price": { "type": "fixed", "pricePerUnit": { "amount": 32, "currency": "GBP" } },
    "files": null,
    "description": "Meadow hay in small bales, made in July, under cover.",
    "tags": ["hay"],
}))]
pub(crate) struct FeedForm {
    #[serde(flatten)]
    listing: ListingForm,
    #[serde(skip)]
    properties: (),
}

category_form!(FeedForm, FEED, ());

/// A new listing of bedding.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(example = json!({
    "type": "selling", "isDraft": false, "categoryIds": [5, 501],
    "location": {
        "address": { "city": "Brecon", "region": "Powys", "postcode": "LD3 7HR", "countryISO": "GB" },
        "coordinates": { "lat": 51.9469, "lon": -3.3915 },
    },
    "price": { "type": "fixed", "pricePerUnit": { "amount": 24, "currency": "GBP" } },
    "files": null,
    "description": "Barley straw in round bales, dry, loading available.",
    "tags": ["straw"],
}))]
pub(crate) struct BeddingForm {
    #[serde(flatten)]
    listing: ListingForm,
    #[serde(skip)]
    properties: (),
}

category_form!(BeddingForm, BEDDING, ());
