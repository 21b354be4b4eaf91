//! What categories ask besides (interface.md, 2.12; contract, section 5, "Create").

mod animals;
mod cattle;
mod dog;
mod sheep;

use common::validation::ValidationErrors;
use serde::Serialize;

use crate::breeds::Breeds;

pub use cattle::CattleProperties;
pub use dog::WorkingDogProperties;
pub use sheep::SheepProperties;

/// What is said of the animals or goods of one category.
pub trait Properties: Serialize {
    /// What the schema cannot state.
    fn rules(&self, _problems: &mut ValidationErrors) {}
    /// Writes breeds and societies of this main category as the catalogue does.
    fn spell(&mut self, _category: i32, _breeds: &Breeds) {}
}

/// Goods have none.
impl Properties for () {}
