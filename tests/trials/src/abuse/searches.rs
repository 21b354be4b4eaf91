//! The most expensive searches, and more different requests than caches have room for.

use anyhow::Result;

use super::costly::{MEMORY, send};
use super::services::Services;
use super::socket::head;
use super::target::{Case, Target};

/// Sends all searches.
pub fn run(services: &Services<'_>) -> Result<()> {
    let Services { system, logistics, livestock, .. } = services;
    let is_short = services.trial.short;
    let limit = |release| if is_short { 3000 } else { release };
    send(logistics, "the most expensive searches of loads", loads(logistics), limit(500))?;
    send(system, "the most expensive searches of places", places(), limit(250))?;
    let count = if is_short { 1000 } else { 50_000 };
    let paths = (0..count).map(|n| format!("/v1/locations/coordinates?lat=52.{n:05}&lon=-2.{n:05}"));
    system.attack_paths(&format!("{count} different places"), MEMORY, "200", paths)?;
    send(livestock, "the most expensive searches of listings", listings(livestock), limit(500))?;
    send(livestock, "words of one letter, without a token", letters(), limit(250))?;
    send(livestock, "saved searches of 64 KiB", large_saved_searches(livestock), limit(250))?;
    let count = if is_short { 300 } else { 5000 };
    let paths = (0..count).map(|n| format!("/v1/listings?docs=false&f:commodityBreed=breed{n}"));
    livestock.attack_paths(&format!("{count} combinations of filters"), MEMORY, "200", paths)
}

/// Searches of visitors for the beginnings of words.
fn letters() -> Vec<Case<String>> {
    let path = |query: &str| head("GET", &format!("/v1/public/listings?{query}"), None, &[]) + "\r\n";
    [
        ("a frequent letter", path("query=h&count=true&limit=100"), "200"),
        ("a letter within words", path("query=u&count=true&limit=100"), "200"),
        ("a rare letter", path("query=z&count=true"), "200"),
        ("a rare letter of a category", path("query=x&f:commodityType=bedding&sortBy=price"), "200"),
        ("a digit", path("query=7&count=true"), "200"),
        ("facets of a letter", path("query=e&docs=false"), "200"),
    ]
    .into()
}

/// Saved searches with as many and as long parameters as a body has room for.
fn large_saved_searches(target: &Target<'_>) -> Vec<Case<String>> {
    let breeds = |length: usize| vec![format!("\"{}\"", "x".repeat(length)); 50].join(",");
    let form = |parameters: &str| {
        let body = format!(r#"{{"name": "large", "notify": true, "parameters": {{{parameters}}}}}"#);
        let length = body.len().to_string();
        let headers = [("content-type", "application/json"), ("content-length", length.as_str())];
        target.head("POST", "/v1/saved-searches", &headers) + &body
    };
    let long = breeds(600);
    [
        (
            "long values",
            form(&format!(r#""f:commodityBreed": [{long}], "f:commodityBreedSociety": [{long}]"#)),
            "400",
        ),
        ("many values", form(&format!(r#""f:commodityBreed": "{}""#, "x,".repeat(51))), "400"),
        (
            "unknown names",
            form(&(0..5_000).map(|n| format!(r#""n{n}": "x""#)).collect::<Vec<_>>().join(",")),
            "400",
        ),
    ]
    .into()
}

/// Searches of loads.
fn loads(target: &Target<'_>) -> Vec<Case<String>> {
    let words = ('a'..='z').map(String::from).collect::<Vec<_>>().join("%20");
    let queries = [
        ("deep", "offset=1000000&limit=100&count=true".to_owned(), "200"),
        ("percent", "query=%25%25%25&count=true&limit=100".into(), "200"),
        ("a letter", "query=a&count=true&limit=100&sortBy=commodity&offset=5000".into(), "200"),
        ("all letters", format!("query={words}&count=true&limit=100"), "400"),
        ("a thousand words", format!("query={}", "batch%20".repeat(1000)), "400"),
        ("a long word", format!("query={}", "b".repeat(50_000)), "400"),
        ("underscores", format!("query={}", "_".repeat(200)), "200"),
        (
            "all parameters",
            "query=a&f:status=upcoming&startDateISO=0001-01-01&endDateISO=9999-12-31&sortBy=weight\
             &sortDesc=true&count=true&limit=100"
                .into(),
            "200",
        ),
    ];
    queries
        .map(|(name, query, status)| (name, target.head("GET", &format!("/v1/loads?{query}"), &[]), status))
        .into()
}

/// Places. They need no token.
fn places() -> Vec<Case<String>> {
    let words = |word: &str, count| vec![word; count].join("%20");
    let paths = [
        ("nonsense", format!("/v1/addresses?query={}", "qxzjvkw".repeat(25)), "200"),
        ("long nonsense", format!("/v1/addresses?query={}", "qxzjvkw".repeat(5000)), "400"),
        ("words", format!("/v1/addresses?query={}", words("a", 1000)), "400"),
        ("a letter", "/v1/addresses?query=a&limit=100&offset=1000".into(), "200"),
        ("near nothing", "/v1/addresses?query=zzzzzzzzzz&limit=100".into(), "200"),
        ("three words", "/v1/locations/three-words?query=aaaaaaa.bbbbbbb.ccccccc".into(), "400"),
        (
            "three long words",
            format!("/v1/locations/three-words?query={0}.{0}.{0}", "ab".repeat(5000)),
            "400",
        ),
        ("many words", format!("/v1/locations/three-words?query={}", vec!["a"; 10_000].join(".")), "400"),
    ];
    paths.map(|(name, path, status)| (name, head("GET", &path, None, &[]) + "\r\n", status)).into()
}

/// Searches and facets of listings.
fn listings(target: &Target<'_>) -> Vec<Case<String>> {
    let point = "latitude=54&longitude=-2";
    let breeds = (0..50).map(|number| format!("breed{number}")).collect::<Vec<_>>().join(",");
    let queries = [
        ("deep", "offset=1000000&limit=100&count=true".to_owned(), "200"),
        ("nearest", format!("{point}&limit=100&offset=4000&count=true"), "200"),
        (
            "near, of an age",
            format!("{point}&distanceKm=20000&minAge=0&maxAge=600&count=true&limit=100"),
            "200",
        ),
        ("breeds", format!("f:commodityBreed={breeds}&count=true"), "200"),
        ("facets", "docs=false".into(), "200"),
        (
            "facets, near, of an age",
            format!("docs=false&{point}&distanceKm=20000&minAge=0&maxAge=600"),
            "200",
        ),
        ("facets of breeds", format!("docs=false&f:commodityBreed={breeds}"), "200"),
        (
            "all filters",
            format!(
                "docs=false&f:commodityType=sheep&f:commodityBreed=Texel&f:commoditySexes=ewes\
                 &f:commodityAdditionalInfo=crossbred&f:status=active-selling&isWishlisted=true\
                 &{point}&distanceKm=9"
            ),
            "200",
        ),
    ];
    let head = |query| target.head("GET", &format!("/v1/listings?{query}"), &[]);
    queries.map(|(name, query, status)| (name, head(query), status)).into()
}
