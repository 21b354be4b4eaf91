//! Well-known breeds and breed societies, each with its usual spelling.
//!
//! The catalogue has no synonyms: a search finds a listing by the name that its farmer chose.

use std::borrow::Cow;
use std::collections::HashMap;

use anyhow::Context;
use common::catalogue;
use common::wire::{comparison_key, single_spaces};
use serde::Deserialize;

use crate::categories::{CATTLE, SHEEP, WORKING_DOG};

const EMBEDDED: [&str; 2] = [include_str!("../data/breeds.csv"), include_str!("../data/breed_societies.csv")];

/// The usual spellings of breeds and breed societies.
pub(crate) struct Breeds {
    /// By main category and comparison key of the name.
    by_category: HashMap<(i32, String), String>,
    /// The names of all categories, by comparison key.
    of_any_category: HashMap<String, String>,
}

#[derive(Deserialize)]
struct BreedEntry {
    species: String,
    #[serde(alias = "society")]
    name: String,
}

impl Breeds {
    /// Parses the embedded tables.
    ///
    /// # Errors
    /// If a table is invalid or names a species that is no category.
    pub(crate) fn embedded() -> anyhow::Result<Self> {
        let (mut by_category, mut of_any_category) = (HashMap::new(), HashMap::new());
        for table in EMBEDDED {
            let entries: Vec<BreedEntry> =
                catalogue::parse(table).context("the table of breeds is invalid")?;
            for BreedEntry { species, name } in entries {
                let key = comparison_key(&name);
                for category in categories_of(&species).with_context(|| format!("breed {name}"))? {
                    by_category.insert((*category, key.clone()), name.clone());
                }
                of_any_category.entry(key).or_insert(name);
            }
        }
        Ok(Self { by_category, of_any_category })
    }

    /// Returns the spelling of a breed or society that a listing of this main category names: that of the category in
    /// the catalogue, else that of another category, else the text itself with single spaces.
    ///
    /// Facets show one spelling for all categories, that of the first listing. The names of other categories are
    /// looked up too, so that a listing of one category cannot change how facets show a breed of another.
    pub(crate) fn spelling<'a>(&'a self, category: i32, text: &'a str) -> Cow<'a, str> {
        let text = single_spaces(text);
        let key = (category, comparison_key(&text));
        let name = self.by_category.get(&key).or_else(|| self.of_any_category.get(&key.1));
        name.map_or(text, |name| name.as_str().into())
    }
}

/// Returns the main categories of a species of the tables.
fn categories_of(species: &str) -> anyhow::Result<&'static [i32]> {
    Ok(match species {
        "sheep" => &[SHEEP],
        "cattle" => &[CATTLE],
        "working dog" => &[WORKING_DOG],
        "multi" => &[SHEEP, CATTLE, WORKING_DOG],
        _ => anyhow::bail!("unknown species {species}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_get_their_usual_spelling_and_others_are_only_trimmed() {
        let breeds = Breeds::embedded().unwrap();
        for (category, text, spelling) in [
            (CATTLE, "hereford", "Hereford"),
            (CATTLE, " ABERDEEN angus ", "Aberdeen Angus"),
            (CATTLE, "angus", "angus"),
            (CATTLE, "Aberdeen\u{a0}angus", "Aberdeen Angus"),
            (SHEEP, "our\u{2009} own\u{a0}Cross", "our own Cross"),
            (CATTLE, "blonde D'AQUITAINE", "Blonde d'Aquitaine"),
            (CATTLE, "hereford cattle society", "Hereford Cattle Society"),
            (CATTLE, "hill radnor", "Hill Radnor"),
            (SHEEP, "hill radnor", "Hill Radnor"),
            (SHEEP, "cHaRoLaIs", "Charolais"),
            (SHEEP, "rare breeds survival trust", "Rare Breeds Survival Trust"),
            (WORKING_DOG, "border COLLIE", "Border Collie"),
            (WORKING_DOG, "Rare Breeds survival trust", "Rare Breeds Survival Trust"),
            (WORKING_DOG, "BRITISH texel sheep society", "British Texel Sheep Society"),
            (SHEEP, " our own Cross", "our own Cross"),
        ] {
            assert_eq!(breeds.spelling(category, text), spelling, "{category} {text}");
        }
    }

    /// Otherwise the spelling in facets would depend on which category was listed first.
    #[test]
    fn names_have_the_same_spelling_in_all_categories() {
        let breeds = Breeds::embedded().unwrap();
        for ((category, key), name) in &breeds.by_category {
            assert_eq!(breeds.of_any_category.get(key), Some(name), "{category}");
        }
    }

    #[test]
    fn listings_accept_every_name_as_a_breed() {
        for name in Breeds::embedded().unwrap().by_category.values() {
            assert!(name.trim() == name && name.chars().count() <= 60 && !name.contains(','), "{name}");
        }
    }
}
