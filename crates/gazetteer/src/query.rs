//! Parsing of a search text into a name and the areas that restrict it.

use crate::area::{Area, Qualifiers};
use crate::district;
use crate::fold::fold;
use crate::item::Item;
use crate::names::{EntitySet, NameMatches, SpellingIndex, match_names};
use crate::postcode_match::{PostcodeMatch, match_postcode};
use crate::tables::entity;
use crate::{CountrySet, distance_km};

/// Longest text that is searched, in bytes.
const MAX_TEXT_BYTES: usize = 500;
/// Maximum number of words of a text that is searched.
const MAX_WORDS: usize = 16;
/// Number of parts between commas that are searched.
const MAX_PARTS: usize = 6;
/// Maximum number of restrictions: country, container and three areas after the name.
const MAX_FILTERS: usize = 5;
/// Words before the name of a place nearby.
const NEAR: [&str; 2] = ["nr ", "near "];
/// Distance from a district within which its post town is.
const MAX_POST_TOWN_DISTANCE_KM: f64 = 30.0;
/// Number of words that a postcode with misplaced spaces may have: `HR4 9 AR`.
const MAX_CODE_WORDS: usize = 3;

/// How many times the inhabitants of the largest exact match make an entity well-known whose name starts with the text.
const WELL_KNOWN_FACTOR: u32 = 10;

/// Inhabitants of a place for which the data has none: "Callow" is the village, not Callow Hill.
const ASSUMED_POPULATION: u32 = 1_000;

/// The postcodes and entities that a text matches.
#[derive(Default)]
pub(crate) struct TextMatches {
    postcodes: PostcodeMatch,
    pub names: NameMatches,
}

impl TextMatches {
    /// Returns all items, grouped by how well they match. In each group, those in the preferred countries come first,
    /// and among the exact matches the [well-known](Self::well_known) entities.
    pub(crate) fn items<'a>(
        &'a self,
        preferred: CountrySet,
        well_known: &'a [u32],
    ) -> impl Iterator<Item = Item> + 'a {
        let (postcodes, names) = (&self.postcodes, &self.names);
        let exact = move || {
            let names = well_known.iter().copied().chain(names.exact.iter());
            postcodes.exact.iter().copied().chain(names.map(Item::from_entity))
        };
        let prefix = move || {
            let names = names.prefix.iter().filter(|entity| well_known.binary_search(entity).is_err());
            postcodes.prefix.iter().copied().chain(names.map(Item::from_entity))
        };
        let words = preferred_first(preferred, || names.words.iter().map(Item::from_entity));
        preferred_first(preferred, exact)
            .chain(preferred_first(preferred, prefix))
            .chain(words)
            .chain(postcodes.district.iter().copied())
    }

    /// Returns the places in preferred countries that people mean although their name only starts with the text: those
    /// with far more inhabitants than each exact match there, by rank.
    pub(crate) fn well_known(&self, preferred: CountrySet, filter: &Filter) -> Vec<u32> {
        if preferred.is_empty() || self.names.whole_words.is_empty() {
            return vec![];
        }
        let is_at_home = |entity: &u32| {
            let item = Item::from_entity(*entity);
            item.is_preferred(preferred) && admits(filter, item)
        };
        let least = |exact: u32| inhabitants(exact).saturating_mul(WELL_KNOWN_FACTOR);
        let least = self.names.exact.iter().find(is_at_home).map_or(0, least);
        let is_place =
            |entity: &u32| matches!(Item::from_entity(*entity), Item::Place(_) | Item::District(_));
        let candidates = self.names.whole_words.iter().copied().filter(is_place).filter(is_at_home);
        candidates.take_while(|candidate| entity(*candidate).population >= least).collect()
    }

    /// Returns the matches, or `None` if the filter admits none of them.
    fn admitted_by(self, filter: &Filter) -> Option<Self> {
        let is_admitted = self.items(CountrySet::default(), &[]).any(|item| admits(filter, item));
        is_admitted.then_some(self)
    }
}

/// Returns the items in preferred countries, then the others, each in the given order. Two passes instead of a sort let
/// a search stop once it has a page.
fn preferred_first<I: Iterator<Item = Item>>(
    preferred: CountrySet,
    items: impl Fn() -> I,
) -> impl Iterator<Item = Item> {
    let is_preferred = move |item: &Item| item.is_preferred(preferred);
    let first = (!preferred.is_empty()).then(&items).into_iter().flatten().filter(is_preferred);
    first.chain(items().filter(move |item| !is_preferred(item)))
}

/// Returns the inhabitants of an entity.
fn inhabitants(number: u32) -> u32 {
    match entity(number).population {
        0 => ASSUMED_POPULATION,
        known => known,
    }
}

/// Restrictions of a search. An item must be in at least one area of each inner list.
pub(crate) type Filter = Vec<Vec<Area>>;

/// Returns true if the item meets all restrictions.
pub(crate) fn admits(filter: &Filter, item: Item) -> bool {
    filter.iter().all(|areas| areas.iter().any(|area| area.contains(item)))
}

