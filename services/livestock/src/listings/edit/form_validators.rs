//! Validation of an edited listing by the schema and the rules for creating a listing of its category.

use common::SchemaValidator;
use common::validation::{Code, ValidationErrors};
use serde_json::Value;

use crate::breeds::Breeds;
use crate::categories::{BEDDING, CATTLE, Categories, FEED, SHEEP};
use crate::listings::category_forms::{
    BeddingForm, CategoryForm, CattleForm, FeedForm, SheepForm, WorkingDogForm,
};
use crate::listings::model::NewListing;

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
