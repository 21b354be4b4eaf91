//! What a text asks for: a name, and what follows it to say which one is meant.

use crate::CountrySet;
use crate::area::{Area, Qualifiers};
use crate::fold::fold;
use crate::item::Item;
use crate::names::{EntitySet, Matches, Names, matches};
use crate::postcode_match::{PostcodeMatch, read};

/// Bytes, words and parts between commas beyond which a text names nothing.
const MAX_QUERY_CHARS: usize = 500;
const MAX_WORDS: usize = 16;
const MAX_PARTS: usize = 6;
/// Country, container, and three areas after the name.
const MAX_FILTERS: usize = 5;
/// Words of a postcode with spaces where there should be none: `HR4 9 AR`.
const MAX_CODE_WORDS: usize = 3;

/// What a text names, best first.
#[derive(Default)]
pub struct Found {
    codes: PostcodeMatch,
    pub names: Matches,
}

impl Found {
    /// Kind by kind, and in each what is in the preferred countries first.
    pub fn items(&self, preferred: CountrySet) -> impl Iterator<Item = Item> {
        let (codes, names) = (&self.codes, &self.names);
        let exact = || codes.exact.iter().copied().chain(names.exact.iter().map(Item::ranked));
        let prefix = || codes.prefix.iter().copied().chain(names.prefix.iter().map(Item::ranked));
        let words = preferred_first(preferred, || names.words.iter().map(Item::ranked));
        preferred_first(preferred, exact)
            .chain(preferred_first(preferred, prefix))
            .chain(words)
            .chain(codes.near.iter().copied())
    }

    fn any(&self, filter: &Filter) -> bool {
        self.items(CountrySet::default()).any(|item| admits(filter, item))
    }
}

/// What is in the preferred countries, then the others, each in the order given: two passes instead of a sort, so a
/// search takes no more of them than its page needs.
fn preferred_first<I: Iterator<Item = Item>>(
    preferred: CountrySet,
    items: impl Fn() -> I,
) -> impl Iterator<Item = Item> {
    let is_preferred = move |item: &Item| preferred.has(item.country_number());
    let first = (!preferred.is_empty()).then(&items).into_iter().flatten().filter(is_preferred);
    first.chain(items().filter(move |item| !is_preferred(item)))
}

/// In each of these, in one of the areas.
pub type Filter = Vec<Vec<Area>>;

pub fn admits(filter: &Filter, item: Item) -> bool {
    filter.iter().all(|areas| areas.iter().any(|area| area.holds(item)))
}

/// What a folded text names by itself, if the filter admits any of it.
fn look_up(text: &str, filter: &Filter) -> Option<Found> {
    let found = Found { codes: read(text), names: matches(text) };
    found.any(filter).then_some(found)
}

/// "Hay on Wye" is Hay in the data, "Galway City" Galway: the short form, and the name up to what is appended.
fn short_form(name: &str) -> Option<(&str, &str)> {
    if let Some(short) = name.strip_suffix(" city").or_else(|| name.strip_suffix(" town")) {
        return Some((short, name));
    }
    [" by ", " in ", " le ", " on ", " under ", " upon "].iter().find_map(|appended| {
        let (short, rest) = name.split_once(appended)?;
        let is_one = !rest.strip_prefix("the ").unwrap_or(rest).contains(' ');
        is_one.then(|| (short, &name[..name.len() - rest.len()]))
    })
}

/// A postcode or district at the end of the text.
fn coded(text: &str, filter: &Filter) -> Option<Found> {
    let mut tails: Vec<&str> =
        text.rmatch_indices(' ').take(MAX_CODE_WORDS).map(|(space, _)| &text[space + 1..]).collect();
    tails.retain(|tail| tail.contains(|c: char| c.is_ascii_digit()));
    tails.into_iter().rev().find_map(|tail| {
        let found = Found { codes: read(tail), names: Matches::default() };
        found.any(filter).then_some(found)
    })
}

/// What to list for a text.
pub struct ParsedQuery {
    pub found: Found,
    /// The name, if near spellings of it follow.
    pub name: String,
    /// With what follows the name.
    pub filter: Filter,
    /// Part of the text may have been passed over, so nothing says that it is about somewhere far.
    pub home_first: bool,
}

impl ParsedQuery {
    fn new(found: Found, name: &str, filter: &Filter) -> Self {
        Self { found, name: name.to_owned(), filter: filter.clone(), home_first: false }
    }
}

pub struct QueryParser {
    names: Names,
    qualifiers: Qualifiers,
}

