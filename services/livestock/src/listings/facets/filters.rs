//! The filters of a search, in the form that facets and saved searches compare with listings.

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};

use database::{Amount, Timestamp};

use super::columns::{Ages, Columns, FacetRow, Place, Texts};
use super::model::FacetColumns;
use crate::listings::calendar::{born_after, born_until, day};
use crate::listings::geo::{
    BoundingBox, MAX_ROUNDING_KM, MapBox, MapPoint, Point, squared_chord, squared_chord_of,
};
use crate::listings::search::{Audience, CommodityType, ListingSearch, StatusFilter};
use crate::listings::search_text::has_all_words;

/// Bits of the filters that reject a listing: one for each filter that facets count the values of.
pub(crate) mod rejected {
    pub(crate) const STATUS: u8 = 1;
    pub(crate) const COMMODITY_TYPE: u8 = 1 << 1;
    pub(crate) const BREED: u8 = 1 << 2;
    pub(crate) const SOCIETY: u8 = 1 << 3;
    pub(crate) const SEX: u8 = 1 << 4;
    pub(crate) const ADDITIONAL_INFO: u8 = 1 << 5;
    pub(crate) const BREED_TYPE: u8 = 1 << 6;
    /// A filter without values of its own rejects the listing. Two bits, one of which no filter has, so that the
    /// listing counts for no filter.
    pub(crate) const BY_ALL: u8 = 0b11 << 6;

    /// Returns whether two filters or more reject the listing, so that it counts for none.
    #[inline]
    pub(crate) fn by_several(bits: u8) -> bool {
        bits & bits.wrapping_sub(1) != 0
    }
}

/// The number of an organisation that no listing has.
const UNKNOWN: u32 = u32::MAX;

/// Returns the bits unless the listing passes.
#[inline]
fn bits_unless(bits: u8, passes: bool) -> u8 {
    if passes { 0 } else { bits }
}

/// The part of the caller that determines which listings a search finds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Viewer<'a> {
    /// The organisation of the caller; empty without one.
    pub(crate) organisation_id: &'a str,
    /// Whether the caller is an administrator.
    pub(crate) admin: bool,
}

/// The filters of a search, except the wishlist.
#[derive(Debug)]
pub(crate) struct SearchFilters {
    pub(crate) exact: ExactFilters,
    pub(crate) ranges: Option<Box<RangeFilters>>,
    pub(crate) words: Box<[String]>,
    /// Whether the words are looked for in what callers see of a listing, or in what visitors see.
    pub(crate) audience: Audience,
}

impl SearchFilters {
    /// Returns the filters of a viewer's search.
    pub(crate) fn for_viewer(viewer: Viewer<'_>, search: &ListingSearch) -> Self {
        // Names all fields, so that a new filter must be added here.
        let ListingSearch {
            status: _,
            commodity_type: _,
            breeds: _,
            breed_types: _,
            breed_societies: _,
            sex: _,
            additional_info: _,
            organisation_id: _,
            min_age: _,
            max_age: _,
            near: _,
            bbox: _,
            // Listings without coordinates are counted apart.
            has_location: _,
            cluster_zoom: _,
            audience,
            words,
            now: _,
            wishlisted: _,
            sorting: _,
            page: _,
            count: _,
            format: _,
            documents: _,
        } = search;
        Self {
            exact: ExactFilters::of(viewer, search),
            ranges: RangeFilters::of(search).map(Box::new),
            words: words.as_slice().into(),
            audience: *audience,
        }
    }

    /// Returns the filters of a search for active listings, which are the same for all callers, or `None` if it finds
    /// no active listing.
    pub(crate) fn of(search: &ListingSearch) -> Option<Self> {
        let filters = Self::for_viewer(Viewer { organisation_id: "", admin: false }, search);
        (filters.exact.statuses & ACTIVE != 0).then_some(filters)
    }

    /// Returns whether facets under these filters are cached: there are only exact ones.
    pub(crate) fn is_cached(&self) -> bool {
        self.ranges.is_none() && self.words.is_empty()
    }

    /// Changes the time that dogs' ages are computed for.
    pub(crate) fn set_now(&mut self, now: Timestamp) {
        let Some(ranges) = &mut self.ranges else { return };
        if let Some(limit) = &mut ranges.min_age {
            limit.born = born_until(limit.age, now);
        }
        if let Some(limit) = &mut ranges.max_age {
            limit.born = born_after(limit.age, now);
        }
    }
}

