//! Searches for words, and facets of them.

use anyhow::Result;
use testkit::market::listings::{LARGE_ORGANISATION, RARE_BREED};
use testkit::market::random::{Random, SEED};

use super::animal::random_animal;
use super::search::benchmark;
use crate::environment::BenchEnvironment;
use crate::get_benchmark::{GetBenchmark, QUERY_COUNT};
use crate::report::Target;

/// Target of facets at 100,000 listings.
const MAX_FACET_CPU: Target = Target::MaxCpu(20_000.0);

/// A name, and a function that returns random parameters of a search.
type Kind = (&'static str, fn(&mut Random) -> String);

/// How frequent the words of a search are: from all listings to one.
const KINDS: [Kind; 6] = [
    ("in all listings", |random| random.one(&["quiet", "handle", "appointment"]).to_owned()),
    ("in half of them", |random| random.one(&["pure", "texel", "breed"]).to_owned()),
    ("in a third", |random| random.one(&["spring", "autumn", "dispersal"]).to_owned()),
    ("rare", |random| {
        random.one(&[RARE_BREED, "huntaway dispersal", "society 40 kelpie"]).replace(' ', "%20")
    }),
    ("of one lot", |random| format!("lot%20{}:", random.below(100_000))),
    ("two letters", |random| random.one(&["qu", "zz", "te"]).to_owned()),
];

/// Measures pages of each kind of word, and of mixed ones with a category.
pub fn pages(env: &BenchEnvironment) -> Result<()> {
    for (kind, word) in KINDS {
        let mut random = Random(SEED);
        let paths = (0..QUERY_COUNT).map(|_| format!("/v1/listings?query={}", word(&mut random))).collect();
        let name = format!("listings-words, {kind}");
        benchmark(env, &name, paths, Target::None)?.against_constant(env)?;
    }
    let mut random = Random(SEED);
    let mut path = || {
        let (_, word) = random.one(&KINDS);
        let category = random_animal(&mut random).category;
        format!("/v1/listings?f:commodityType={category}&query={}", word(&mut random))
    };
    let paths = (0..QUERY_COUNT).map(|_| path()).collect();
    let result = benchmark(env, "listings-words, by category", paths, Target::None)?.against_constant(env)?;
    env.record("page of words and a category", result.cpu_us());
    Ok(())
}

/// Measures facets of each kind of word.
pub fn facets(env: &BenchEnvironment) -> Result<()> {
    let (service, token) = (env.livestock()?, env.livestock()?.token(Some(LARGE_ORGANISATION)));
    for (kind, word) in KINDS {
        let mut random = Random(SEED);
        let mut path = || format!("/v1/listings?docs=false&query={}", word(&mut random));
        let (paths, name) = ((0..QUERY_COUNT).map(|_| path()).collect(), format!("facets-words, {kind}"));
        let benchmark = GetBenchmark { name, service, token: token.clone(), paths, target: MAX_FACET_CPU };
        let result = benchmark.against_constant(env)?;
        env.record(&format!("facets of words {kind}"), result.cpu_us());
    }
    Ok(())
}
