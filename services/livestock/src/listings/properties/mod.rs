//! The properties of each category (`docs/api/listings.md`, "Create").

mod animals;
mod cattle;
mod dog;
mod sheep;
mod union;

use common::validation::ValidationErrors;
use serde::Serialize;

use crate::breeds::Breeds;

pub(crate) use cattle::CattleProperties;
pub(crate) use dog::WorkingDogProperties;
pub(crate) use sheep::SheepProperties;
pub(crate) use union::ListingProperties;

/// The properties of the animals or supplies of one category.
pub(crate) trait Properties: Serialize {
    /// Checks the rules that the schema cannot express.
    fn validate(&self, _errors: &mut ValidationErrors) {}
    /// Gives breeds and societies the spelling that the catalogue has for this main category.
    fn normalize_breeds(&mut self, _category: i32, _breeds: &Breeds) {}
}

/// Supplies have no properties.
impl Properties for () {}