/// The active listings of suspended organisations that a search finds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum ShownSuspended {
    #[default]
    Nobodys,
    /// Those of an organisation.
    Of(String),
    /// All of them.
    All,
}

/// The filters of a search that compare exactly, normalized: equivalent filters are equal. The key of the cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ExactFilters {
    /// One flag for each [`StatusFilter`] that passes, and [`CANCELLED_DRAFT`].
    pub(crate) statuses: u8,
    /// The main category or type that passes; all pass if it is absent.
    pub(crate) commodity_type: Option<CommodityType>,
    /// Breeds or breed types that pass, in ascending order; all pass if it is empty.
    pub(crate) breeds: Box<[String]>,
    /// As `breeds`, for breed types only.
    pub(crate) breed_types: Box<[String]>,
    /// As `breeds`, for breed societies.
    pub(crate) societies: Box<[String]>,
    /// The flag of a `Sex`, or 0.
    pub(crate) sex: u8,
    /// The flag of an `AdditionalInfo`, or 0.
    pub(crate) additional_info: u8,
    /// The id of the only organisation whose listings pass; all pass if it is absent.
    pub(crate) organisation: Option<String>,
    /// Whether only active listings are counted, whatever the filter.
    pub(crate) is_public: bool,
    /// If present, listings that were never published pass only if they belong to this organisation. Present only if
    /// the search includes such listings, so that all callers share the other entries of the cache.
    pub(crate) private_to: Option<String>,
    /// Whose active listings are counted although their organisation is suspended. The same for all callers whose
    /// organisation is not.
    pub(crate) suspended: ShownSuspended,
    /// The day for which the statistics compute the ages of dogs, see `calendar::day`.
    pub(crate) today: i64,
}

/// Returns the texts in ascending order without duplicates.
fn sorted(texts: &[String]) -> Box<[String]> {
    texts.iter().collect::<BTreeSet<_>>().into_iter().cloned().collect()
}

/// The flag of listings that were cancelled as drafts.
const CANCELLED_DRAFT: u8 = 1 << FacetRow::CANCELLED_DRAFT;
const DRAFT: u8 = 1 << StatusFilter::Draft as u8;
/// The flags of active listings.
const ACTIVE: u8 = 1 << StatusFilter::ActiveSelling as u8 | 1 << StatusFilter::ActiveBuying as u8;
/// The flags of all values but `draft`, which is the last one.
const PUBLISHED: u8 = DRAFT - 1;

impl ExactFilters {
    /// Normalizes the exact filters of a search.
    pub(crate) fn of(viewer: Viewer<'_>, search: &ListingSearch) -> Self {
        let statuses = match search.status {
            None if search.wishlisted => PUBLISHED | CANCELLED_DRAFT,
            None => ACTIVE,
            Some(StatusFilter::Cancelled) => 1 << StatusFilter::Cancelled as u8 | CANCELLED_DRAFT,
            Some(filter) => 1 << filter as u8,
        };
        // As `visible_with` of the store: an admin finds everything but the drafts of other organisations.
        let is_private =
            if viewer.admin { statuses == DRAFT } else { statuses & (DRAFT | CANCELLED_DRAFT) != 0 };
        Self {
            statuses,
            is_public: search.is_public(),
            private_to: is_private.then(|| viewer.organisation_id.to_owned()),
            commodity_type: search.commodity_type.clone(),
            breeds: sorted(&search.breeds),
            breed_types: sorted(&search.breed_types),
            societies: sorted(&search.breed_societies),
            sex: search.sex.map_or(0, |sex| 1 << sex as u8),
            additional_info: search.additional_info.map_or(0, |info| 1 << info as u8),
            organisation: search.organisation_id.clone(),
            suspended: ShownSuspended::default(),
            today: day(search.now),
        }
    }

    /// Returns whether listings that were never published may pass.
    pub(crate) fn finds_private(&self) -> bool {
        self.statuses & (DRAFT | CANCELLED_DRAFT) != 0
    }

