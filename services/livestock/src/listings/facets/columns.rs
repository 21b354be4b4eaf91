//! The columns of listings that filters compare exactly, and the texts that their numbers stand for.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

use database::search::words::{begins_word, is_initial};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use strum::VariantNames;

use super::model::FacetColumns;
use crate::listings::attributes::{AdditionalInfo, Sex};
use crate::listings::geo::{MapPoint, Point};
use crate::listings::search::StatusFilter;
use crate::listings::search_fields::{line, lines};

/// Bytes of a set of types that is stored as it is. The types of a listing may have 40 kB.
const MAX_TYPES_BYTES: usize = 400;

/// The values of a listing that filters compare exactly, with texts as numbers of [`Texts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FacetRow {
    /// Number of the organisation.
    pub(crate) organisation: u32,
    /// Number of a term, as are the next two.
    pub(crate) breed: u32,
    pub(crate) breed_type: u32,
    pub(crate) society: u32,
    /// Number of the set of types.
    pub(crate) types: u32,
    /// Main category.
    pub(crate) category: u8,
    /// Number of the [`StatusFilter`], or [`FacetRow::CANCELLED_DRAFT`].
    pub(crate) status: u8,
    /// One flag for each [`Sex`].
    pub(crate) sexes: u8,
    /// One flag for each [`AdditionalInfo`].
    pub(crate) additional_info: u8,
}

impl FacetRow {
    /// The status of listings that were cancelled as drafts.
    pub(crate) const CANCELLED_DRAFT: u8 = StatusFilter::Draft as u8 + 1;
}

/// Returns the number of the status of a listing.
fn status(columns: &FacetColumns) -> u8 {
    match (columns.status.as_str(), columns.kind.as_str()) {
        ("active", "selling") => StatusFilter::ActiveSelling as u8,
        ("active", _) => StatusFilter::ActiveBuying as u8,
        ("sold", _) => StatusFilter::Sold as u8,
        ("found", _) => StatusFilter::Found as u8,
        ("cancelled", _) if !columns.cancelled_as_draft => StatusFilter::Cancelled as u8,
        ("cancelled", _) => FacetRow::CANCELLED_DRAFT,
        _ => StatusFilter::Draft as u8,
    }
}

/// Returns a flag for each value that a column of lines contains, the first value in the lowest bit.
fn flags(lines: &str, values: &[&str]) -> u8 {
    let at = |line: &str| values.iter().position(|value| *value == line);
    lines.split('\n').filter_map(at).fold(0, |flags, at| flags | 1 << at)
}

/// Defines [`Columns`] with one array for each field of [`FacetRow`].
macro_rules! columns {
    ($($name:ident: $number:ty),+) => {
        /// The values of listings that filters compare exactly. [`FacetRow`] describes them.
        #[derive(Debug, Default)]
        pub(crate) struct Columns {
            $(pub(crate) $name: Vec<$number>,)+
        }

        impl Columns {
            pub(crate) fn len(&self) -> usize {
                self.status.len()
            }

            pub(crate) fn row(&self, at: usize) -> FacetRow {
                FacetRow { $($name: self.$name[at]),+ }
            }

            pub(crate) fn insert(&mut self, at: usize, row: FacetRow) {
                $(self.$name.insert(at, row.$name);)+
            }

            pub(crate) fn replace(&mut self, at: usize, row: FacetRow) {
                $(self.$name[at] = row.$name;)+
            }
        }
    };
}

columns! {
    organisation: u32, breed: u32, breed_type: u32, society: u32, types: u32,
    category: u8, status: u8, sexes: u8, additional_info: u8
}

/// The texts of listings. Terms are numbered apart from the others, because tables of counts are as long as the highest
/// number of a term.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    /// Breeds, breed types and breed societies. The empty text stands for none.
    pub(crate) terms: Dictionary,
    pub(crate) organisations: Dictionary,
    /// The sets of values of `properties.type`: one line for each value, with line breaks around them.
    pub(crate) types: Dictionary,
    /// ISO 4217 codes.
    pub(crate) currencies: Dictionary,
    /// The ids of suspended organisations.
    pub(crate) suspended: BTreeSet<String>,
    /// The hasher of types. Its key is random, so that clients cannot choose types that collide.
    hasher: RandomState,
}

