//! Facet counts of searches.

use anyhow::Result;
use testkit::market::listings::{ADDITIONAL_INFO, LARGE_ORGANISATION, SEXES};
use testkit::market::random::{Random, SEED};

use super::animal::{random_animal, random_point};
use crate::environment::{BenchEnvironment, size_label};
use crate::get_benchmark::{GetBenchmark, QUERY_COUNT};
use crate::report::Target;

const STATUSES: [&str; 4] = ["active-selling", "active-buying", "sold", "active-selling"];
/// More combinations than livestock caches.
const UNCACHED_COUNT: usize = 2_500;
/// Target of counts that need a pass over all listings.
const FULL_PASS: Target = Target::MaxCpu(10_000.0);

/// Measures counts with exact filters only.
pub fn exact(env: &BenchEnvironment) -> Result<()> {
    let target = env.by_database(Target::MaxCpu(300.0), Target::MaxCpu(1_000.0));
    counts(env, "facets", Some(LARGE_ORGANISATION), target, |_| String::new())
}

/// Measures counts of more combinations of exact filters than livestock caches, so that each takes a pass.
pub fn uncached(env: &BenchEnvironment) -> Result<()> {
    let (service, mut random) = (env.livestock()?, Random(SEED));
    let mut path = || {
        let breeds = [(); 3].map(|()| random_animal(&mut random).breed.replace(' ', "%20"));
        format!(
            "/v1/listings?docs=false&f:commodityBreed={}&f:commoditySexes={}",
            breeds.join(","),
            random.one(&SEXES[..4])
        )
    };
    let paths = (0..UNCACHED_COUNT).map(|_| path()).collect();
    let target = Target::MaxCpu(if env.rows > 100_000 { 15_000.0 } else { 2_000.0 });
    let token = service.token(Some(LARGE_ORGANISATION));
    let result = GetBenchmark { name: "facets-uncached".to_owned(), service, token, paths, target };
    let result = result.against_constant(env)?;
    env.record(&format!("facets of a new combination, {}", size_label(env.rows)), result.cpu_us());
    Ok(())
}

/// Measures counts within a distance.
pub fn near(env: &BenchEnvironment) -> Result<()> {
    counts(env, "facets-near", Some(LARGE_ORGANISATION), FULL_PASS, |random| {
        let (lat, lon) = random_point(random);
        format!("&latitude={lat:.4}&longitude={lon:.4}&distanceKm={}", 20 + random.below(80))
    })
}

/// Measures counts of an age range.
pub fn age(env: &BenchEnvironment) -> Result<()> {
    counts(env, "facets-age", Some(LARGE_ORGANISATION), FULL_PASS, |random| {
        let min = random.below(40);
        format!("&minAge={min}&maxAge={}", min + 5 + random.below(20))
    })
}

/// Measures counts of the administrator's wishlist.
pub fn wishlist(env: &BenchEnvironment) -> Result<()> {
    counts(env, "facets-wishlist", None, FULL_PASS, |_| "&isWishlisted=true".into())
}

/// Measures counts with random exact filters and one further filter.
fn counts(
    env: &BenchEnvironment,
    name: &str,
    org: Option<&str>,
    target: Target,
    further_filter: impl Fn(&mut Random) -> String,
) -> Result<()> {
    benchmark(env, name, org, target, further_filter)?.against_constant(env).map(drop)
}

/// Returns a benchmark of counts with random exact filters and one further filter.
pub fn benchmark<'a>(
    env: &'a BenchEnvironment,
    name: &str,
    org: Option<&str>,
    target: Target,
    further_filter: impl Fn(&mut Random) -> String,
) -> Result<GetBenchmark<'a>> {
    let (service, mut random) = (env.livestock()?, Random(SEED));
    let mut path = || {
        let animal = random_animal(&mut random);
        let sexes = random.one(&SEXES[..4]);
        let filters = [
            (70, format!("commodityType={}", animal.category)),
            (50, format!("commodityBreed={}", animal.breed.replace(' ', "%20"))),
            (50, format!("status={}", random.one(&STATUSES))),
            (20, format!("commoditySexes={sexes}")),
            (20, format!("commodityAdditionalInfo={}", random.one(&ADDITIONAL_INFO))),
            (20, format!("commodityBreedSociety=Society%20{}", 1 + random.below(40))),
        ];
        let mut path = "/v1/listings?docs=false".to_owned();
        for (probability, filter) in filters {
            if random.percent(probability) {
                path.extend(["&f:", &filter]);
            }
        }
        path + &further_filter(&mut random)
    };
    let paths = (0..QUERY_COUNT).map(|_| path()).collect();
    Ok(GetBenchmark { name: name.to_owned(), service, token: service.token(org), paths, target })
}
