//! One request of each kind of search.

use anyhow::Result;
use testkit::market::listings::{LARGE_ORGANISATION, RARE_BREED};

use crate::environment::BenchEnvironment;
use crate::get_benchmark::GetBenchmark;
use crate::load::CLIENTS;
use crate::report::Target;

const POINT: &str = "latitude=52.2&longitude=-2.7";

/// Measures each kind of search.
pub fn run(env: &BenchEnvironment) -> Result<()> {
    let service = env.livestock()?;
    let token = service.token(Some(LARGE_ORGANISATION));
    let search = |query: &str| format!("/v1/listings?{}", query.replace(' ', "%20"));
    let first = service.get(&search("limit=1&offset=2"), &token)?;
    let id = first.json[0]["id"].as_str().unwrap_or_default().to_owned();
    let cursor = service.cursor(&search(&format!("limit=100&offset={}", env.rows / 5)), &token)?;
    let searches = [
        ("newest 20", String::new()),
        ("newest 100", "limit=100".into()),
        ("active, selling", "f:status=active-selling".into()),
        ("by category", "f:commodityType=sheep".into()),
        ("lowest price first", "sortBy=price&sortDesc=false".into()),
        ("highest price first", "sortBy=price&sortDesc=true".into()),
        ("youngest first", "sortBy=age&sortDesc=false".into()),
        ("sorted by quantity", "sortBy=quantity&sortDesc=true".into()),
        ("sorted by organisation", "sortBy=organisationName&sortDesc=false".into()),
        ("common breed", "f:commodityBreed=Hereford".into()),
        ("rare breed", format!("f:commodityBreed={RARE_BREED}")),
        ("rare breed, sorted by price", format!("f:commodityBreed={RARE_BREED}&sortBy=price")),
        ("breed society", "f:commodityBreedSociety=Society 7".into()),
        ("within 25 km", format!("{POINT}&distanceKm=25")),
        ("within 50 km, newest first", format!("{POINT}&distanceKm=50&sortBy=publishedAt&sortDesc=true")),
        ("nearest first", POINT.into()),
        ("farthest first", format!("{POINT}&sortBy=distance&sortDesc=true")),
        ("within 500 km, sorted by price", format!("{POINT}&distanceKm=500&sortBy=price")),
        ("sexes and info", "f:commoditySexes=heifers&f:commodityAdditionalInfo=pedigree".into()),
        ("age range", "minAge=12&maxAge=24".into()),
        ("one organisation", "f:organisationId=org-7".into()),
        ("wishlist", "isWishlisted=true".into()),
        ("drafts", "f:status=draft".into()),
        ("one type", "f:commodityType=store".into()),
        ("unknown type", "f:commodityType=zebra".into()),
        ("offset 10000", "offset=10000".into()),
        ("with count", "count=true".into()),
        ("distant page by cursor", format!("cursor={cursor}")),
        ("facets of all listings", "docs=false".into()),
        ("CSV of 1000", "format=CSV&limit=1000".into()),
    ]
    .map(|(kind, query)| (kind, search(&query)));
    for (kind, path) in searches.into_iter().chain([("one by id", format!("/v1/listings/{id}"))]) {
        let (name, token) = (format!("listings: {kind}"), token.clone());
        GetBenchmark { name, service, token, paths: vec![path], target: Target::None }.alone(env, CLIENTS)?;
    }
    Ok(())
}