impl Texts {
    /// Converts the columns of a listing.
    pub(crate) fn row(&mut self, columns: &FacetColumns) -> FacetRow {
        let types = self.types.intern(&self.stored_types(&columns.types));
        let mut term = |text: &Option<String>| self.terms.intern(text.as_deref().unwrap_or_default());
        FacetRow {
            breed: term(&columns.breed),
            breed_type: term(&columns.breed_type),
            society: term(&columns.breed_society),
            organisation: self.organisations.intern(&columns.organisation_id),
            types,
            category: u8::try_from(columns.category).unwrap_or_default(),
            status: status(columns),
            sexes: flags(&columns.sexes, Sex::VARIANTS),
            additional_info: flags(&columns.additional_info, AdditionalInfo::VARIANTS),
        }
    }

    /// Returns a set of types as it is stored: with hashes in place of the values if it is long.
    fn stored_types<'a>(&self, types: &'a str) -> Cow<'a, str> {
        if types.len() <= MAX_TYPES_BYTES {
            return types.into();
        }
        let values = types.split('\n').filter(|value| !value.is_empty());
        lines(&values.map(|value| self.hash(value)).collect::<Vec<_>>()).into()
    }

    fn hash(&self, value: &str) -> String {
        format!("{:016x}", self.hasher.hash_one(value))
    }

    /// Returns the numbers of the sets of types that have a value, some of them repeatedly.
    pub(crate) fn sets_having(&self, value: &str) -> Vec<u32> {
        let as_stored = [line(value), line(&self.hash(value))];
        let as_stored = as_stored.iter().filter(|_| !value.is_empty());
        as_stored.flat_map(|line| self.types.having_word(line)).collect()
    }

    /// Returns the number of terms and sets of types.
    pub(crate) fn len(&self) -> usize {
        self.terms.len() + self.types.len()
    }

    /// Removes the terms and sets of types that no listing has, and renumbers the others. Returns the new numbers of
    /// terms by old ones.
    pub(crate) fn remove_unused(&mut self, columns: &mut Columns) -> Vec<Option<u32>> {
        let Columns { breed, breed_type, society, types, .. } = columns;
        let terms = self.terms.retain([&*breed, breed_type, society].into_iter().flatten().copied());
        renumber([breed, breed_type, society].into_iter().flatten(), &terms);
        let sets = self.types.retain(types.iter().copied());
        renumber(types.iter_mut(), &sets);
        terms
    }
}

/// Replaces numbers of texts by new ones.
fn renumber<'a>(numbers: impl Iterator<Item = &'a mut u32>, new: &[Option<u32>]) {
    for number in numbers {
        *number = new[*number as usize].unwrap_or_default();
    }
}

/// Different texts, numbered from 0 in the order in which they were added. Each takes its length and some 20 bytes.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    /// All texts, each followed by a line break.
    text: String,
    /// The positions in `text` at which texts end, by number.
    ends: Vec<usize>,
    /// The numbers by text.
    numbers: HashTable<u32>,
    hasher: RandomState,
}

/// Returns the text with a number.
fn part<'a>(text: &'a str, ends: &[usize], number: u32) -> &'a str {
    let number = number as usize;
    let start = number.checked_sub(1).and_then(|before| ends.get(before)).map_or(0, |end| end + 1);
    ends.get(number).and_then(|end| text.get(start..*end)).unwrap_or_default()
}

impl Dictionary {
    /// Returns the number of texts.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the text with a number.
    pub(crate) fn get(&self, number: u32) -> &str {
        part(&self.text, &self.ends, number)
    }

    /// Returns the number of a text, if the dictionary has it. The empty text is never found: it stands for none.
    pub(crate) fn find(&self, known: &str) -> Option<u32> {
        let Self { text, ends, numbers, hasher } = self;
        let found = numbers.find(hasher.hash_one(known), |number| part(text, ends, *number) == known);
        found.copied().filter(|_| !known.is_empty())
    }

    /// Returns the number of a text. A new text gets the next number.
    pub(crate) fn intern(&mut self, new: &str) -> u32 {
        let Self { text, ends, numbers, hasher } = self;
        let entry = numbers.entry(
            hasher.hash_one(new),
            |number| part(text, ends, *number) == new,
            |number| hasher.hash_one(part(text, ends, *number)),
        );
        match entry {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let number = u32::try_from(ends.len()).unwrap_or(u32::MAX);
                entry.insert(number);
                ends.push(text.len() + new.len());
                text.extend([new, "\n"]);
                number
            }
        }
    }

    /// Returns the numbers of the texts that [have](database::search::words::has_word) a word, some of them repeatedly.
    pub(crate) fn having_word(&self, word: &str) -> impl Iterator<Item = u32> {
        let is_initial = is_initial(word);
        let matches = self.text.match_indices(word).map(|(at, _)| at);
        let matches = matches.filter(move |at| !is_initial || begins_word(&self.text, *at));
        let mut number = 0;
        matches.map(move |at| {
            while self.ends.get(number as usize).is_some_and(|end| *end < at) {
                number += 1;
            }
            number
        })
    }

    /// Removes the texts that are not used and renumbers the others in the order of their first use. Returns the new
    /// numbers by old ones.
    pub(crate) fn retain(&mut self, used: impl Iterator<Item = u32>) -> Vec<Option<u32>> {
        let old = std::mem::take(self);
        let mut numbers = vec![None; old.len()];
        for number in used {
            numbers[number as usize].get_or_insert_with(|| self.intern(old.get(number)));
        }
        numbers
    }

    /// Returns the memory use in bytes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<usize>() + self.numbers.allocation_size()
    }
}