impl QueryParser {
    pub fn open() -> Self {
        Self { names: Names::open(), qualifiers: Qualifiers::open() }
    }

    /// Near spellings of the name, the nearest first, and of those as near the preferred countries first.
    pub fn near(&self, name: &str, but: &Matches, preferred: CountrySet) -> Vec<Item> {
        let ranks = self.names.near(name, but);
        let by_edits = |ranks: &EntitySet| {
            preferred_first(preferred, || ranks.iter().map(Item::ranked)).collect::<Vec<_>>()
        };
        ranks.iter().flat_map(by_edits).collect()
    }

    pub fn asked(&self, text: &str, filter: Filter) -> ParsedQuery {
        let folded = if text.len() > MAX_QUERY_CHARS { String::new() } else { fold(text) };
        if folded.is_empty() || folded.split(' ').count() > MAX_WORDS {
            return ParsedQuery::new(Found::default(), "", &filter);
        }
        if let Some(asked) = self.read(&folded, &filter) {
            return asked;
        }
        let parts: Vec<String> =
            text.split(',').map(fold).filter(|part| !part.is_empty()).take(MAX_PARTS).collect();
        let [first, _, ..] = &parts[..] else { return ParsedQuery::new(Found::default(), &folded, &filter) };
        let asked = self.in_parts(&parts, &filter);
        let asked = asked.unwrap_or_else(|| ParsedQuery::new(Found::default(), first, &filter));
        ParsedQuery { home_first: true, ..asked }
    }

    /// The text as a name, as one with an area or a postcode after it, or as one with an addition.
    fn read(&self, text: &str, filter: &Filter) -> Option<ParsedQuery> {
        look_up(text, filter)
            .map(|found| ParsedQuery::new(found, text, filter))
            .or_else(|| self.qualified(text, filter))
            .or_else(|| coded(text, filter).map(|found| ParsedQuery::new(found, "", filter)))
            .or_else(|| self.shortened(text, filter).map(|found| ParsedQuery::new(found, "", filter)))
    }

    /// Reads the last words as an area or a postcode and the rest as what to find there.
    fn qualified(&self, text: &str, filter: &Filter) -> Option<ParsedQuery> {
        if filter.len() >= MAX_FILTERS {
            return None;
        }
        text.rmatch_indices(' ').find_map(|(space, _)| {
            let (name, tail) = (&text[..space], &text[space + 1..]);
            let codes = read(tail);
            if let [unit @ Item::Unit(_)] = codes.exact[..]
                && admits(filter, unit)
            {
                return Some(ParsedQuery::new(Found { codes, names: Matches::default() }, "", filter));
            }
            let mut filter = filter.clone();
            filter.push(self.qualifiers.areas(tail)?);
            self.read(name, &filter)
        })
    }

    /// What bears the short form of the name, unless the whole is a near spelling: "Newcastle upon Tyen".
    fn shortened(&self, name: &str, filter: &Filter) -> Option<Found> {
        let (short, appended) = short_form(name)?;
        let found = look_up(short, filter)?;
        let is_exact = found.names.exact.iter().any(|entity| admits(filter, Item::ranked(entity)));
        let is_begun = |item: Item| fold(&item.text()).starts_with(appended);
        // Of "Cork City" all is appended, and what begins so was found before.
        let is_near = || appended != name && self.near_in(name, filter).any(is_begun);
        (is_exact && !is_near()).then_some(found)
    }

    fn near_in(&self, name: &str, filter: &Filter) -> impl Iterator<Item = Item> {
        self.near(name, &Matches::default(), CountrySet::default())
            .into_iter()
            .filter(|item| admits(filter, *item))
    }

    /// The first part that names something: where the parts after it say, or anywhere, or nearly spelled so where they
    /// say. What narrows nothing is passed over, and so is the name of a house or street.
    fn in_parts(&self, parts: &[String], filter: &Filter) -> Option<ParsedQuery> {
        parts.iter().zip(1..).find_map(|(name, after)| {
            let after = &parts[after..];
            let areas = after.iter().filter_map(|part| self.qualifiers.areas(part));
            let narrowed: Filter = filter.iter().cloned().chain(areas).take(MAX_FILTERS).collect();
            let areas = narrowed.len() - filter.len();
            if areas == 0 {
                return self.read(name, filter);
            }
            self.read(name, &narrowed).or_else(|| self.read(name, filter)).or_else(|| {
                // Before a part that may be a name as well, this one is a house or street.
                let is_near = areas == after.len() && self.near_in(name, &narrowed).next().is_some();
                is_near.then(|| ParsedQuery::new(Found::default(), name, &narrowed))
            })
        })
    }
}
