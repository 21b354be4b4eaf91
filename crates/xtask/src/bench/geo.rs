//! Places: first questions, which the embedded gazetteer answers, and the same again, which the cache does.

use std::collections::HashMap;
use std::fmt::Write;

use anyhow::Result;
use serde_json::Value;

use super::measure::Measured;
use super::questions::{CONSTANT, render};
use super::random::Random;
use crate::stop::Stop;

/// What is asked of one operation in a row: a name for it, the operation as the log calls it, the paths.
type Questions = (&'static str, &'static str, Vec<String>);

/// Asks so many questions of each kind and prints what they took.
pub fn run(requests: usize, stop: &Stop) -> Result<()> {
    let service = Measured::start("system", None, stop)?;
    let at_rest = service.resident();
    let questions = ask(&service, requests, stop)?;
    let (start_up, resident) = (service.start_up, service.resident());
    let mut times = service.finish()?;
    println!("{}", report(&questions, &mut times));
    println!("Milliseconds of server time, and how many times a constant answer's median that is.");
    println!("From start to first answer {} ms.", start_up.as_millis());
    if let Some((before, after)) = at_rest.zip(resident) {
        println!("Resident memory {before} MiB at the start, {after} MiB after all of this.");
    }
    Ok(())
}

/// Asks everything, each kind in a row; later kinds are made of what earlier ones answered.
fn ask(service: &Measured, requests: usize, stop: &Stop) -> Result<Vec<Questions>> {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut asked: Vec<Questions> = vec![(CONSTANT, "none", vec!["/healthz".into(); requests])];
    answers(service, &asked[0].2, stop)?;

    let britain = points(&mut random, requests, (50.2, 58.5), (-5.5, 1.5));
    let world = points(&mut random, requests, (-60.0, 75.0), (-180.0, 180.0));
    let places = answers(service, &britain, stop)?;
    answers(service, &world, stop)?;
    asked.push(("coordinates in Britain", "find_location_by_coordinates", britain));
    asked.push(("coordinates anywhere", "find_location_by_coordinates", world));

    let words = paths("/v1/locations/three-words?query=", &texts(&places, "/threeWords"));
    answers(service, &words, stop)?;
    asked.push(("three words", "find_location_by_words", words));

    let (names, codes) = (texts(&places, "/address/name"), texts(&places, "/address/postcode"));
    let districts: Vec<_> = codes.iter().filter_map(|code| code.split(' ').next()).collect();
    let search = "/v1/addresses?query=";
    let mut found = Vec::new();
    for (kind, texts) in [
        ("search: a name", names.clone()),
        ("search: its beginning", names.iter().map(|name| name.chars().take(4).collect()).collect()),
        ("search: misspelt", names.iter().map(|name| misspell(name, &mut random)).collect()),
        ("search: a postcode", codes.clone()),
        ("search: a district", districts.iter().map(ToString::to_string).collect()),
    ] {
        let queries = paths(search, &texts);
        found.extend(answers(service, &queries, stop)?);
        asked.push((kind, "search_addresses", queries));
    }
    let ids: Vec<_> = texts(&found, "/id").into_iter().take(requests).collect();
    let contents = paths("/v1/addresses?limit=100&id=", &containers(&found));
    answers(service, &contents, stop)?;
    asked.push(("search: in a container", "search_addresses", contents));
    let by_id = paths("/v1/locations/address?id=", &ids);
    answers(service, &by_id, stop)?;
    asked.push(("address by id", "find_location_by_address", by_id));

    for (kind, operation, path) in
        [("countries", "list_countries", "/v1/countries"), ("regions", "list_regions", "/v1/regions")]
    {
        let same = vec![path.to_owned(); requests];
        answers(service, &same, stop)?;
        asked.push((kind, operation, same));
    }
    let again: Vec<_> = asked[1].2.iter().chain(&asked[4].2).cloned().collect();
    let (points, names) = again.split_at(asked[1].2.len());
    answers(service, points, stop)?;
    answers(service, names, stop)?;
    asked.push(("coordinates again", "find_location_by_coordinates", points.to_vec()));
    asked.push(("search: a name again", "search_addresses", names.to_vec()));
    Ok(asked)
}

fn answers(service: &Measured, paths: &[String], stop: &Stop) -> Result<Vec<Value>> {
    stop.check()?;
    paths.iter().map(|path| service.get(path)).collect()
}

fn report(asked: &[Questions], times: &mut HashMap<String, Vec<f64>>) -> String {
    let kinds = asked.iter().map(|(kind, operation, paths)| {
        let all = times.entry((*operation).to_owned()).or_default();
        (*kind, all.drain(..paths.len().min(all.len())).collect())
    });
    render(&kinds.collect::<Vec<_>>(), 3)
}

fn points(random: &mut Random, count: usize, lat: (f64, f64), lon: (f64, f64)) -> Vec<String> {
    let point = |_| {
        let (lat, lon) = (random.between(lat), random.between(lon));
        format!("/v1/locations/coordinates?lat={lat:.6}&lon={lon:.6}")
    };
    (0..count).map(point).collect()
}

/// What stands at this pointer in each of the answers that have it.
fn texts(answers: &[Value], pointer: &str) -> Vec<String> {
    answers.iter().filter_map(|answer| answer.pointer(pointer)?.as_str()).map(str::to_owned).collect()
}

fn containers(answers: &[Value]) -> Vec<String> {
    let containers = answers.iter().filter(|answer| answer["type"] == "container").cloned();
    texts(&containers.collect::<Vec<_>>(), "/id")
}

fn paths(before: &str, texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| format!("{before}{}", encode(text))).collect()
}

/// Two neighbouring letters change places.
fn misspell(name: &str, random: &mut Random) -> String {
    let mut letters: Vec<char> = name.chars().collect();
    let places = letters.len().saturating_sub(2);
    if places > 1 {
        let at = 1 + random.below(places - 1);
        letters.swap(at, at + 1);
    }
    letters.into_iter().collect()
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
        let ask = || points(&mut Random(7), 3, (50.0, 51.0), (-5.0, -4.0));
        assert_eq!(ask(), ask());
        assert!(ask()[0].starts_with("/v1/locations/coordinates?lat=50."), "{:?}", ask());
        assert_eq!(encode("HR4 9AR é"), "HR4%209AR%20%C3%A9");
        assert_ne!(misspell("Hereford", &mut Random(7)), "Hereford");
        assert_eq!(misspell("Ely", &mut Random(7)), "Ely");
    }

    #[test]
    fn each_kind_has_its_own_times() {
        let asked: Vec<Questions> = vec![
            (CONSTANT, "none", vec!["/".into(); 2]),
            ("a", "o", vec!["/".into(); 2]),
            ("b", "o", vec!["/".into()]),
        ];
        let mut times =
            HashMap::from([("none".to_owned(), vec![0.1, 0.1]), ("o".to_owned(), vec![0.2, 0.2, 0.5])]);
        let text = report(&asked, &mut times);
        assert!(text.contains("a                  2      0.200   0.200      2.0"), "{text}");
        assert!(text.contains("b                  1      0.500   0.500      5.0"), "{text}");
    }
}
