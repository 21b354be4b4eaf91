//! Commodities: what loads consist of. A catalogue of them, and the operation that lists it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use common::catalogue;
use common::wire::{comparison_key, fold};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub(crate) use handlers::routes;

const EMBEDDED: &str = include_str!("../data/commodities.csv");

/// A commodity of the catalogue.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct CatalogueEntry {
    /// Permanent id.
    pub id: i32,
    /// Name, such as `Feed Wheat`.
    pub name: String,
    /// Category, such as `cereals`.
    pub category: String,
    /// Other names, separated by `|`. They are only suggested from.
    #[serde(default, skip_serializing)]
    #[schema(ignore)]
    aliases: String,
}

/// All commodities, indexed by id and name.
pub(crate) struct Catalogue {
    by_id: BTreeMap<i32, CatalogueEntry>,
    /// Ids by folded names.
    by_name: HashMap<String, i32>,
    /// Ids with the spellings of name and aliases, in the order of the ids.
    spellings: Vec<(i32, Vec<Spelling>)>,
}

impl Catalogue {
    /// Loads a CSV file with the columns `id`, `name` and `category`, or the embedded catalogue without a file.
    ///
    /// # Errors
    /// If the file cannot be read or lacks a column.
    pub(crate) fn open(file: Option<&Path>) -> anyhow::Result<Self> {
        let entries: Vec<CatalogueEntry> = catalogue::load(EMBEDDED, file, "service.commodities_file")?;
        let by_name = entries.iter().map(|entry| (comparison_key(&entry.name), entry.id)).collect();
        let by_id: BTreeMap<_, _> = entries.into_iter().map(|entry| (entry.id, entry)).collect();
        let spellings = |entry: &CatalogueEntry| {
            let names = [&*entry.name].into_iter().chain(entry.aliases.split('|'));
            names.filter(|name| !name.is_empty()).map(Spelling::of).collect()
        };
        let spellings = by_id.values().map(|entry| (entry.id, spellings(entry))).collect();
        Ok(Self { by_id, by_name, spellings })
    }

    /// Returns all commodities in the order of their ids.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &CatalogueEntry> {
        self.by_id.values()
    }

    /// Returns the commodity with this id, a JSON number in requests.
    pub(crate) fn find(&self, id: f64) -> Option<&CatalogueEntry> {
        self.by_id.get(&catalogue::whole_id(id)?)
    }

    /// Returns the commodity with this name, compared as texts are.
    pub(crate) fn find_name(&self, name: &str) -> Option<&CatalogueEntry> {
        self.by_id.get(self.by_name.get(&comparison_key(name))?)
    }

    /// Returns up to three names that are near an unknown one, the nearest first.
    pub(crate) fn near_names(&self, name: &str) -> Vec<&str> {
        let known = self.spellings.iter().filter_map(|(id, spellings)| {
            self.by_id.get(id).map(|entry| (entry.name.as_str(), spellings.as_slice()))
        });
        near_names(name, known)
    }
}

/// The names that are suggested for an unknown one.
const MAX_SUGGESTIONS: usize = 3;
/// The least similarity of a suggestion.
const MIN_SIMILARITY: f64 = 0.4;

/// The pairs of adjacent characters of the words of a text, in order, with the blanks around each word.
#[derive(Debug)]
pub(super) struct Spelling(Vec<[char; 2]>);

impl Spelling {
    /// Returns the spelling of a folded text.
    pub(super) fn of(text: &str) -> Self {
        let mut pairs = Vec::new();
        for word in fold(text).split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            let mut before = ' ';
            for c in word.chars().chain([' ']) {
                pairs.push([before, c]);
                before = c;
            }
        }
        pairs.sort_unstable();
        Self(pairs)
    }

    /// Returns the Sørensen–Dice coefficient of two spellings: 0 to 1.
    fn similarity(&self, other: &Self) -> f64 {
        let (mut a, mut b, mut common) = (self.0.iter().peekable(), other.0.iter().peekable(), 0_u32);
        while let (Some(left), Some(right)) = (a.peek(), b.peek()) {
            match left.cmp(right) {
                std::cmp::Ordering::Less => {
                    a.next();
                }
                std::cmp::Ordering::Greater => {
                    b.next();
                }
                std::cmp::Ordering::Equal => {
                    common += 1;
                    a.next();
                    b.next();
                }
            }
        }
        let all = u32::try_from(self.0.len() + other.0.len()).unwrap_or(u32::MAX).max(1);
        2.0 * f64::from(common) / f64::from(all)
    }
}

/// Returns the names with the most similar spellings, the most similar first. A name may have several spellings.
pub(super) fn near_names<'a>(
    text: &str,
    names: impl Iterator<Item = (&'a str, &'a [Spelling])>,
) -> Vec<&'a str> {
    let spelling = Spelling::of(text);
    let best = |spellings: &[Spelling]| {
        spellings.iter().map(|known| known.similarity(&spelling)).fold(0.0, f64::max)
    };
    let mut near: Vec<_> = names.map(|(name, spellings)| (best(spellings), name)).collect();
    near.retain(|(similarity, _)| *similarity >= MIN_SIMILARITY);
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name).collect()
}

mod handlers {
    //! The operation on commodities.

    use actix_web::get;
    use actix_web::web::Data;
    use common::{Caller, Error, ErrorResponses, JsonResponse};
    use utoipa_actix_web::service_config::ServiceConfig;

    use super::CatalogueEntry;
    use crate::Logistics;

    /// Registers the routes.
    pub(crate) fn routes(v1: &mut ServiceConfig) {
        v1.service(list);
    }

    /// List commodities
    #[utoipa::path(operation_id = "list_commodities", tag = "commodities", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
        responses((status = 200, body = [CatalogueEntry]), ErrorResponses))]
    #[get("/commodities")]
    async fn list(_caller: Caller, app: Data<Logistics>) -> Result<JsonResponse, Error> {
        JsonResponse::json(&app.commodities.entries().collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_commodities_by_id_and_name() {
        let catalogue = Catalogue::open(None).unwrap();
        assert_eq!(catalogue.find(1.0).unwrap().name, "Feed Wheat");
        for id in [0.0, 1.5, -1.0, 1e300, f64::NAN] {
            assert!(catalogue.find(id).is_none(), "{id}");
        }
        for name in [" feed WHEAT ", "Feed\u{a0}Wheat", "feed \u{2003}\u{a0}wheat\u{3000}"] {
            assert_eq!(catalogue.find_name(name).unwrap().id, 1, "{name:?}");
        }
        assert!(catalogue.find_name("gold").is_none());
    }

    #[test]
    fn suggests_near_names() {
        let catalogue = Catalogue::open(None).unwrap();
        for (given, first) in [
            ("Feed Whaet", "Feed Wheat"),
            ("wheat feed", "Feed Wheat"),
            ("Wheat", "Feed Wheat"),
            ("malting barly", "Malting Barley"),
            ("Corn", "Grain Maize"),
            ("Ag. Lime", "Agricultural Lime"),
        ] {
            let near = catalogue.near_names(given);
            assert!(near.len() <= 3 && near.first() == Some(&first), "{given}: {near:?}");
        }
        for given in ["xyzzy", "", "?", &"\u{1f404}".repeat(200)] {
            assert_eq!(catalogue.near_names(given), [""; 0], "{given}");
        }
    }
}
