//! The breeds and breed societies that are well known, so that each has one spelling, however listings write it.
//!
//! Only names are known, not what else a breed is called: a listing is found by the words that its farmer chose.

use std::collections::HashMap;

use anyhow::Context;
use serde::Deserialize;

use crate::categories::{CATTLE, SHEEP, WORKING_DOG};

const EMBEDDED: [&str; 2] = [include_str!("../data/breeds.csv"), include_str!("../data/breed_societies.csv")];

/// The names of breeds and of societies, by main category and name in lower case.
pub struct Breeds(HashMap<(i32, String), String>);

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
        let mut names = HashMap::new();
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
            }
        }
        Ok(Self(names))
    }

    /// The breed or society of this main category as it is usually written; free text as it is, without spaces around
    /// it.
    pub fn spelling<'a>(&'a self, category: i32, text: &'a str) -> &'a str {
        let text = text.trim();
        self.0.get(&(category, text.to_lowercase())).map_or(text, String::as_str)
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
            (CATTLE, "hill radnor", "hill radnor"),
            (SHEEP, "hill radnor", "Hill Radnor"),
            (SHEEP, "hereford", "hereford"),
            (SHEEP, "rare breeds survival trust", "Rare Breeds Survival Trust"),
            (WORKING_DOG, "border COLLIE", "Border Collie"),
            (WORKING_DOG, "Rare Breeds survival trust", "Rare Breeds Survival Trust"),
            (SHEEP, " our own Cross", "our own Cross"),
        ] {
            assert_eq!(breeds.spelling(category, text), spelling, "{category} {text}");
        }
    }

    #[test]
    fn every_name_may_be_the_breed_of_a_listing() {
        for name in Breeds::embedded().unwrap().0.values() {
            assert!(name.trim() == name && name.chars().count() <= 60 && !name.contains(','), "{name}");
        }
    }
}
