//! Search by text, by container or both.

use std::iter;

use crate::CountrySet;
use crate::area::Area;
use crate::item::{Hit, HitKind, Item};
use crate::query::{Filter, ParsedQuery, QueryParser, admits};
use crate::{coordinates, resolve};

/// Options of a search. Without text and container there are no hits.
#[derive(Clone, Copy, Debug, Default)]
pub struct SearchOptions<'a> {
    /// A name or postcode, or the start of either. Case, accents and punctuation are ignored.
    pub text: Option<&'a str>,
    /// Id of a container. With text, hits are in the container, at any depth. Without text, hits are its direct
    /// contents.
    pub within: Option<&'a str>,
    /// Alpha-2 code of the country that hits are in.
    pub country: Option<&'a str>,
    /// Countries whose hits come before others that match equally well.
    pub preferred: CountrySet,
    /// Maximum number of hits.
    pub limit: usize,
    /// Number of hits to skip.
    pub offset: usize,
}

/// The search over the embedded tables.
pub(crate) struct SearchIndex(QueryParser);

impl SearchIndex {
    /// Opens the embedded automata.
    pub(crate) fn open() -> Self {
        Self(QueryParser::open())
    }

    /// Returns the hits of the page. There are none if the country or container is unknown.
    pub(crate) fn search(&self, options: &SearchOptions<'_>) -> Vec<Hit> {
        if let Some(at) = options.text.and_then(coordinates::parse) {
            let hits = Self::at_point(at, options).into_iter();
            return hits.skip(options.offset).take(options.limit).collect();
        }
        self.items(options).unwrap_or_default().into_iter().map(Item::hit).collect()
    }

    /// Returns the point, if it is in the country and the container of the search.
    fn at_point((lat, lon): (f64, f64), options: &SearchOptions<'_>) -> Option<Hit> {
        let areas = [options.country.map(Area::country), options.within.map(Area::container)];
        let item = resolve::item_at(lat, lon);
        let is_inside = |area: Option<Area>| Some(area?.contains(item?));
        if areas.into_iter().flatten().any(|area| is_inside(area) != Some(true)) {
            return None;
        }
        let address = resolve::nearest(lat, lon).address;
        let mut parts = vec![address.name, address.region, address.country_name];
        parts.retain(|part| !part.is_empty());
        let text = coordinates::format((lat, lon));
        Some(Hit { id: format!("point:{text}"), kind: HitKind::Place, text, description: parts.join(", ") })
    }

