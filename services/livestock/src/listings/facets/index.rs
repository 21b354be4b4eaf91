//! The table that facets are counted over: 80 bytes for each listing, in the order of their ids.

use std::collections::HashMap;

use database::{Amount, Id};

use super::super::particulars::line;
use super::super::place::{chord2, chord2_of};
use super::super::search::{CommodityType, Search, StatusFilter};
use super::super::store::DERIVED;
use super::super::terms::{AdditionalInfo, Sex};
use super::count::{Counts, Groups};
use super::store::{Changes, Place, Row};
use super::terms::{NONE, Terms};

/// What a search compares of a listing.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    id: Id,
    organisation: u32,
    pub breed: u32,
    pub breed_type: u32,
    pub society: u32,
    /// All values of `properties.type`, as one text.
    types: u32,
    /// Ten-thousandths of a month, and the number of a day; [`Entry::NEVER`] for none.
    min_age: i32,
    max_age: i32,
    born: i32,
    /// On the sphere of radius 1; not numbers where it has no place.
    unit: [f64; 3],
    pub category: u8,
    /// The number of its value of the filter `f:status`; [`Entry::HIDDEN`] for drafts and cancelled ones.
    pub status: u8,
    /// A flag for each.
    pub sexes: u8,
    pub additional_info: u8,
}

const _: () = assert!(size_of::<Entry>() == 80);

impl Entry {
    const NEVER: i32 = i32::MIN;
    const HIDDEN: u8 = u8::MAX;

    fn of(row: &Row, terms: &mut Terms) -> Self {
        let mut number = |text: &Option<String>| text.as_ref().map_or(NONE, |text| terms.number(text));
        let small = |number: Option<i64>| number.and_then(|n| i32::try_from(n).ok()).unwrap_or(Self::NEVER);
        let status = match (row.status.as_str(), row.kind.as_str()) {
            ("active", "selling") => StatusFilter::ActiveSelling as u8,
            ("active", _) => StatusFilter::ActiveBuying as u8,
            ("sold", _) => StatusFilter::Sold as u8,
            ("found", _) => StatusFilter::Found as u8,
            _ => Self::HIDDEN,
        };
        Self {
            id: row.id,
            breed: number(&row.breed),
            breed_type: number(&row.breed_type),
            society: number(&row.breed_society),
            organisation: terms.number(&row.organisation_id),
            types: terms.number(&row.types),
            min_age: small(row.min_age),
            max_age: small(row.max_age),
            born: small(row.born),
            unit: [row.x, row.y, row.z].map(|part| part.unwrap_or(f64::NAN)),
            category: u8::try_from(row.category).unwrap_or_default(),
            status,
            sexes: flags(&row.sexes, Sex::ALL.map(Sex::as_str)),
            additional_info: flags(&row.additional_info, AdditionalInfo::ALL.map(AdditionalInfo::as_str)),
        }
    }
}

/// A flag for each of these values that a column of lines has.
fn flags<const N: usize>(lines: &str, values: [&str; N]) -> u8 {
    values.into_iter().rev().fold(0, |flags, value| flags << 1 | u8::from(lines.contains(&line(value))))
}

/// The table, and what its numbers mean.
#[derive(Debug, Default)]
pub struct Index {
    entries: Vec<Entry>,
    terms: Terms,
    /// How breeds and societies are written.
    spellings: HashMap<u32, Box<str>>,
    place: Place,
}

impl Index {
    /// Up to where the events were read; 0 before the first time.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Takes what happened since; unless it has gone on in the meantime, when a request that asked was given up.
    pub fn apply(&mut self, changes: Changes) {
        if changes.since == self.place.position {
            self.insert(changes.rows);
            self.spell(changes.spellings);
            self.place.position = changes.position;
            self.place.known = changes.known;
        }
    }

    /// Takes listings as they are now. Most are new, and have the greatest ids.
    pub fn insert(&mut self, rows: Vec<Row>) {
        for row in rows {
            if row.derived < DERIVED {
                self.place.stale.insert(row.id);
            } else if !self.place.stale.is_empty() {
                self.place.stale.remove(&row.id);
            }
            let entry = Entry::of(&row, &mut self.terms);
            match self.entries.binary_search_by_key(&entry.id, |entry| entry.id) {
                Ok(at) => self.entries[at] = entry,
                Err(at) => self.entries.insert(at, entry),
            }
        }
    }

    /// Takes how terms are written.
    pub fn spell(&mut self, spellings: Vec<(String, String)>) {
        for (term, spelling) in spellings {
            self.spellings.insert(self.terms.number(&term), spelling.into());
        }
    }

