//! Search by text, by container, or both.

use std::iter;

use crate::area::{Area, Qualifiers};
use crate::fold::fold;
use crate::item::Item;
use crate::names::{Matches, Names};
use crate::reading::{Reading, read};

/// Bytes and words beyond which a text names nothing.
const LONGEST: usize = 500;
const MOST_WORDS: usize = 16;

/// What to look for. Without text and container nothing is found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Search<'a> {
    /// A name, or a postcode, or the beginning of either; case, accents and punctuation do not matter.
    pub text: Option<&'a str>,
    /// Only what is in the container of this id, however deep; without text, what is directly in it.
    pub within: Option<&'a str>,
    /// Only what is in the country of this alpha-2 code.
    pub country: Option<&'a str>,
    /// At most so many hits, …
    pub limit: usize,
    /// … after so many.
    pub offset: usize,
}

/// What a hit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A unit postcode.
    Postcode,
    /// A city, town or village.
    Place,
    /// A region or a postcode district, which [`Search::within`] looks into.
    Container,
}

/// Something found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// `place:2647074`, `postcode:HR49AR`, `district:HR1`, `district:IE-H91`, `region:GB-HEF`.
    pub id: String,
    /// What it is.
    pub kind: Kind,
    /// Its name or code.
    pub text: String,
    /// Where it is: `Herefordshire, England, United Kingdom`.
    pub description: String,
}

/// What a text names, best first.
#[derive(Default)]
struct Found {
    codes: Reading,
    names: Matches,
}

impl Found {
    fn items(&self) -> impl Iterator<Item = Item> {
        let (codes, names) = (&self.codes, &self.names);
        let exact = codes.exact.iter().copied().chain(names.exact.iter().map(Item::ranked));
        let prefix = codes.prefix.iter().copied().chain(names.prefix.iter().map(Item::ranked));
        exact.chain(prefix).chain(names.words.iter().map(Item::ranked)).chain(codes.near.iter().copied())
    }
}

/// In each of these, in one of the areas.
type Filter = Vec<Vec<Area>>;

fn admits(filter: &Filter, item: Item) -> bool {
    filter.iter().all(|areas| areas.iter().any(|area| area.holds(item)))
}

pub struct Index {
    names: Names,
    qualifiers: Qualifiers,
}

impl Index {
    pub fn open() -> Self {
        Self { names: Names::open(), qualifiers: Qualifiers::open() }
    }

    pub fn search(&self, search: &Search<'_>) -> Vec<Hit> {
        self.items(search).unwrap_or_default().into_iter().map(Item::hit).collect()
    }

    /// None where container or country is unknown.
    fn items(&self, search: &Search<'_>) -> Option<Vec<Item>> {
        let mut filter = Filter::new();
        if let Some(iso) = search.country {
            filter.push(vec![Area::country(iso)?]);
        }
        let container = search.within.map(Area::container);
        let page = |items: &mut dyn Iterator<Item = Item>, filter: &Filter| {
            let admitted = items.filter(|item| admits(filter, *item));
            Some(admitted.skip(search.offset).take(search.limit).collect())
        };
        let Some(text) = search.text else { return page(&mut container??.contents(), &filter) };
        if let Some(container) = container {
            filter.push(vec![container?]);
        }
        let (found, name, filter) = self.find(text, filter);
        let near = iter::once_with(|| self.names.near(&name, &found.names))
            .flat_map(|ranks| ranks.map(|ranks| ranks.iter().map(Item::ranked).collect::<Vec<_>>()))
            .flatten();
        page(&mut found.items().chain(near), &filter)
    }

    /// What the text names, the part of it that is the name, and the filter with what follows the name.
    fn find(&self, text: &str, filter: Filter) -> (Found, String, Filter) {
        let folded = if text.len() > LONGEST { String::new() } else { fold(text) };
        if folded.is_empty() || folded.split(' ').count() > MOST_WORDS {
            return (Found::default(), String::new(), filter);
        }
        if let Some(found) = self.look_up(&folded, &filter) {
            return (found, folded, filter);
        }
        if let Some((found, name, filter)) = self.qualified(&folded, &filter) {
            return (found, name.to_owned(), filter);
        }
        // What follows a comma and narrows nothing is passed over.
        let name = text.split(',').map(fold).find(|part| !part.is_empty()).unwrap_or_default();
        (self.look_up(&name, &filter).unwrap_or_default(), name, filter)
    }

    /// What a folded text names by itself, if the filter admits any of it.
    fn look_up(&self, text: &str, filter: &Filter) -> Option<Found> {
        let found = Found { codes: read(text), names: self.names.matches(text) };
        let any = found.items().any(|item| admits(filter, item));
        any.then_some(found)
    }

    /// Reads the last words as an area or a postcode and the rest as what to find there.
    fn qualified<'t>(&self, text: &'t str, filter: &Filter) -> Option<(Found, &'t str, Filter)> {
        text.rmatch_indices(' ').find_map(|(space, _)| {
            let (name, tail) = (&text[..space], &text[space + 1..]);
            let codes = read(tail);
            if let [unit @ Item::Unit(_)] = codes.exact[..] && admits(filter, unit) {
                return Some((Found { codes, names: Matches::default() }, "", filter.clone()));
            }
            let mut filter = filter.clone();
            filter.push(self.qualifiers.areas(tail)?);
            match self.look_up(name, &filter) {
                Some(found) => Some((found, name, filter)),
                None => self.qualified(name, &filter),
            }
        })
    }
}