/// Matches a whole folded text against names and postcodes.
fn match_text(text: &str, filter: &Filter) -> Option<TextMatches> {
    TextMatches { postcodes: match_postcode(text), names: match_names(text) }.admitted_by(filter)
}

/// Matches a postcode or district at the end of a folded text.
fn match_trailing_postcode(text: &str, filter: &Filter) -> Option<TextMatches> {
    let mut tails: Vec<&str> =
        text.rmatch_indices(' ').take(MAX_CODE_WORDS).map(|(space, _)| &text[space + 1..]).collect();
    tails.retain(|tail| tail.contains(|c: char| c.is_ascii_digit()));
    tails.into_iter().rev().find_map(|tail| {
        TextMatches { postcodes: match_postcode(tail), names: NameMatches::default() }.admitted_by(filter)
    })
}

/// Returns the short form of a name and its stem, the name up to the addition. The data has "Hay" for "Hay on Wye",
/// whose stem is "Hay on", and "Galway" for "Galway City".
fn short_form(name: &str) -> Option<(&str, &str)> {
    if let Some(short) = name.strip_suffix(" city").or_else(|| name.strip_suffix(" town")) {
        return Some((short, name));
    }
    [" by ", " in ", " le ", " on ", " under ", " upon "].iter().find_map(|infix| {
        let (short, rest) = name.split_once(infix)?;
        let is_one_word = !rest.strip_prefix("the ").unwrap_or(rest).contains(' ');
        is_one_word.then(|| (short, &name[..name.len() - rest.len()]))
    })
}

/// A parsed search text and its matches.
pub(crate) struct ParsedQuery {
    pub matches: TextMatches,
    /// The name whose similar spellings follow the matches; empty for none.
    pub name: String,
    /// The filter of the search and the areas after the name.
    pub filter: Filter,
    /// Whether items in the British Isles come first. True if the text has several parts, of which some may be ignored,
    /// so that nothing in it shows that it means a place far away.
    pub british_isles_first: bool,
}

impl ParsedQuery {
    fn new(matches: TextMatches, name: &str, filter: &Filter) -> Self {
        Self { matches, name: name.to_owned(), filter: filter.clone(), british_isles_first: false }
    }

    fn without_matches(name: &str, filter: &Filter) -> Self {
        Self::new(TextMatches::default(), name, filter)
    }
}

/// Parses search texts.
pub(crate) struct QueryParser {
    spellings: SpellingIndex,
    qualifiers: Qualifiers,
}

impl QueryParser {
    /// Opens the embedded automata.
    pub(crate) fn open() -> Self {
        Self { spellings: SpellingIndex::open(), qualifiers: Qualifiers::open() }
    }

    /// Returns items with names similar to a folded name, except those in `excluded`. They are sorted by the number of
    /// edits; of those with the same number, items in the preferred countries come first.
    pub(crate) fn similar(&self, name: &str, excluded: &NameMatches, preferred: CountrySet) -> Vec<Item> {
        let by_edits = self.spellings.similar(name, excluded);
        let items = |entities: &EntitySet| {
            preferred_first(preferred, || entities.iter().map(Item::from_entity)).collect::<Vec<_>>()
        };
        by_edits.iter().flat_map(items).collect()
    }

    /// Parses a text. `filter` holds the restrictions of the search.
    pub(crate) fn parse(&self, text: &str, filter: Filter) -> ParsedQuery {
        let folded = if text.len() > MAX_TEXT_BYTES { String::new() } else { fold(text) };
        if folded.is_empty() || folded.split(' ').count() > MAX_WORDS {
            return ParsedQuery::without_matches("", &filter);
        }
        if let Some(parsed) = self.parse_part(&folded, &filter) {
            return parsed;
        }
        let near_as_comma = |text: String, near| text.replace(near, ",");
        let separated = [" nr ", " nr. ", " near "].into_iter().fold(text.to_lowercase(), near_as_comma);
        let parts: Vec<String> =
            separated.split(',').map(fold).filter(|part| !part.is_empty()).take(MAX_PARTS).collect();
        let [first, _, ..] = &parts[..] else { return ParsedQuery::without_matches(&folded, &filter) };
        let parsed = self.parse_parts(&parts, &filter);
        let parsed = parsed.unwrap_or_else(|| ParsedQuery::without_matches(first, &filter));
        ParsedQuery { british_isles_first: true, ..parsed }
    }

    /// Parses a folded text as a name, a name with an area or postcode after it, or a name with an addition.
    fn parse_part(&self, text: &str, filter: &Filter) -> Option<ParsedQuery> {
        match_text(text, filter)
            .map(|matches| ParsedQuery::new(matches, text, filter))
            .or_else(|| self.parse_qualified(text, filter))
            .or_else(|| self.parse_after_postcode(text, filter))
            .or_else(|| {
                match_trailing_postcode(text, filter).map(|matches| ParsedQuery::new(matches, "", filter))
            })
            .or_else(|| {
                self.match_short_form(text, filter).map(|matches| ParsedQuery::new(matches, "", filter))
            })
            .or_else(|| NEAR.iter().find_map(|near| self.parse_part(text.strip_prefix(near)?, filter)))
    }

