//! Scenarios of system's places, which the embedded gazetteer answers: many different questions, and the cache is
//! cleared before each run, so that most are answered from the gazetteer.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::Result;
use serde_json::{Value, json};

use super::limits;
use super::random::{Random, SEED};
use super::report::Target;
use super::searches::{CLIENTS, size};
use super::stage::{Row, Stage};
use super::wrk::Requests;
use crate::client::Body;

/// So many places are asked for first, to know names and words.
const PLACES: usize = 4_000;
/// And so many coordinates then.
const POINTS: usize = 40_000;

/// Address search, nearest place, three words.
pub fn run(stage: &Stage) -> Result<()> {
    let (service, mut random) = (stage.system()?, Random(SEED));
    let token = service.token(None);
    let some = points(&mut random, PLACES).into_iter();
    let places = some.map(|path| Ok(service.get(&path, &token)?.json)).collect::<Result<Vec<_>>>()?;
    let names = texts(&places, "/address/name");
    let codes = texts(&places, "/address/postcode");
    // Whole names, what they begin with, postcodes and their districts.
    let begun =
        names.iter().flat_map(|name| (4..name.chars().count()).map(|end| name.chars().take(end).collect()));
    let districts = codes.iter().filter_map(|code| code.split(' ').next()).map(str::to_owned);
    let asked: BTreeSet<String> =
        names.iter().cloned().chain(begun).chain(codes.clone()).chain(districts).collect();
    for (name, paths) in [
        ("address search", paths("/v1/addresses?query=", asked)),
        ("nearest place", points(&mut random, POINTS)),
        ("three words", paths("/v1/locations/three-words?query=", texts(&places, "/threeWords"))),
    ] {
        let requests = Requests::get(stage.path("requests"), &token, &paths)?;
        let limit = limits::constant(stage, size(service, &token, &paths)?, &requests, CLIENTS)?;
        let run = || {
            service.send("POST", "/v1/cache", &token, &Body::Json(json!({"flush": true})))?;
            service.load(&requests, CLIENTS, stage.seconds)
        };
        stage.measure(Row {
            name: format!("places: {name}"),
            service,
            run: Box::new(run),
            limits: vec![limit],
            target: Target::CpuOver(60.0),
        })?;
    }
    Ok(())
}

/// Anywhere in Great Britain or the sea around it.
fn points(random: &mut Random, count: usize) -> Vec<String> {
    let point = |_| {
        let (lat, lon) = (random.between((50.2, 58.5)), random.between((-5.5, 1.5)));
        format!("/v1/locations/coordinates?lat={lat:.6}&lon={lon:.6}")
    };
    (0..count).map(point).collect()
}

/// What stands at this pointer in each of the answers that have it.
fn texts(answers: &[Value], pointer: &str) -> Vec<String> {
    answers.iter().filter_map(|answer| answer.pointer(pointer)?.as_str()).map(str::to_owned).collect()
}

fn paths(before: &str, texts: impl IntoIterator<Item = String>) -> Vec<String> {
    texts.into_iter().map(|text| format!("{before}{}", encode(&text))).collect()
}

/// Percent-encoded, as a query's value.
fn encode(text: &str) -> String {
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
    fn questions_are_well_formed_and_the_same_in_every_run() {
        let ask = || points(&mut Random(7), 3);
        assert_eq!(ask(), ask());
        assert!(ask()[0].starts_with("/v1/locations/coordinates?lat=5"), "{:?}", ask());
        assert_eq!(encode("HR4 9AR é"), "HR4%209AR%20%C3%A9");
    }
}