    /// Returns the items of the page, or `None` if the country or container is unknown.
    fn items(&self, options: &SearchOptions<'_>) -> Option<Vec<Item>> {
        let mut filter = Filter::new();
        if let Some(iso) = options.country {
            filter.push(vec![Area::country(iso)?]);
        }
        let container = options.within.map(Area::container);
        let page = |items: &mut dyn Iterator<Item = Item>, filter: &Filter| {
            let admitted = items.filter(|item| admits(filter, *item));
            Some(admitted.skip(options.offset).take(options.limit).collect())
        };
        let Some(text) = options.text else { return page(&mut container??.contents(), &filter) };
        if let Some(container) = container {
            filter.push(vec![container?]);
        }
        let ParsedQuery { matches, name, filter, british_isles_first } = self.0.parse(text, filter);
        let preferred = options.preferred;
        let similar = iter::once_with(|| self.0.similar(&name, &matches.names, preferred)).flatten();
        let well_known = matches.well_known(preferred, &filter);
        let mut items = matches.items(preferred, &well_known).chain(similar);
        if british_isles_first {
            let is_first =
                |item: &Item| item.is_in_british_isles() || preferred.contains(item.country_number());
            let (first, others): (Vec<_>, Vec<_>) = items.partition(is_first);
            return page(&mut first.into_iter().chain(others), &filter);
        }
        page(&mut items, &filter)
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::HashMap;
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::fold::fold;
    use crate::layout::{IS_WHOLE_NAME, SuffixRow};
    use crate::spelling::tests::edits;
    use crate::tables::{ENTITIES, FOLDED, SUFFIXES, entity};

    /// All folded names by entity.
    static NAMES: LazyLock<Vec<Vec<&str>>> = LazyLock::new(|| {
        let mut names = vec![vec![]; ENTITIES.len()];
        for row in SUFFIXES.iter().map(SuffixRow::read).filter(|row| row.entity & IS_WHOLE_NAME != 0) {
            let name = FOLDED[row.offset as usize..].split(|byte| *byte == b'\n').next().unwrap();
            names[(row.entity & !IS_WHOLE_NAME) as usize].push(str::from_utf8(name).unwrap());
        }
        names
    });

    /// Returns which entities come before exact matches.
    fn well_known(names: &[Vec<&str>], text: &str, preferred: CountrySet) -> impl Fn(u32) -> bool {
        let home = |number: &u32| Item::from_entity(*number).is_preferred(preferred);
        let is_exact = |number: &u32| names[*number as usize].contains(&text);
        let largest =
            (0..names.len() as u32).filter(home).find(is_exact).map(|exact| entity(exact).population);
        let or_assumed = |population| if population == 0 { 1_000 } else { u64::from(population) };
        let least = largest.map_or(0, |population| 10 * or_assumed(population));
        let start = format!("{text} ");
        let all: Vec<bool> = (0..names.len() as u32)
            .map(|number| {
                let is_place = !matches!(Item::from_entity(number), Item::Region(_) | Item::Country(_));
                let starts = names[number as usize].iter().any(|name| name.starts_with(&start));
                let is_large = u64::from(entity(number).population) >= least;
                is_place && home(&number) && starts && is_large && !is_exact(&number)
            })
            .collect();
        move |number| all[number as usize]
    }

    /// Returns how well a name matches a text: 0 exact, 1 prefix, 2 words, 3 one edit, 4 two edits.
    fn match_class(name: &str, text: &str) -> Option<usize> {
        if name.starts_with(text) {
            return Some(usize::from(name != text));
        }
        if name.split(' ').any(|word| word.starts_with(text)) {
            return Some(2);
        }
        let max_edits = match text.len() {
            0..4 => 0,
            8.. if name.as_bytes()[0] == text.as_bytes()[0] => 2,
            _ => 1,
        };
        let may_match = name.len().abs_diff(text.len()) <= max_edits;
        may_match.then(|| edits(name.as_bytes(), text.as_bytes())).filter(|n| *n <= max_edits).map(|n| 2 + n)
    }

    #[test]
    fn places_are_ranked_by_population() {
        let mut rows = csv::Reader::from_reader(include_bytes!("../data/places.csv").as_slice());
        let weights: HashMap<String, u64> = rows
            .records()
            .map(|row| {
                let row = row.unwrap();
                (format!("place:{}", &row[0]), row[8].parse::<u64>().unwrap_or(0))
            })
            .collect();
        let places =
            (0..ENTITIES.len() as u32).map(Item::from_entity).filter(|item| matches!(item, Item::Place(_)));
        let ranks: Vec<_> =
            places.map(Item::hit).map(|hit| (Reverse(weights[&hit.id]), fold(&hit.text))).collect();
        assert_eq!(ranks.len(), weights.len());
        assert!(ranks.is_sorted());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        /// Tests texts of one word, which keeps the model simple: prefixes, whole names and misspellings.
        #[test]
        fn hits_agree_with_a_linear_search(
            entity in 0..ENTITIES.len() as u32, end in 2usize..20, swap in 0usize..20,
            codes in prop::sample::select(vec![&[][..], &["GB", "IE"], &["US", "AU", "FR"]]),
        ) {
            let preferred = CountrySet::of(codes.iter().copied());
            let text = fold(&Item::from_entity(entity).text());
            let mut letters: Vec<char> = text.chars().filter(|c| *c != ' ').take(end).collect();
            if swap + 1 < letters.len() {
                letters.swap(swap, swap + 1);
            }
            let text: String = letters.into_iter().collect();
            prop_assume!(text.len() > 2 && !text.contains(|c: char| c.is_ascii_digit()));
            let best = |names: &Vec<&str>| names.iter().filter_map(|name| match_class(name, &text)).min();
            let is_well_known = well_known(&NAMES, &text, preferred);
            let mut model: Vec<_> =
                NAMES.iter().zip(0..).filter_map(|(names, entity)| Some((best(names)?, entity))).collect();
            model.sort_unstable_by_key(|(class, entity)| {
                let is_other = !Item::from_entity(*entity).is_preferred(preferred);
                let is_first = is_well_known(*entity);
                (if is_first { 0 } else { *class }, is_other, !is_first, *entity)
            });
            let model: Vec<_> = model.into_iter().map(|(_, entity)| Item::from_entity(entity)).collect();
            let options = SearchOptions { text: Some(&text), preferred, limit: usize::MAX, ..SearchOptions::default() };
            prop_assert_eq!(SearchIndex::open().items(&options).unwrap(), model);
        }
    }
}
