//! The request that edits a listing. Its schema checks single members; the result of the patch is checked by the rules
//! for creating the listing.

use common::SchemaValidator;
use common::validation::{Code, ValidationErrors};
use common::wire::{FileReference, LongText, Name, Tag};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::breeds::Breeds;
use crate::categories::{BEDDING, CATTLE, Categories, FEED, SHEEP};
use crate::listings::category_forms::{
    BeddingForm, CategoryForm, CattleForm, FeedForm, SheepForm, WorkingDogForm,
};
use crate::listings::location::Address;
use crate::listings::model::{Kind, NewListing};
use crate::listings::price::PriceType;

/// Members of a listing to change. Absent members stay as they are, `null` removes an optional one, arrays are replaced
/// whole. Members of `location`, `price` and `properties` can be changed one by one.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[expect(dead_code, reason = "the schema validates these members; the result of the patch is read")]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "description": "12 Hereford cross store steers, farm assured, price reduced.",
    "price": { "pricePerUnit": { "amount": 1195 } },
    "properties": { "quantity": 12, "societyNumber": null },
}))]
pub(crate) struct ListingPatch {
    /// Only of a draft.
    #[serde(rename = "type")]
    #[schema(nullable = false)]
    kind: Option<Kind>,
    /// Categories of the listing's main category; an empty array means that category.
    #[schema(max_items = 50, nullable = false)]
    pub category_ids: Option<Vec<f64>>,
    location: Option<LocationPatch>,
    #[schema(nullable = false)]
    price: Option<PricePatch>,
    #[schema(max_items = 50)]
    files: Option<Vec<FileReference>>,
    #[schema(nullable = false)]
    description: Option<LongText>,
    #[schema(max_items = 50, nullable = false)]
    tags: Option<Vec<Tag>>,
    /// Members of the properties of the listing's category, as its create operation takes them.
    #[schema(value_type = Option<Object>, nullable = false)]
    properties: Option<Map<String, Value>>,
}

/// Members of a location to change.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[expect(dead_code, reason = "the schema validates these members; the result of the patch is read")]
#[serde(rename_all = "camelCase")]
struct LocationPatch {
    /// The three-word address.
    three_words: Option<Name>,
    /// The postal address.
    address: Option<Address>,
    /// The coordinates. `null` removes them.
    coordinates: Option<CoordinatesPatch>,
}

/// Coordinates to change.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[expect(dead_code, reason = "the schema validates these members; the result of the patch is read")]
struct CoordinatesPatch {
    /// Degrees north.
    #[schema(minimum = -90, maximum = 90, nullable = false)]
    lat: Option<f64>,
    /// Degrees east.
    #[schema(minimum = -180, maximum = 180, nullable = false)]
    lon: Option<f64>,
}

/// Members of a price to change.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[expect(dead_code, reason = "the schema validates these members; the result of the patch is read")]
#[serde(rename_all = "camelCase")]
struct PricePatch {
    /// The type of the price.
    #[serde(rename = "type")]
    #[schema(nullable = false)]
    kind: Option<PriceType>,
    /// The price; required for `fixed`.
    price_per_unit: Option<MoneyPatch>,
    /// The lower end; required for `range`.
    min_price: Option<MoneyPatch>,
    /// The upper end; required for `range`.
    max_price: Option<MoneyPatch>,
}

/// Members of an amount of money to change.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[expect(dead_code, reason = "the schema validates these members; the result of the patch is read")]
struct MoneyPatch {
    /// The amount; rounded half up to four decimals.
    #[schema(minimum = 0, maximum = 99_999_999_999.999_9, nullable = false)]
    amount: Option<f64>,
    /// The ISO 4217 code of the currency.
    #[schema(min_length = 1, nullable = false, example = "GBP")]
    currency: Option<String>,
}

impl ListingPatch {
    /// Returns the files that the listing refers to after the patch, if the patch names any.
    pub(crate) fn files(&self) -> &[FileReference] {
        self.files.as_deref().unwrap_or_default()
    }
}

/// The compiled schemas of the requests that create listings.
pub(crate) struct FormValidators {
    sheep: SchemaValidator<SheepForm>,
    cattle: SchemaValidator<CattleForm>,
    working_dog: SchemaValidator<WorkingDogForm>,
    feed: SchemaValidator<FeedForm>,
    bedding: SchemaValidator<BeddingForm>,
}

impl FormValidators {
    /// Compiles the schemas.
    ///
    /// # Errors
    /// If a schema is invalid, which is a defect of its type.
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self {
            sheep: SchemaValidator::new()?,
            cattle: SchemaValidator::new()?,
            working_dog: SchemaValidator::new()?,
            feed: SchemaValidator::new()?,
            bedding: SchemaValidator::new()?,
        })
    }

    /// Converts the form of a listing of this main category, as its create operation takes it.
    ///
    /// # Errors
    /// Returns the entries of all invalid members.
    pub(crate) fn new_listing(
        &self,
        category: i32,
        form: Value,
        categories: &Categories,
        breeds: &Breeds,
    ) -> Result<NewListing, ValidationErrors> {
        match category {
            SHEEP => convert(self.sheep.check_patched(form), categories, breeds),
            CATTLE => convert(self.cattle.check_patched(form), categories, breeds),
            FEED => convert(self.feed.check_patched(form), categories, breeds),
            BEDDING => convert(self.bedding.check_patched(form), categories, breeds),
            _ => convert(self.working_dog.check_patched(form), categories, breeds),
        }
    }
}

fn convert<F: CategoryForm>(
    (form, mut errors): (F, ValidationErrors),
    categories: &Categories,
    breeds: &Breeds,
) -> Result<NewListing, ValidationErrors> {
    form.validate(categories, &mut errors);
    errors.check()?;
    let invalid = |error: common::Error| ValidationErrors::one("properties", Code::Type, error.to_string());
    form.into_new_listing(categories, breeds).map_err(invalid)
}
