//! Address search and other lookups of the embedded gazetteer.

use std::fmt::Write;

use anyhow::Result;
use serde_json::{Value, json};

use crate::environment::{BenchEnvironment, CLIENTS};
use crate::report::{Bound::AtMost, CPU};
use crate::wrk::Requests;
use testkit::market::random::{Random, SEED};
use testkit::processes::http::Body;

/// Number of places that are read first for their names and words.
const PLACE_COUNT: usize = 10_000;
/// Number of different coordinates that are looked up.
const POINT_COUNT: usize = 50_000;
/// Number of paths of each kind that are served from the cache.
const CACHED_COUNT: usize = 100;

/// Measures address search, nearest places and three-word locations. The cache is flushed before each run, except the
/// last one: most lookups read the gazetteer.
pub fn run(env: &BenchEnvironment) -> Result<()> {
    let (service, mut random) = (env.service("system")?, Random(SEED));
    let token = service.token(None);
    let places: Vec<Value> = points(&mut random, PLACE_COUNT)
        .iter()
        .map(|path| Ok(service.get(path, &token)?.json))
        .collect::<Result<_>>()?;
    let paths = |prefix: &str, pointer: &str| -> Vec<String> {
        let texts = places.iter().filter_map(|place| place.pointer(pointer)?.as_str());
        texts.map(|text| format!("/v1/{prefix}?query={}", percent_encode(text))).collect()
    };
    let mut addresses = paths("addresses", "/address/name");
    addresses.extend(paths("addresses", "/address/postcode"));
    addresses.sort();
    addresses.dedup();
    let kinds = [
        ("address search", addresses),
        ("nearest place", points(&mut random, POINT_COUNT)),
        ("three words", paths("locations/three-words", "/threeWords")),
    ];
    let cached = kinds.iter().flat_map(|(_, paths)| paths.iter().take(CACHED_COUNT).cloned()).collect();
    let from_cache = ("all of these, from the cache", cached);
    for (name, paths) in kinds.into_iter().chain([from_cache]) {
        let requests = Requests::get(env.temp_path("requests"), &token, &[], &paths)?;
        let run = || {
            if !name.ends_with("cache") {
                service.send("POST", "/v1/cache", &token, &Body::Json(json!({"flush": true})))?;
            }
            env.load(service, &requests, CLIENTS)
        };
        env.measure(&format!("places: {name}"), service, Box::new(run), Vec::new(), &[(CPU, AtMost(72.0))])?;
    }
    Ok(())
}

/// Returns lookups of random points in or near Great Britain.
fn points(random: &mut Random, count: usize) -> Vec<String> {
    let point = |_| {
        let (lat, lon) = (random.between((50.2, 58.5)), random.between((-5.5, 1.5)));
        format!("/v1/locations/coordinates?lat={lat:.6}&lon={lon:.6}")
    };
    (0..count).map(point).collect()
}

/// Encodes a query value.
fn percent_encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}