/// Stands for a number that a listing does not have.
const ABSENT: i32 = i32::MIN;

/// The ages of a listing. `schema.rs` has the units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ages {
    min: i32,
    max: i32,
    born: i32,
}

impl Ages {
    /// Converts the columns of a listing.
    pub(crate) fn of(columns: &FacetColumns) -> Self {
        let narrow = |number: Option<i64>| number.and_then(|n| i32::try_from(n).ok()).unwrap_or(ABSENT);
        Self { min: narrow(columns.min_age), max: narrow(columns.max_age), born: narrow(columns.born) }
    }

    /// Returns the lowest age.
    pub(crate) fn min(self) -> Option<i64> {
        present(self.min)
    }

    /// Returns the highest age.
    pub(crate) fn max(self) -> Option<i64> {
        present(self.max)
    }

    /// Returns the day of birth.
    pub(crate) fn born(self) -> Option<i64> {
        present(self.born)
    }
}

fn present(number: i32) -> Option<i64> {
    (number != ABSENT).then_some(i64::from(number))
}

/// The location of a listing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// See [`Point::unit_vector`]; NaN without coordinates.
    pub(crate) unit_vector: [f64; 3],
    /// Degrees east; NaN without coordinates.
    pub(crate) lon: f64,
    /// The place of the [rounded](Point::rounded) coordinates, which visitors see.
    pub(crate) shown: MapPoint,
}

impl Place {
    /// Converts the columns of a listing. Also returns its place on the map.
    pub(crate) fn of(columns: &FacetColumns) -> (Self, MapPoint) {
        let (Some(x), Some(y), Some(z), Some(lon)) = (columns.x, columns.y, columns.z, columns.lon) else {
            let nowhere = MapPoint::NOWHERE;
            return (Self { unit_vector: [f64::NAN; 3], lon: f64::NAN, shown: nowhere }, nowhere);
        };
        let (unit_vector, lat) = ([x, y, z], z.clamp(-1.0, 1.0).asin().to_degrees());
        let shown = MapPoint::of(Point::rounded(unit_vector));
        (Self { unit_vector, lon, shown }, MapPoint::of(Point { lat, lon }))
    }
}

/// The amounts of the price of a listing, in ten-thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PriceRange {
    pub(crate) min: i64,
    pub(crate) max: i64,
    /// The number of the currency; [`PriceRange::NO_CURRENCY`] without amounts.
    pub(crate) currency: u8,
}

impl PriceRange {
    /// The currency of a price without amounts.
    pub(crate) const NO_CURRENCY: u8 = u8::MAX;

    /// Converts the columns of a listing.
    pub(crate) fn of(columns: &FacetColumns, texts: &mut Texts) -> Self {
        let currency = columns.currency.as_deref().map(|code| texts.currencies.intern(code));
        match (columns.price, columns.max_price, currency.and_then(|number| u8::try_from(number).ok())) {
            (Some(min), Some(max), Some(currency)) => Self { min, max, currency },
            _ => Self { min: 0, max: 0, currency: Self::NO_CURRENCY },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_types_are_found_by_value() {
        let long = "x".repeat(MAX_TYPES_BYTES);
        let mut texts = Texts::default();
        for (number, set) in
            ["", "\nstore\ncalves, weaned\n", &format!("\nstore\n{long}\n")].into_iter().enumerate()
        {
            let stored = texts.stored_types(set).into_owned();
            assert!(stored.len() < MAX_TYPES_BYTES);
            assert_eq!(texts.types.intern(&stored) as usize, number);
        }
        for (value, expected) in
            [("store", &[1, 2][..]), ("calves, weaned", &[1]), (&long, &[2]), ("calves", &[]), ("", &[])]
        {
            assert_eq!(texts.sets_having(value), expected, "{value}");
        }
    }
}
