//! The query of the market: what it filters and how it sorts, in the address of the page and in the API.

use serde_json::{Map, Value, json};

use super::map::Area;
use crate::api::with_query;

/// Listings on a page.
const ROWS: &str = "24";
/// The most pairs of an address, and the most characters of a value.
const MAX_PAIRS: usize = 60;
const MAX_CHARS: usize = 1_000;

/// The filters: the name in the address, the parameter of the API, and the name for people.
const FILTERS: [(&str, &str, &str); 15] = [
    ("q", "query", "Words"),
    ("status", "f:status", "Status"),
    ("category", "f:commodityType", "Type"),
    ("breed", "f:commodityBreed", "Breed"),
    ("breeding", "f:breedType", "Breeding"),
    ("society", "f:commodityBreedSociety", "Society"),
    ("sex", "f:commoditySexes", "Sex"),
    ("more", "f:commodityAdditionalInfo", "Attribute"),
    ("oldest", "maxAge", "At most, months"),
    ("youngest", "minAge", "At least, months"),
    ("seller", "f:organisationId", "Seller"),
    ("near", "near", "Near"),
    ("within", "distanceKm", "Within, km"),
    ("box", "bbox", "Part of the map"),
    ("wishlist", "isWishlisted", "My wishlist"),
];

/// Orders: the name in the address, the key of the API, whether it descends, and the name for people.
pub(crate) const SORTS: [(&str, &str, bool, &str); 8] = [
    ("newest", "publishedAt", true, "Newest first"),
    ("nearest", "distance", false, "Nearest first"),
    ("cheapest", "price", false, "Lowest price first"),
    ("dearest", "price", true, "Highest price first"),
    ("youngest", "age", false, "Youngest first"),
    ("eldest", "age", true, "Oldest first"),
    ("most", "quantity", true, "Largest lots first"),
    ("seller", "organisationName", false, "By seller"),
];

/// The query of a page of the market. What it does not know is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MarketQuery(Vec<(String, String)>);

impl MarketQuery {
    /// Parses the query of an address. Empty values count as absent.
    pub(crate) fn parse(query: &str) -> Self {
        let is_known = |name: &str| {
            ["order", "cursor", "view"].contains(&name) || FILTERS.iter().any(|(known, ..)| *known == name)
        };
        let pairs = url::form_urlencoded::parse(query.as_bytes());
        let pairs = pairs.map(|(name, value)| {
            (name.into_owned(), value.trim().chars().take(MAX_CHARS).collect::<String>())
        });
        let mut own = Vec::new();
        for pair in pairs.filter(|(name, value)| is_known(name) && !value.is_empty()).take(MAX_PAIRS) {
            if !own.contains(&pair) {
                own.push(pair);
            }
        }
        Self(own)
    }

