//! The breeds and breed societies that are well known, so that each has one spelling, however listings write it.
//!
//! Only names are known, not what else a breed is called: a listing is found by the words that its farmer chose.

use std::collections::HashMap;

use anyhow::Context;
use serde::Deserialize;

use crate::categories::{CATTLE, SHEEP, WORKING_DOG};

const EMBEDDED: [&str; 2] = [include_str!("../data/breeds.csv"), include_str!("../data/breed_societies.csv")];

/// The names of breeds and of societies, by main category and name in lower case.
pub struct Breeds {
    names: HashMap<(i32, String), String>,
    /// The same names of all categories, by name in lower case.
    of_any_category: HashMap<String, String>,
}

#[derive(Deserialize)]
struct Row {
    species: String,
    #[serde(alias = "society")]
    name: String,
}

impl Breeds {
    /// The embedded catalogue.
    ///
    /// # Errors
    /// If it is of other species than there are categories, which is a mistake in it.
    pub fn embedded() -> anyhow::Result<Self> {
        let (mut names, mut of_any_category) = (HashMap::new(), HashMap::new());
        for table in EMBEDDED {
            for row in csv::Reader::from_reader(table.as_bytes()).into_deserialize() {
                let Row { species, name } = row.context("the breeds are not as expected")?;
                let categories = match species.as_str() {
                    "sheep" => &[SHEEP][..],
                    "cattle" => &[CATTLE],
                    "working dog" => &[WORKING_DOG],
                    "multi" => &[SHEEP, CATTLE, WORKING_DOG],
                    other => anyhow::bail!("{name} is of the unknown species {other}"),
                };
                names.extend(
                    categories.iter().map(|category| ((*category, name.to_lowercase()), name.clone())),
                );
                of_any_category.entry(name.to_lowercase()).or_insert(name);
            }
        }
        Ok(Self { names, of_any_category })
    }

    /// Returns the breed or society of this main category as the catalogue writes it; else the name that another
    /// category has in the catalogue; else the text, trimmed. Facets have one spelling for all categories, that of the
    /// first listing: so a listing of one category cannot change how a breed of another is written.
    pub fn spelling<'a>(&'a self, category: i32, text: &'a str) -> &'a str {
        let text = text.trim();
        let key = (category, text.to_lowercase());
        let name = self.names.get(&key).or_else(|| self.of_any_category.get(&key.1));
        name.map_or(text, String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_spelling_and_all_else_is_kept() {
        let breeds = Breeds::embedded().unwrap();
        for (category, text, spelling) in [
            (CATTLE, "hereford", "Hereford"),
            (CATTLE, " ABERDEEN angus ", "Aberdeen Angus"),
            (CATTLE, "angus", "angus"),
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

    /// Otherwise the facets' spelling of it would depend on which category was listed first.
    #[test]
    fn a_name_has_the_same_spelling_in_all_categories() {
        let breeds = Breeds::embedded().unwrap();
        for ((category, key), name) in &breeds.names {
            assert_eq!(breeds.of_any_category.get(key), Some(name), "{category}");
        }
    }

    #[test]
    fn every_name_may_be_the_breed_of_a_listing() {
        for name in Breeds::embedded().unwrap().names.values() {
            assert!(name.trim() == name && name.chars().count() <= 60 && !name.contains(','), "{name}");
        }
    }
}
