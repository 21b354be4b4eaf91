//! Search by text, by container, or both.

use std::iter;

use crate::CountrySet;
use crate::area::Area;
use crate::item::Item;
use crate::query::{Filter, ParsedQuery, QueryParser, admits};

/// What to look for. Without text and container nothing is found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Search<'a> {
    /// A name, or a postcode, or the beginning of either; case, accents and punctuation do not matter.
    pub text: Option<&'a str>,
    /// Only what is in the container of this id, however deep; without text, what is directly in it.
    pub within: Option<&'a str>,
    /// Only what is in the country of this alpha-2 code.
    pub country: Option<&'a str>,
    /// Countries whose hits come before others that match as well.
    pub preferred: CountrySet,
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

pub struct Index(QueryParser);

impl Index {
    pub fn open() -> Self {
        Self(QueryParser::open())
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
        let ParsedQuery { found, name, filter, home_first } = self.0.asked(text, filter);
        let preferred = search.preferred;
        let near = iter::once_with(|| self.0.near(&name, &found.names, preferred)).flatten();
        let mut items = found.items(preferred).chain(near);
        if home_first {
            let is_home = |item: &Item| item.is_home() || preferred.has(item.country_number());
            let (home, abroad): (Vec<_>, Vec<_>) = items.partition(is_home);
            return page(&mut home.into_iter().chain(abroad), &filter);
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
    use crate::country::region_numbered;
    use crate::district;
    use crate::fold::fold;
    use crate::spelling::tests::edits;
    use crate::tables::ENTITIES;

    /// Folded, by the id of the place.
    static ALIASES: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
        let mut rows = csv::Reader::from_reader(include_bytes!("../data/own_names.csv").as_slice());
        let rows = rows.records().map(Result::unwrap);
        rows.map(|row| (format!("place:{}", &row[0]), row[1].split('|').map(fold).collect())).collect()
    });

    static NAMES: LazyLock<Vec<Vec<String>>> =
        LazyLock::new(|| (0..ENTITIES.len() as u32).map(|entity| names(Item::ranked(entity))).collect());

    /// All ways to write what an entity is called.
    fn names(item: Item) -> Vec<String> {
        let mut names = vec![fold(&item.text())];
        if let Item::District(number) = item {
            names = vec![fold(district::place(number))];
            names.extend(names[0].strip_prefix("dublin ").map(|number| format!("dublin {number:0>2}")));
        }
        names.extend(ALIASES.get(&item.hit().id).into_iter().flatten().cloned());
        if let Item::Region(number) = item {
            names.extend(region_numbered(number).aliases().map(fold));
        }
        for i in 0..names.len() {
            let padded = format!(" {} ", names[i]);
            for (from, to) in [(" st ", " saint "), (" saint ", " st ")] {
                names.push(padded.replace(from, to).trim().to_owned());
            }
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    /// How well a name matches: exact, prefix, words, one edit, two; none.
    fn class(name: &str, asked: &str) -> Option<usize> {
        if name.starts_with(asked) {
            return Some(usize::from(name != asked));
        }
        if name.split(' ').any(|word| word.starts_with(asked)) {
            return Some(2);
        }
        let most = match asked.len() {
            0..4 => 0,
            8.. if name.as_bytes()[0] == asked.as_bytes()[0] => 2,
            _ => 1,
        };
        let is_near = name.len().abs_diff(asked.len()) <= most;
        is_near.then(|| edits(name.as_bytes(), asked.as_bytes())).filter(|n| *n <= most).map(|n| 2 + n)
    }

    #[test]
    fn places_are_numbered_by_population() {
        let mut rows = csv::Reader::from_reader(include_bytes!("../data/places.csv").as_slice());
        let weights: HashMap<String, u64> = rows
            .records()
            .map(|row| {
                let row = row.unwrap();
                (format!("place:{}", &row[0]), row[8].parse::<u64>().unwrap_or(0))
            })
            .collect();
        let places =
            (0..ENTITIES.len() as u32).map(Item::ranked).filter(|item| matches!(item, Item::Place(_)));
        let ranks: Vec<_> =
            places.map(Item::hit).map(|hit| (Reverse(weights[&hit.id]), fold(&hit.text))).collect();
        assert_eq!(ranks.len(), weights.len());
        assert!(ranks.is_sorted());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        /// Texts without a second word, of which a plain model is plain; begun, whole or misspelt.
        #[test]
        fn ranked_as_by_a_plain_model(
            entity in 0..ENTITIES.len() as u32, end in 2usize..20, swap in 0usize..20,
            codes in prop::sample::select(vec![&[][..], &["GB", "IE"], &["US", "AU", "FR"]]),
        ) {
            let preferred = CountrySet::of(codes.iter().copied());
            let text = fold(&Item::ranked(entity).text());
            let mut letters: Vec<char> = text.chars().filter(|c| *c != ' ').take(end).collect();
            if swap + 1 < letters.len() {
                letters.swap(swap, swap + 1);
            }
            let text: String = letters.into_iter().collect();
            prop_assume!(text.len() > 2 && !text.contains(|c: char| c.is_ascii_digit()));
            let best = |names: &Vec<String>| names.iter().filter_map(|name| class(name, &text)).min();
            let mut model: Vec<_> =
                NAMES.iter().zip(0..).filter_map(|(names, entity)| Some((best(names)?, entity))).collect();
            let is_other = |entity| !codes.contains(&Item::ranked(entity).country().iso);
            model.sort_unstable_by_key(|(class, entity)| (*class, is_other(*entity), *entity));
            let model: Vec<_> = model.into_iter().map(|(_, entity)| Item::ranked(entity)).collect();
            let search = Search { text: Some(&text), preferred, limit: usize::MAX, ..Search::default() };
            prop_assert_eq!(Index::open().items(&search).unwrap(), model);
        }
    }
}
