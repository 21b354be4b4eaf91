//! Scenarios of system's places, which the embedded gazetteer answers: many different questions, and the cache is
//! cleared before each run, so that most are answered from the gazetteer.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::Result;
use serde_json::{Value, json};

use super::limits;
use super::report::Target;
use super::searches::{CLIENTS, size};
use super::stage::{Row, Stage};
use super::wrk::Requests;
use crate::client::Body;
use crate::random::{Random, SEED};

/// So many places are asked for first, to know names and words.
const PLACES: usize = 10_000;
/// And so many coordinates then.
const POINTS: usize = 50_000;
/// So many of each are asked again, which the cache answers.
const AGAIN: usize = 100;

/// Address search, nearest place, three words.
pub fn run(stage: &Stage) -> Result<()> {
    let (service, mut random) = (stage.system()?, Random(SEED));
    let token = service.token(None);
    let some = points(&mut random, PLACES).into_iter();
    let places = some.map(|path| Ok(service.get(&path, &token)?.json)).collect::<Result<Vec<_>>>()?;
    let names = texts(&places, "/address/name");
    let codes = texts(&places, "/address/postcode");
    let begun = names.iter().flat_map(|name| (3..7).map(|letters| name.chars().take(letters).collect()));
    let (begun, search): (BTreeSet<String>, _) = (begun.collect(), "/v1/addresses?query=");
    let whole: BTreeSet<String> = names.iter().cloned().chain(codes).collect();
    let (whole, near) = (paths(search, whole), points(&mut random, POINTS));
    let words = paths("/v1/locations/three-words?query=", texts(&places, "/threeWords"));
    let again =
        [&whole, &near, &words].into_iter().flat_map(|paths| paths[..AGAIN.min(paths.len())].to_owned());
    let (again, goal) = (again.collect(), Target::CpuOver(60.0));
    for (name, paths, clear, target) in [
        ("address search", whole, true, goal),
        ("address search, first letters", paths(search, begun), true, Target::None),
        ("nearest place", near, true, goal),
        ("three words", words, true, goal),
        ("all of these, asked again and again", again, false, Target::None),
    ] {
        let requests = Requests::get(stage.path("requests"), &token, &paths)?;
        let limit = limits::constant(stage, size(service, &token, &paths)?, &requests, CLIENTS)?;
        let run = || {
            if clear {
                service.send("POST", "/v1/cache", &token, &Body::Json(json!({"flush": true})))?;
            }
            service.load(&requests, CLIENTS, stage.seconds)
        };
        stage.measure(Row {
            name: format!("places: {name}"),
            service,
            run: Box::new(run),
            limits: vec![limit],
            target,
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