    /// Returns the first value of a filter.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns all values of a filter.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect()
    }

    /// Returns true if it asks for what only members have: a wishlist, and listings that are not on the market.
    pub(crate) fn is_of_members(&self) -> bool {
        self.get("wishlist").is_some() || self.all("status").iter().any(|status| *status != "active")
    }

    /// Returns true if the page is a table.
    pub(crate) fn is_table(&self) -> bool {
        self.get("view") == Some("table")
    }

    /// Returns the part of the map that is searched.
    pub(crate) fn area(&self) -> Option<Area> {
        self.get("box").and_then(Area::parse)
    }

    /// Returns the filters as parameters of the API.
    pub(crate) fn parameters(&self) -> Vec<(&'static str, String)> {
        let mut parameters = Vec::new();
        for (name, value) in &self.0 {
            let Some((_, parameter, _)) = FILTERS.iter().find(|(known, ..)| known == name) else { continue };
            match name.as_str() {
                // A distance has a meaning from a place only.
                "within" if self.get("near").is_none() => {}
                "wishlist" => parameters.push((*parameter, "true".to_owned())),
                _ => parameters.push((*parameter, value.clone())),
            }
        }
        parameters
    }

    /// Returns the parameters of a page: filters, order, cursor and number of listings.
    pub(crate) fn page(&self) -> Vec<(&'static str, String)> {
        let mut parameters = self.parameters();
        if let Some((_, key, descends, _)) = SORTS.iter().find(|(name, ..)| Some(*name) == self.order()) {
            parameters.extend([("sortBy", (*key).to_owned()), ("sortDesc", descends.to_string())]);
        }
        parameters.push(("limit", ROWS.to_owned()));
        parameters.extend(self.get("cursor").map(|cursor| ("cursor", cursor.to_owned())));
        parameters
    }

    /// Returns the order that was chosen. Near a place, it is by nearness at first; without one, there is no nearest.
    pub(crate) fn order(&self) -> Option<&str> {
        let near = self.get("near").map(|_| "nearest");
        self.get("order").or(near).filter(|order| *order != "nearest" || near.is_some())
    }

    /// Returns the filters as a saved search keeps them: values of the same name together.
    pub(crate) fn saved(&self) -> Map<String, Value> {
        let parameters = self.parameters();
        let mut saved = Map::new();
        for (name, _) in &parameters {
            let values: Vec<_> =
                parameters.iter().filter(|(own, _)| own == name).map(|(_, value)| value.as_str()).collect();
            let value = if values.len() == 1 { json!(values[0]) } else { json!(values) };
            saved.insert((*name).to_owned(), value);
        }
        saved
    }

    /// Returns the query that finds what a saved search finds.
    pub(crate) fn of_saved(parameters: &Map<String, Value>) -> Self {
        let mut pairs = Vec::new();
        for (name, _, _) in FILTERS {
            let Some((_, parameter, _)) = FILTERS.iter().find(|(known, ..)| *known == name) else { continue };
            match parameters.get(*parameter) {
                Some(Value::String(text)) => pairs.push((name.to_owned(), text.clone())),
                Some(Value::Array(texts)) => {
                    let texts = texts.iter().filter_map(Value::as_str);
                    pairs.extend(texts.map(|text| (name.to_owned(), text.to_owned())));
                }
                _ => {}
            }
        }
        Self(pairs)
    }

    /// Returns what each filter that is on is called, and the address of the page without it.
    pub(crate) fn chips(&self, names: impl Fn(&str, &str) -> Option<String>) -> Vec<(String, String)> {
        let on = self.0.iter().filter_map(|(name, value)| {
            let (_, _, label) = FILTERS.iter().find(|(known, ..)| known == name)?;
            let text = match name.as_str() {
                "box" | "wishlist" => (*label).to_owned(),
                "near" => format!("Near {value}"),
                _ => format!("{label}: {}", names(name, value).unwrap_or_else(|| value.clone())),
            };
            Some((text, self.without(name, value)))
        });
        on.collect()
    }

    /// Returns the address of the first page without a value of a filter.
    pub(crate) fn without(&self, name: &str, value: &str) -> String {
        self.address(|(own, other)| own != "cursor" && !(own == name && other == value), &[])
    }

    /// Returns the address of the first page with a further value of a filter, or with another one.
    pub(crate) fn with(&self, name: &str, value: &str, is_further: bool) -> String {
        self.address(|(own, _)| own != "cursor" && (is_further || own != name), &[(name, value)])
    }

    /// Returns the address of the first page without a filter.
    pub(crate) fn free_of(&self, name: &str) -> String {
        self.address(|(own, _)| own != "cursor" && own != name, &[])
    }

    /// Returns the address of the page at a cursor.
    pub(crate) fn at(&self, cursor: &str) -> String {
        self.address(|(name, _)| name != "cursor", &[("cursor", cursor)])
    }

    /// Returns the address of this page.
    pub(crate) fn path(&self) -> String {
        self.address(|_| true, &[])
    }

    /// Returns the query of this page, for links that lead back to it.
    pub(crate) fn encoded(&self) -> String {
        self.path().split_once('?').map(|(_, query)| query.to_owned()).unwrap_or_default()
    }

    /// Returns the pairs that a form keeps: all but the cursor and those with these names.
    pub(crate) fn kept(&self, without: &[&str]) -> Vec<(&str, &str)> {
        let own = self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        own.filter(|(name, _)| *name != "cursor" && !without.contains(name)).collect()
    }

    /// Returns true if any filter is on.
    pub(crate) fn is_filtered(&self) -> bool {
        !self.kept(&["order", "view"]).is_empty()
    }

    fn address(&self, keep: impl Fn((&str, &str)) -> bool, added: &[(&str, &str)]) -> String {
        let own = self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let pairs: Vec<_> = own.filter(|pair| keep(*pair)).chain(added.iter().copied()).collect();
        with_query("/market", &pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_become_parameters() {
        let query = MarketQuery::parse(
            "category=sheep&breed=Texel&breed=Suffolk&breed=Texel&within=50&x=1&order=nearest",
        );
        let expected =
            [("f:commodityType", "sheep"), ("f:commodityBreed", "Texel"), ("f:commodityBreed", "Suffolk")];
        assert_eq!(query.parameters(), expected.map(|(name, value)| (name, value.to_owned())));
        assert_eq!(query.page().len(), 4, "nearest to nothing is no order");
        let near = MarketQuery::parse("near=LD3+7HP&within=50&wishlist=on&cursor=a+b");
        assert_eq!(MarketQuery::parse("near=LD3&order=cheapest").order(), Some("cheapest"));
        let expected = [
            ("near", "LD3 7HP"),
            ("distanceKm", "50"),
            ("isWishlisted", "true"),
            ("sortBy", "distance"),
            ("sortDesc", "false"),
            ("limit", ROWS),
            ("cursor", "a b"),
        ];
        assert_eq!(near.page(), expected.map(|(name, value)| (name, value.to_owned())));
    }

    #[test]
    fn a_saved_search_leads_back_to_its_query() {
        let query = MarketQuery::parse("breed=Texel&breed=Suffolk&near=LD3&view=table&order=newest&cursor=a");
        let saved = query.saved();
        assert_eq!(json!(saved), json!({"f:commodityBreed": ["Texel", "Suffolk"], "near": "LD3"}));
        assert_eq!(MarketQuery::of_saved(&saved).path(), "/market?breed=Texel&breed=Suffolk&near=LD3");
    }

    #[test]
    fn a_change_of_filters_starts_at_the_first_page() {
        let query = MarketQuery::parse("category=sheep&breed=Texel&cursor=abc&view=table");
        assert_eq!(
            query.with("breed", "Blue & Grey", true),
            "/market?category=sheep&breed=Texel&view=table&breed=Blue+%26+Grey"
        );
        assert_eq!(query.with("category", "cattle", false), "/market?breed=Texel&view=table&category=cattle");
        assert_eq!(query.without("breed", "Texel"), "/market?category=sheep&view=table");
        let chips = query.chips(|_, _| None);
        assert_eq!(chips[0], ("Type: sheep".to_owned(), "/market?breed=Texel&view=table".to_owned()));
        assert!(query.is_table() && query.is_filtered() && !MarketQuery::parse("view=table").is_filtered());
    }
}