    /// Returns the bits of [`rejected`] by status of the listing.
    fn status_bits(&self) -> [u8; 8] {
        [0, 1, 2, 3, 4, 5, 6, 7].map(|status| {
            // The other statuses have no value of `f:status` that could be counted.
            let is_counted =
                status < StatusFilter::COUNTED.len() && (!self.is_public || ACTIVE >> status & 1 == 1);
            let bits = if is_counted { rejected::STATUS } else { rejected::BY_ALL };
            bits_unless(bits, self.statuses >> status & 1 == 1)
        })
    }

    /// Returns the approximate memory use in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let terms = self.breeds.iter().chain(&self.breed_types).chain(&self.societies);
        let texts = terms.chain(&self.organisation).chain(&self.private_to);
        size_of::<Self>() + texts.map(|text| size_of::<String>() + text.len()).sum::<usize>()
    }
}

/// A listing in the form that filters of saved searches compare.
#[derive(Debug)]
pub(crate) struct SingleListingMatcher<'a> {
    texts: Texts,
    columns: Columns,
    ages: Ages,
    point: MapPoint,
    place: Place,
    search_text: &'a str,
}

impl<'a> SingleListingMatcher<'a> {
    /// Converts the columns of a listing.
    pub(crate) fn of(columns: &'a FacetColumns) -> Self {
        let (mut texts, mut table) = (Texts::default(), Columns::default());
        table.insert(0, texts.row(columns));
        let search_text = columns.search_text.as_deref().unwrap_or_default();
        let (ages, (place, point)) = (Ages::of(columns), Place::of(columns));
        Self { texts, columns: table, ages, point, place, search_text }
    }

    /// Returns true if the listing passes all filters.
    pub(crate) fn passes(&self, filters: &SearchFilters) -> bool {
        let ranges = filters.ranges.as_ref();
        ranges.is_none_or(|ranges| ranges.passes(|| self.ages, self.point, || &self.place))
            && CompiledFilters::of(&filters.exact, &self.texts).rejected_by(&self.columns, 0) == 0
            && has_all_words(self.search_text, &filters.words)
    }
}

/// Exact filters with the bits of all terms and types in tables, for scans over many listings.
#[derive(Debug)]
pub(crate) struct CompiledFilters {
    /// The bits of the filters that the search has. `f:status` always has a meaning.
    pub(crate) present: u8,
    statuses: [u8; 8],
    category: Option<i32>,
    /// The bits of breeds, breed types and societies by number of term; empty without these filters.
    terms: Vec<u8>,
    /// The bits by number of the set of types; empty without this filter.
    types: Vec<u8>,
    sex: u8,
    additional_info: u8,
    organisation: Option<u32>,
    pub(crate) private_to: Option<u32>,
    /// The suspended organisations whose active listings are rejected.
    suspended: Vec<u32>,
}

impl CompiledFilters {
    /// Compiles filters for the listings that have these texts.
    pub(crate) fn of(exact: &ExactFilters, texts: &Texts) -> Self {
        let mut terms = Vec::new();
        for (names, bits) in [
            (&exact.breeds, rejected::BREED),
            (&exact.breed_types, rejected::BREED_TYPE),
            (&exact.societies, rejected::SOCIETY),
        ] {
            if names.is_empty() {
                continue;
            }
            terms.resize(texts.terms.len(), 0);
            for rejected in &mut terms {
                *rejected |= bits;
            }
            for number in names.iter().filter_map(|name| texts.terms.find(name)) {
                terms[number as usize] &= !bits;
            }
        }
        let (mut category, mut types) = (None, Vec::new());
        match &exact.commodity_type {
            None => {}
            Some(CommodityType::Category(id)) => category = Some(*id),
            Some(CommodityType::Type(name)) => {
                types.resize(texts.types.len(), rejected::COMMODITY_TYPE);
                texts.sets_having(name).into_iter().for_each(|number| types[number as usize] = 0);
            }
        }
        let number = |id: &String| texts.organisations.find(id).unwrap_or(UNKNOWN);
        let present = rejected::STATUS
            | bits_unless(rejected::COMMODITY_TYPE, exact.commodity_type.is_none())
            | bits_unless(rejected::BREED, exact.breeds.is_empty())
            | bits_unless(rejected::BREED_TYPE, exact.breed_types.is_empty())
            | bits_unless(rejected::SOCIETY, exact.societies.is_empty())
            | bits_unless(rejected::SEX, exact.sex == 0)
            | bits_unless(rejected::ADDITIONAL_INFO, exact.additional_info == 0);
        Self {
            present,
            statuses: exact.status_bits(),
            category,
            terms,
            types,
            sex: exact.sex,
            additional_info: exact.additional_info,
            organisation: exact.organisation.as_ref().map(number),
            private_to: exact.private_to.as_ref().map(number),
            suspended: suspended(&exact.suspended, texts),
        }
    }

