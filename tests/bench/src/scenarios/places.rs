//! Address search and other lookups of the embedded gazetteer.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::Result;
use serde_json::{Value, json};
use testkit::market::random::{Random, SEED};
use testkit::processes::http::Body;
use testkit::processes::service::ServiceProcess;

use crate::baselines::constant;
use crate::benchmark::Benchmark;
use crate::environment::BenchEnvironment;
use crate::get_benchmark::response_bytes;
use crate::load::{self, CLIENTS};
use crate::report::Target;
use crate::wrk::Requests;

const ADDRESSES: &str = "/v1/addresses?query=";
const THREE_WORDS: &str = "/v1/locations/three-words?query=";
/// Number of places that are read first for their names and words.
const PLACE_COUNT: usize = 10_000;
/// Number of different coordinates that are looked up.
const POINT_COUNT: usize = 50_000;
/// Number of paths of each kind that are served from the cache.
const CACHED_COUNT: usize = 100;

/// Measures address search, nearest places and three-word locations. The cache is flushed before each run, except the
/// last ones: most lookups read the gazetteer.
pub fn run(env: &BenchEnvironment) -> Result<()> {
    let (service, mut random) = (env.system()?, Random(SEED));
    let token = service.token(None);
    let places = points(&mut random, PLACE_COUNT)
        .iter()
        .map(|path| Ok(service.get(path, &token)?.json))
        .collect::<Result<Vec<_>>>()?;
    let names = texts(&places, "/address/name");
    let prefixes: BTreeSet<String> =
        names.iter().flat_map(|name| (3..7).map(|letters| name.chars().take(letters).collect())).collect();
    let queries: BTreeSet<String> = names.into_iter().chain(texts(&places, "/address/postcode")).collect();
    let addresses = paths(ADDRESSES, queries);
    let nearest = points(&mut random, POINT_COUNT);
    let three_words = paths(THREE_WORDS, texts(&places, "/threeWords"));
    let cached = [&addresses, &nearest, &three_words]
        .into_iter()
        .flat_map(|paths| paths[..CACHED_COUNT.min(paths.len())].to_owned())
        .collect();
    let target = Target::MaxCpuOverBaseline(60.0);
    for (name, paths, flush, target) in [
        ("address search", addresses, true, target),
        ("address search, first letters", paths(ADDRESSES, prefixes), true, Target::None),
        ("nearest place", nearest, true, target),
        ("three words", three_words, true, target),
        ("all of these, from the cache", cached, false, Target::None),
    ] {
        measure(env, service, &token, &format!("places: {name}"), &paths, flush, target)?;
    }
    Ok(())
}

fn measure(
    env: &BenchEnvironment,
    service: &ServiceProcess,
    token: &str,
    name: &str,
    paths: &[String],
    flush: bool,
    target: Target,
) -> Result<()> {
    let requests = Requests::get(env.temp_path("requests"), token, &[], paths)?;
    let bytes = response_bytes(service, token, paths)?;
    let baseline = constant::response(env, bytes, &requests, CLIENTS)?;
    let run = || {
        if flush {
            service.send("POST", "/v1/cache", token, &Body::Json(json!({"flush": true})))?;
        }
        load::send(env, service, &requests, CLIENTS)
    };
    Benchmark { name: name.to_owned(), service, run: Box::new(run), baselines: vec![baseline], target }
        .measure(env)
        .map(drop)
}

/// Returns lookups of random points in or near Great Britain.
fn points(random: &mut Random, count: usize) -> Vec<String> {
    let point = |_| {
        let (lat, lon) = (random.between((50.2, 58.5)), random.between((-5.5, 1.5)));
        format!("/v1/locations/coordinates?lat={lat:.6}&lon={lon:.6}")
    };
    (0..count).map(point).collect()
}

/// Returns the strings at a JSON pointer.
fn texts(responses: &[Value], pointer: &str) -> Vec<String> {
    responses.iter().filter_map(|json| json.pointer(pointer)?.as_str()).map(str::to_owned).collect()
}

fn paths(prefix: &str, texts: impl IntoIterator<Item = String>) -> Vec<String> {
    texts.into_iter().map(|text| format!("{prefix}{}", percent_encode(&text))).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_encoded_and_the_same_in_every_run() {
        let generate = || points(&mut Random(7), 3);
        assert_eq!(generate(), generate());
        assert!(generate()[0].starts_with("/v1/locations/coordinates?lat=5"), "{:?}", generate());
        assert_eq!(percent_encode("HR4 9AR é"), "HR4%209AR%20%C3%A9");
    }
}
