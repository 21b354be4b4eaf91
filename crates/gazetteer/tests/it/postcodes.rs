//! Search by postcode in various spellings.

use gazetteer::{HitKind, SearchOptions};

use crate::{GAZETTEER, rows, search, texts};

#[test]
fn units_agree_with_the_reference_reader() {
    let file = rows(include_str!("units.csv"));
    assert_eq!(file.len(), 300);
    for row in file {
        let hits = search(&row[0].to_lowercase().replace(' ', ""));
        assert_eq!((texts(&hits), hits[0].kind), (vec![row[0].as_str()], HitKind::Postcode));
        let found = GAZETTEER.find(&hits[0].id).unwrap();
        assert_eq!([found.lat.to_string(), found.lon.to_string(), found.address.region_iso], row[1..]);
        assert_eq!(found.address.postcode, row[0]);
    }
}

#[test]
fn finds_codes_and_prefixes_with_any_spacing() {
    for text in ["hr4 9ar", "HR49AR", " hr4  9AR ", "HR 49AR", "HR4 9 AR", "H R 4 9 A R", "Hereford HR4 9AR"]
    {
        let hits = search(text);
        assert_eq!(hits[0].id, "postcode:HR49AR", "{text}");
        assert_eq!(hits[0].description, "Hereford, Herefordshire, United Kingdom");
    }
    for (text, district) in [
        ("HR 4", "district:HR4"),
        ("h 91", "district:IE-H91"),
        ("D4", "district:IE-D04"),
        ("D2", "district:IE-D02"),
        ("Hereford HR 4", "district:HR4"),
        ("Galway H 91 E2K3", "district:IE-H91"),
        ("Dublin D4", "district:IE-D04"),
    ] {
        assert_eq!(search(text)[0].id, district, "{text}");
    }
    assert!(search("D2").iter().skip(1).all(|hit| hit.text.starts_with("D2")));
    let hits = search("HR1");
    assert_eq!((texts(&hits), hits[0].kind, &*hits[0].id), (vec!["HR1"], HitKind::Container, "district:HR1"));
    assert_eq!(hits[0].description, "Hereford, Herefordshire, United Kingdom");
    assert_eq!(texts(&search("hr"))[..9], ["HR1", "HR2", "HR3", "HR4", "HR5", "HR6", "HR7", "HR8", "HR9"]);
    assert_eq!(texts(&search("B1"))[..3], ["B1", "B10", "B11"]);
    assert_eq!(search("HR4 9"), search("hr49"));
    assert!(search("HR4 9").iter().all(|hit| hit.text.starts_with("HR4 9")));
    assert!(search("HR49A").iter().all(|hit| hit.text.starts_with("HR4 9A")));
    assert!(search("B1 1").iter().all(|hit| hit.text.starts_with("B1 1")));
    assert_eq!(texts(&search("B11")), ["B11"]);
    assert_eq!(texts(&search("w1a 1aa")), ["W1A 1AA"]);
    assert_eq!(texts(&search("SWIA OAA")), ["SW1A 0AA"]);
}

#[test]
fn unknown_units_match_their_district() {
    for (text, district) in [
        ("HR4 9ZZ", "HR4"),
        ("HR4 0", "HR4 0"),
        ("BT1 1AA", "BT1"),
        ("JE2 3AB", "JE2"),
        ("H91 E2K3", "H91"),
        ("h91e2k3", "H91"),
        ("D6W XY00", "D6W"),
        ("W12 E2K3", "W12"),
    ] {
        assert!(texts(&search(text))[0].starts_with(district), "{text}");
    }
    assert_eq!(search("W12 E2K3")[0].id, "district:IE-W12");
    assert!(search("ZZ99 9ZZ").is_empty());
}

#[test]
fn short_names_match_places() {
    for (text, name) in
        [("Ely", "Ely"), ("Hay", "Hay"), ("Rye", "Rye"), ("Bath", "Bath"), ("Wem", "Wem"), ("Usk", "Usk")]
    {
        assert_eq!(search(text)[0].text, name);
    }
}

#[test]
fn districts_contain_places_and_all_postcodes() {
    let mut all = Vec::new();
    loop {
        let page = SearchOptions {
            within: Some("district:HR1"),
            limit: 100,
            offset: all.len(),
            ..SearchOptions::default()
        };
        match GAZETTEER.search(&page) {
            hits if hits.is_empty() => break,
            hits => all.extend(hits),
        }
    }
    let (places, units) = all.split_at(all.iter().position(|hit| hit.kind == HitKind::Postcode).unwrap());
    assert_eq!(places[0].text, "Hereford");
    assert!(places.iter().all(|hit| hit.kind == HitKind::Place));
    assert_eq!(units.len(), 1115);
    assert!(
        units.is_sorted_by(|a, b| a.text < b.text) && units.iter().all(|unit| unit.text.starts_with("HR1 "))
    );
}
