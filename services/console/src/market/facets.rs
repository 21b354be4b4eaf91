//! The filters at the left of the market, with how many listings each value leaves. Values stay where they are,
//! whatever is chosen: one that is chosen stays with 0 results, and the others are shown as empty.

use super::query::MarketQuery;
use crate::api::market::{FacetValue, Facets};

/// Values of a group that are shown before one asks for more.
const SHOWN: usize = 8;

/// The groups: the name in the address, the facet, the heading, whether several values may be chosen, and the values
/// that it has at any rate, with what people read.
type Facet = (&'static str, &'static str, &'static str, bool, &'static [(&'static str, &'static str)]);

const FACETS: [Facet; 7] = [
    (
        "status",
        "f:status",
        "Offered or wanted",
        false,
        &[("active-selling", "For sale"), ("active-buying", "Wanted"), ("sold", "Sold"), ("found", "Found")],
    ),
    (
        "category",
        "f:commodityType",
        "Type",
        false,
        &[
            ("sheep", "Sheep"),
            ("cattle", "Cattle"),
            ("working dog", "Working dogs"),
            ("feed", "Feed"),
            ("bedding", "Bedding"),
        ],
    ),
    ("breed", "f:commodityBreed", "Breed", true, &[]),
    (
        "sex",
        "f:commoditySexes",
        "Sex and age",
        false,
        &[
            ("ewes", "Ewes"),
            ("rams", "Rams"),
            ("lambs", "Lambs"),
            ("shearlings", "Shearlings"),
            ("heifers", "Heifers"),
            ("steers", "Steers"),
            ("bulls", "Bulls"),
            ("cows", "Cows"),
        ],
    ),
    (
        "more",
        "f:commodityAdditionalInfo",
        "Attributes",
        false,
        &[
            ("crossbred", "Crossbred"),
            ("pedigree", "Pedigree"),
            ("in-lamb", "In lamb"),
            ("in-calf", "In calf"),
            ("organic", "Organic"),
            ("named-sire", "Named sire"),
        ],
    ),
    ("breeding", "f:breedType", "Breeding", true, &[]),
    ("society", "f:commodityBreedSociety", "Breed society", true, &[]),
];

/// A group of values.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) title: &'static str,
    pub(crate) shown: Vec<Choice>,
    /// Those that are seen after one asks for more.
    pub(crate) more: Vec<Choice>,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) label: String,
    pub(crate) count: u64,
    pub(crate) is_chosen: bool,
    /// The address of the page with or without it. One without results that is not chosen leads nowhere.
    pub(crate) path: Option<String>,
}

/// Returns the groups of a query. `found` counts under its filters, `all` without any.
pub(crate) fn groups(query: &MarketQuery, found: &Facets, all: &Facets) -> Vec<Group> {
    let values = |facets: &Facets, facet: &str| facets.filters.get(facet).cloned().unwrap_or_default();
    let groups = FACETS.iter().map(|(name, facet, title, is_several, fixed)| {
        let (found, all) = (values(found, facet), values(all, facet));
        let chosen = query.all(name);
        let is_same = |one: &str, other: &str| one.to_lowercase() == other.to_lowercase();
        let mut names: Vec<String> = fixed.iter().map(|(value, _)| (*value).to_owned()).collect();
        let others = all.iter().chain(&found).map(|value| value.value.as_str());
        for value in others.chain(chosen.iter().copied()) {
            if !names.iter().any(|known| is_same(known, value)) {
                names.push(value.to_owned());
            }
        }
        let count = |value: &str| {
            let counted = |counted: &&FacetValue| is_same(&counted.value, value);
            found.iter().find(counted).map_or(0, |counted| counted.count)
        };
        let choice = |value: &String| {
            let own = chosen.iter().find(|own| is_same(own, value));
            let count = count(value);
            let path = match own {
                Some(own) => Some(query.without(name, own)),
                None => (count > 0).then(|| query.with(name, value, *is_several)),
            };
            let label =
                fixed.iter().find(|(known, _)| known == value).map_or(value.as_str(), |(_, label)| label);
            Choice { label: label.to_owned(), count, is_chosen: own.is_some(), path }
        };
        let choices: Vec<_> = names.iter().map(choice).collect();
        // Those of a fixed list are few. Of others, the most frequent ones of the whole market are shown.
        let is_shown = |index: usize, choice: &Choice| index < SHOWN || choice.is_chosen || !fixed.is_empty();
        let (shown, more): (Vec<_>, Vec<_>) =
            choices.into_iter().enumerate().partition(|(index, choice)| is_shown(*index, choice));
        let plain = |choices: Vec<(usize, Choice)>| choices.into_iter().map(|(_, choice)| choice).collect();
        Group { title, shown: plain(shown), more: plain(more) }
    });
    groups.filter(|group| !group.shown.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facets(facet: &str, values: &[(&str, u64)]) -> Facets {
        let values =
            values.iter().map(|(value, count)| FacetValue { value: (*value).to_owned(), count: *count });
        Facets { filters: [(facet.to_owned(), values.collect())].into(), total: 0 }
    }

    fn of(groups: &[Group], title: &str) -> Vec<(String, u64, bool, bool)> {
        let group = groups.iter().find(|group| group.title == title).unwrap();
        let shown =
            |choice: &Choice| (choice.label.clone(), choice.count, choice.is_chosen, choice.path.is_some());
        group.shown.iter().map(shown).collect()
    }

    #[test]
    fn a_chosen_value_stays_with_0_results_and_others_are_greyed_in_place() {
        let all = facets("f:commodityBreed", &[("Texel", 52), ("Swaledale", 41), ("Suffolk", 3)]);
        let found = facets("f:commodityBreed", &[("Suffolk", 3)]);
        let query = MarketQuery::parse("breed=swaledale&near=ZE1");
        let expected =
            [("Texel", 0, false, false), ("Swaledale", 0, true, true), ("Suffolk", 3, false, true)];
        let expected = expected.map(|(name, count, chosen, leads)| (name.to_owned(), count, chosen, leads));
        assert_eq!(of(&groups(&query, &found, &all), "Breed"), expected);
        // A value that nothing has any more stays too.
        let gone = MarketQuery::parse("breed=Dodo");
        let shown = of(&groups(&gone, &Facets::default(), &all), "Breed");
        assert_eq!(shown[3], ("Dodo".to_owned(), 0, true, true));
        assert_eq!(shown[0], ("Texel".to_owned(), 0, false, false));
    }

    #[test]
    fn fixed_values_are_always_there() {
        let groups = groups(&MarketQuery::default(), &Facets::default(), &Facets::default());
        assert_eq!(of(&groups, "Type").len(), 5);
        assert!(groups.iter().all(|group| group.title != "Breed"), "without values, there is no heading");
    }

    #[test]
    fn many_values_are_folded_but_not_chosen_ones() {
        let names: Vec<_> = (0..20).map(|index| format!("Breed {index}")).collect();
        let values: Vec<_> = names.iter().map(|name| (name.as_str(), 1)).collect();
        let all = facets("f:commodityBreed", &values);
        let groups = groups(&MarketQuery::parse("breed=Breed+15"), &all, &all);
        let breeds = groups.iter().find(|group| group.title == "Breed").unwrap();
        assert_eq!((breeds.shown.len(), breeds.more.len()), (9, 11));
        assert!(breeds.shown[8].is_chosen);
    }
}