    /// Returns the bits of the filters that reject the listing at a position.
    pub(crate) fn rejected_by(&self, columns: &Columns, at: usize) -> u8 {
        let mut bits = [0];
        self.reject(columns, at..at + 1, &mut bits);
        bits[0]
    }

    /// Sets the bits of the filters that reject the listings in a range of positions.
    pub(crate) fn reject(&self, columns: &Columns, range: Range<usize>, rejected_by: &mut [u8]) {
        let status = columns.status[range.clone()].iter();
        let organisation = columns.organisation[range.clone()].iter();
        rejected_by.fill(0);
        // Compares all statuses, because a processor can do so for several listings at once, but not look up an array.
        mark(rejected_by, status.clone(), |status| {
            (0..).zip(self.statuses).fold(0, |all, (of, bits)| all | if *status == of { bits } else { 0 })
        });
        if let Some(id) = self.category {
            let category = columns.category[range.clone()].iter();
            mark(rejected_by, category, |category| {
                bits_unless(rejected::COMMODITY_TYPE, i32::from(*category) == id)
            });
        }
        if !self.types.is_empty() {
            mark(rejected_by, columns.types[range.clone()].iter(), |set| self.types[*set as usize]);
        }
        if self.present & rejected::BREED != 0 {
            let breeds = columns.breed[range.clone()].iter().zip(&columns.breed_type[range.clone()]);
            mark(rejected_by, breeds, |(breed, breed_type)| {
                self.terms[*breed as usize] & self.terms[*breed_type as usize] & rejected::BREED
            });
        }
        for (filter, column) in
            [(rejected::BREED_TYPE, &columns.breed_type), (rejected::SOCIETY, &columns.society)]
        {
            if self.present & filter != 0 {
                mark(rejected_by, column[range.clone()].iter(), |term| self.terms[*term as usize] & filter);
            }
        }
        if self.sex != 0 {
            let sexes = columns.sexes[range.clone()].iter();
            mark(rejected_by, sexes, |sexes| bits_unless(rejected::SEX, sexes & self.sex != 0));
        }
        if self.additional_info != 0 {
            let info = columns.additional_info[range].iter();
            mark(rejected_by, info, |info| {
                bits_unless(rejected::ADDITIONAL_INFO, info & self.additional_info != 0)
            });
        }
        if let Some(only) = self.organisation {
            mark(rejected_by, organisation.clone(), |id| bits_unless(rejected::BY_ALL, *id == only));
        }
        if !self.suspended.is_empty() {
            mark(rejected_by, organisation.clone().zip(status.clone()), |(id, status)| {
                let is_shown = ACTIVE >> status & 1 == 0 || !self.suspended.contains(id);
                bits_unless(rejected::BY_ALL, is_shown)
            });
        }
        if let Some(only) = self.private_to {
            mark(rejected_by, organisation.zip(status), |(id, status)| {
                bits_unless(rejected::BY_ALL, *status < StatusFilter::Draft as u8 || *id == only)
            });
        }
    }
}

/// Returns the numbers of the suspended organisations that are not shown.
fn suspended(shown: &ShownSuspended, texts: &Texts) -> Vec<u32> {
    let is_hidden = |id: &&String| match shown {
        ShownSuspended::Nobodys => true,
        ShownSuspended::Of(own) => own != *id,
        ShownSuspended::All => false,
    };
    texts.suspended.iter().filter(is_hidden).filter_map(|id| texts.organisations.find(id)).collect()
}

/// Adds the bits that the filters of a column have for its values.
#[inline]
fn mark<T>(rejected_by: &mut [u8], values: impl Iterator<Item = T>, bits: impl Fn(T) -> u8) {
    for (rejected_by, value) in rejected_by.iter_mut().zip(values) {
        *rejected_by |= bits(value);
    }
}

/// The range filters of a search.
#[derive(Debug)]
pub(crate) struct RangeFilters {
    /// The greatest distance.
    within: Option<Within>,
    /// The box that coordinates lie in.
    bbox: Option<BoxLimit>,
    /// Dogs pass that were born on the day or before it.
    min_age: Option<AgeLimit>,
    /// Dogs pass that were born after the day.
    max_age: Option<AgeLimit>,
}