    /// Parses the first words as a postcode. A complete one needs no name, as in `LD3 7EG Brecon`. After a district,
    /// the name is that of a place in it, as in `HR1 Hereford`, or near it; other words are a house, as in `B4 Barn`.
    fn parse_after_postcode(&self, text: &str, filter: &Filter) -> Option<ParsedQuery> {
        if filter.len() >= MAX_FILTERS {
            return None;
        }
        let has_digit = |word: &str| word.contains(|c: char| c.is_ascii_digit());
        let spaces: Vec<usize> =
            text.match_indices(' ').map(|(space, _)| space).take(MAX_CODE_WORDS).collect();
        spaces.into_iter().rev().find_map(|space| {
            let (code, name) = (&text[..space], &text[space + 1..]);
            let postcodes = if has_digit(code) { match_postcode(code) } else { return None };
            let whole = |postcodes| {
                let matches = TextMatches { postcodes, names: NameMatches::default() };
                matches.admitted_by(filter).map(|matches| ParsedQuery::new(matches, "", filter))
            };
            let is_unknown_unit =
                !postcodes.district.is_empty() && code.rsplit(' ').next().is_some_and(has_digit);
            match postcodes.exact[..] {
                [Item::Unit(_)] => whole(postcodes),
                [Item::District(district), ..] => {
                    let mut inside = filter.clone();
                    inside.push(vec![Area::District(district)]);
                    let is_near = |entity| {
                        let at = Item::from_entity(entity).degrees();
                        distance_km(at, district::degrees(district)) <= MAX_POST_TOWN_DISTANCE_KM
                    };
                    self.parse_part(name, &inside).or_else(|| {
                        match_names(name).exact.iter().any(is_near).then(|| whole(postcodes)).flatten()
                    })
                }
                _ if is_unknown_unit => whole(postcodes),
                _ => None,
            }
        })
    }

    /// Parses the last words as an area or a postcode, and the words before them as a name in that area.
    fn parse_qualified(&self, text: &str, filter: &Filter) -> Option<ParsedQuery> {
        if filter.len() >= MAX_FILTERS {
            return None;
        }
        text.rmatch_indices(' ').find_map(|(space, _)| {
            let (name, tail) = (&text[..space], &text[space + 1..]);
            let postcodes = match_postcode(tail);
            if let [unit @ Item::Unit(_)] = postcodes.exact[..]
                && admits(filter, unit)
            {
                let matches = TextMatches { postcodes, names: NameMatches::default() };
                return Some(ParsedQuery::new(matches, "", filter));
            }
            let mut filter = filter.clone();
            filter.push(self.qualifiers.areas(tail)?);
            self.parse_part(name, &filter)
        })
    }

    /// Matches the short form of a name, unless the whole name is a misspelling: "Newcastle upon Tyen".
    fn match_short_form(&self, name: &str, filter: &Filter) -> Option<TextMatches> {
        let (short, stem) = short_form(name)?;
        let matches = match_text(short, filter)?;
        let is_exact = matches.names.exact.iter().any(|entity| admits(filter, Item::from_entity(entity)));
        let has_stem = |item: Item| fold(&item.text()).starts_with(stem);
        // The stem of "Cork City" is the whole name, whose matches were tried before.
        let is_misspelled = || stem != name && self.similar_in(name, filter).any(has_stem);
        (is_exact && !is_misspelled()).then_some(matches)
    }

    /// Returns the items with similar names that the filter admits.
    fn similar_in(&self, name: &str, filter: &Filter) -> impl Iterator<Item = Item> {
        self.similar(name, &NameMatches::default(), CountrySet::default())
            .into_iter()
            .filter(|item| admits(filter, *item))
    }

    /// Parses the parts of an address. Returns the first part that matches: in the areas that the parts after it name,
    /// or anywhere, or with a similar spelling in those areas. Ignores parts after it that name no area, and parts
    /// before it, such as houses and streets.
    fn parse_parts(&self, parts: &[String], filter: &Filter) -> Option<ParsedQuery> {
        parts.iter().zip(1..).find_map(|(name, next)| {
            let qualifiers = &parts[next..];
            let areas = qualifiers.iter().filter_map(|part| self.qualifiers.areas(part));
            let restricted: Filter = filter.iter().cloned().chain(areas).take(MAX_FILTERS).collect();
            let area_count = restricted.len() - filter.len();
            if area_count == 0 {
                return self.parse_part(name, filter);
            }
            self.parse_part(name, &restricted).or_else(|| self.parse_part(name, filter)).or_else(|| {
                // If a part after it is not an area, it may be the name, and this part a house or street.
                let is_similar =
                    area_count == qualifiers.len() && self.similar_in(name, &restricted).next().is_some();
                is_similar.then(|| ParsedQuery::without_matches(name, &restricted))
            })
        })
    }
}