    /// Everything before this position was read.
    pub fn reach(&mut self, position: i64) {
        self.place.position = position;
    }

    /// How a breed or society is written; as it is compared where that is not known.
    pub fn spelling(&self, term: u32) -> Option<&str> {
        self.spellings.get(&term).map(|spelling| &**spelling).or_else(|| self.terms.text(term))
    }

    /// Counts what a search finds; of a wishlist, these.
    pub fn count(&self, search: &Search, wishlist: Option<&[Id]>) -> Counts {
        let filter = Filter::of(search, &self.terms);
        let mut counts = Counts::new(self.terms.len());
        let mut add = |entry: &Entry| {
            if entry.status != Entry::HIDDEN && filter.always(entry) {
                counts.add(entry, filter.groups(entry));
            }
        };
        match wishlist {
            None => self.entries.iter().for_each(add),
            Some(ids) => {
                let found = ids.iter().filter_map(|id| self.entries.binary_search_by_key(id, |e| e.id).ok());
                found.for_each(|at| add(&self.entries[at]));
            }
        }
        counts
    }
}

/// A search, in the numbers of the table.
struct Filter<'a> {
    search: &'a Search,
    organisation: Option<u32>,
    /// The square of the straight line to the farthest.
    reach: Option<f64>,
    unit: [f64; 3],
    min_age: Option<(i64, i64)>,
    max_age: Option<(i64, i64)>,
    /// A flag for each value of `f:status` that is searched for.
    statuses: u8,
    types: Option<Vec<u32>>,
    breeds: Option<Vec<u32>>,
    societies: Option<Vec<u32>>,
}

impl<'a> Filter<'a> {
    fn of(search: &'a Search, terms: &Terms) -> Self {
        let numbers = |texts: &[String]| {
            (!texts.is_empty()).then(|| texts.iter().map(|text| terms.find(text)).collect())
        };
        let types = match &search.commodity_type {
            Some(CommodityType::Type(name)) => {
                let line = line(name);
                Some(
                    terms.iter().filter(|(_, text)| text.contains(&line)).map(|(number, _)| number).collect(),
                )
            }
            _ => None,
        };
        let statuses = match search.status {
            None if search.wishlisted => 0b1111,
            None => 1 << StatusFilter::ActiveSelling as u8 | 1 << StatusFilter::ActiveBuying as u8,
            Some(StatusFilter::Cancelled | StatusFilter::Draft) => 0,
            Some(filter) => 1 << filter as u8,
        };
        let born = |age: Option<Amount>, at: &dyn Fn(Amount) -> i64| age.map(|age| (age.scaled(), at(age)));
        Self {
            search,
            organisation: search.organisation_id.as_ref().map(|id| terms.find(id)),
            reach: search.within_km().map(chord2_of),
            unit: search.unit(),
            min_age: born(search.min_age, &|age| search.born_until(age)),
            max_age: born(search.max_age, &|age| search.born_after(age)),
            statuses,
            types,
            breeds: numbers(&search.breeds),
            societies: numbers(&search.breed_societies),
        }
    }

    /// The filters that are no facets.
    fn always(&self, entry: &Entry) -> bool {
        let known = |number: i32| (number != Entry::NEVER).then_some(i64::from(number));
        self.organisation.is_none_or(|organisation| organisation == entry.organisation)
            && self.reach.is_none_or(|reach| chord2(entry.unit, self.unit) <= reach)
            && self.min_age.is_none_or(|(age, until)| {
                known(entry.min_age).is_some_and(|a| a >= age)
                    || known(entry.born).is_some_and(|b| b <= until)
            })
            && self.max_age.is_none_or(|(age, after)| {
                known(entry.max_age).is_some_and(|a| a <= age) || known(entry.born).is_some_and(|b| b > after)
            })
    }

    /// Which of the facets' own filters let it pass.
    fn groups(&self, entry: &Entry) -> Groups {
        let any = |wanted: &Option<Vec<u32>>, numbers: &[u32]| {
            wanted.as_ref().is_none_or(|wanted| numbers.iter().any(|number| wanted.contains(number)))
        };
        Groups([
            self.statuses >> entry.status & 1 == 1,
            match self.search.commodity_type {
                Some(CommodityType::Category(id)) => i32::from(entry.category) == id,
                _ => any(&self.types, &[entry.types]),
            },
            any(&self.breeds, &[entry.breed, entry.breed_type]),
            any(&self.societies, &[entry.society]),
            self.search.sexes.is_none_or(|sex| entry.sexes >> sex as u8 & 1 == 1),
            self.search.additional_info.is_none_or(|info| entry.additional_info >> info as u8 & 1 == 1),
        ])
    }
}