/// A limit of distances.
#[derive(Debug)]
struct Within {
    /// The unit vector of the point that distances start from.
    origin: [f64; 3],
    max_squared_chord: f64,
    /// The squared chords up to which a listing is within the distance, and above which it is not. For a public search
    /// both are certain wherever the rounded coordinates of the listing are.
    certain: [f64; 2],
}

impl Within {
    fn of(search: &ListingSearch) -> Option<Self> {
        let km = search.within_km()?;
        let margin = if search.is_public() { MAX_ROUNDING_KM } else { 0.0 };
        // An inner area of a negative distance is empty.
        let inner = if km > margin { squared_chord_of(km - margin) } else { -1.0 };
        Some(Self {
            origin: search.origin(),
            max_squared_chord: squared_chord_of(km),
            certain: [inner, squared_chord_of(km + margin)],
        })
    }

    /// Returns whether a listing with this unit vector is within the distance.
    fn contains(&self, unit_vector: [f64; 3]) -> bool {
        let (chord, [inner, outer]) = (squared_chord(unit_vector, self.origin), self.certain);
        let rounded = || squared_chord(Point::rounded(unit_vector).unit_vector(), self.origin);
        chord <= inner || (chord <= outer && rounded() <= self.max_squared_chord)
    }
}

/// A box of coordinates.
#[derive(Debug)]
struct BoxLimit {
    bbox: BoundingBox,
    /// See [`BoundingBox::heights`].
    heights: RangeInclusive<f64>,
    /// A little larger than the box.
    on_map: MapBox,
    /// A little smaller than the box; absent if nothing is left.
    inner: Option<MapBox>,
}

impl BoxLimit {
    fn of(bbox: BoundingBox) -> Self {
        let on_map = MapBox::around(&bbox);
        Self { bbox, heights: bbox.heights(), on_map, inner: on_map.inner() }
    }

    fn contains<'a>(&self, MapPoint { x, y }: MapPoint, place: impl Fn() -> &'a Place) -> bool {
        self.inner.is_some_and(|inner| inner.contains(x, y))
            || self.bbox.has_longitude(place().lon) && self.heights.contains(&place().unit_vector[2])
    }
}

/// A limit of ages, for listings with an age and for dogs with a day of birth.
#[derive(Debug)]
struct AgeLimit {
    /// Months.
    age: Amount,
    /// Day of birth, see `calendar::day`.
    born: i64,
}

impl RangeFilters {
    /// Returns the range filters of a search, or `None` if it has none.
    fn of(search: &ListingSearch) -> Option<Self> {
        let limit = |age, born| AgeLimit { age, born };
        let has_place = search.within_km().is_some() || search.bbox.is_some();
        let any = has_place || search.min_age.is_some() || search.max_age.is_some();
        any.then(|| Self {
            within: Within::of(search),
            bbox: search.bbox.map(BoxLimit::of),
            min_age: search.min_age.map(|age| limit(age, search.born_until(age))),
            max_age: search.max_age.map(|age| limit(age, search.born_after(age))),
        })
    }

    /// Returns the box on the map outside of which no listing passes.
    pub(crate) fn box_on_map(&self) -> Option<MapBox> {
        self.bbox.as_ref().map(|bbox| bbox.on_map)
    }

    /// Returns whether a listing passes all filters. Most listings are decided by their point: the other values are
    /// read only if a filter needs them, because reading them from memory takes longer than comparing them.
    pub(crate) fn passes<'a>(
        &self,
        ages: impl Fn() -> Ages,
        point: MapPoint,
        place: impl Fn() -> &'a Place,
    ) -> bool {
        self.bbox.as_ref().is_none_or(|bbox| bbox.contains(point, &place))
            && self.within.as_ref().is_none_or(|within| within.contains(place().unit_vector))
            && self.min_age.as_ref().is_none_or(|limit| {
                ages().min().is_some_and(|age| age >= limit.age.scaled())
                    || ages().born().is_some_and(|born| born <= limit.born)
            })
            && self.max_age.as_ref().is_none_or(|limit| {
                ages().max().is_some_and(|age| age <= limit.age.scaled())
                    || ages().born().is_some_and(|born| born > limit.born)
            })
    }
}
