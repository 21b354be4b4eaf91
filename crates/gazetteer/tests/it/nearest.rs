//! Nearest places and postcodes, and addresses by id.

use gazetteer::{ResolvedAddress, SearchOptions, distance_km};

use crate::{GAZETTEER, rows};

fn nearest(lat: f64, lon: f64) -> ResolvedAddress {
    GAZETTEER.nearest(lat, lon)
}

fn distance_km_to(resolved: &ResolvedAddress, lat: f64, lon: f64) -> f64 {
    distance_km((lat, lon), (resolved.lat, resolved.lon))
}

#[test]
fn postcodes_agree_with_the_reference_reader() {
    let mut compared = 0;
    for row in rows(include_str!("nearest.csv")) {
        let [lat, lon] = [0, 1].map(|column: usize| row[column].parse().unwrap());
        let address = nearest(lat, lon).address;
        assert_eq!([address.postcode, address.region_iso], row[2..], "{row:?}");
        compared += 1;
    }
    assert!(compared >= 100);
}

#[test]
fn finds_place_city_and_postcode_of_a_rural_point() {
    let ResolvedAddress { address, lat, lon, distance_km } = nearest(52.2, -3.4);
    assert_eq!((lat, lon), (52.2, -3.4));
    let newbridge = GAZETTEER.search(&SearchOptions {
        text: Some("Newbridge on Wye"),
        limit: 1,
        ..SearchOptions::default()
    });
    let newbridge = GAZETTEER.find(&newbridge[0].id).unwrap();
    assert_eq!(
        (distance_km, newbridge.distance_km),
        (Some(distance_km_to(&newbridge, 52.2, -3.4)), Some(0.0))
    );
    assert_eq!(address.name, "Newbridge on Wye");
    assert_eq!(address.city, "Llandrindod Wells");
    assert!(address.postcode.starts_with("LD1 "));
    assert_eq!([address.region, address.region_iso], ["Powys", "GB-POW"]);
    assert_eq!([address.country_name, address.country_iso], ["United Kingdom", "GB"]);
}

#[test]
fn region_near_a_border_is_that_of_the_postcode() {
    // Chepstow (Wales) and Tutshill (England), then Hay (Wales) and Cusop (England).
    for (lat, lon, region) in [
        (51.6419, -2.6760, "GB-MON"),
        (51.6530, -2.6600, "GB-GLS"),
        (52.0745, -3.1260, "GB-POW"),
        (52.0690, -3.1100, "GB-HEF"),
    ] {
        assert_eq!(nearest(lat, lon).address.region_iso, region, "{lat} {lon}");
    }
}

#[test]
fn ireland_and_crown_dependencies_have_districts() {
    for (lat, lon, name, country, region, postcode) in [
        (53.2745, -9.0490, "Galway", "IE", "IE-G", "H91"),
        (54.5970, -5.9300, "Belfast", "GB", "GB-BFS", "BT"),
        (54.1550, -4.4830, "Douglas", "IM", "", "IM"),
        (49.1880, -2.1050, "Saint Helier", "JE", "", "JE"),
        // Units in Scotland are within 30 km but must not match.
        (55.2040, -6.2400, "Ballycastle", "GB", "GB-CCG", "BT54"),
    ] {
        let address = nearest(lat, lon).address;
        assert_eq!([&*address.name, &address.country_iso, &address.region_iso], [name, country, region]);
        assert!(address.postcode.starts_with(postcode), "{address:?}");
    }
}

#[test]
fn points_far_from_all_places_have_no_country() {
    // 10 km off Galway, 45 km off Cornwall, and in the desert near a town.
    for (lat, lon, country) in
        [(50.9, 1.9, "FR"), (40.7, -74.0, "US"), (53.2, -9.2, "IE"), (50.42, -5.7, "GB"), (27.3, 2.5, "DZ")]
    {
        assert_eq!(nearest(lat, lon).address.country_iso, country, "{lat} {lon}");
    }
    // The Gulf of Guinea, the Atlantic, both poles, the Sahara and Rockall.
    for (lat, lon) in [(0.0, 0.0), (45.0, -35.0), (90.0, 0.0), (-90.0, 0.0), (25.0, 2.0), (57.6, -13.69)] {
        let ResolvedAddress { address, distance_km, .. } = nearest(lat, lon);
        assert!(distance_km.unwrap() > 50.0, "{lat} {lon}");
        assert_eq!(address, gazetteer::Address { name: address.name.clone(), ..Default::default() });
        assert_ne!(address.name, "");
    }
    assert_eq!(nearest(-17.0, 180.0).address, nearest(-17.0, -180.0).address);
    assert_eq!(nearest(90.0, 0.0).address, nearest(90.0, 123.0).address);
    nearest(f64::NAN, f64::INFINITY);
}

/// Villages and townlands on both sides of the Irish border, with points of the roads that cross it.
#[test]
fn points_near_the_irish_border_are_in_the_right_state() {
    for row in rows(include_str!("irish_border.csv")) {
        let [lat, lon] = [1, 2].map(|column: usize| row[column].parse().unwrap());
        let address = nearest(lat, lon).address;
        assert_eq!(address.country_iso, row[3], "{row:?}");
        assert!(address.region_iso.starts_with(&row[3]), "{row:?} {address:?}");
    }
}

#[test]
fn distant_points_have_no_postcode() {
    // The North Sea, and Rockall.
    for (lat, lon) in [(55.5, 2.5), (57.6, -13.69)] {
        assert_eq!(nearest(lat, lon).address.postcode, "", "{lat} {lon}");
    }
}

#[test]
fn finds_addresses_by_id() {
    let found = |id| GAZETTEER.find(id).unwrap();
    let hereford = found("place:2647074");
    assert!(distance_km((hereford.lat, hereford.lon), (52.05684, -2.71482)) < 0.1);
    assert_eq!([&*hereford.address.name, &hereford.address.city], ["Hereford", "Hereford"]);
    assert!(hereford.address.postcode.starts_with("HR"));
    let district = found("district:HR1").address;
    assert_eq!([&*district.city, &district.postcode, &district.region_iso], ["Hereford", "HR1", "GB-HEF"]);
    let region = found("region:IE-MO").address;
    assert_eq!([&*region.name, &region.region, &region.country_iso], ["Mayo", "Mayo", "IE"]);
    assert_eq!(found("district:W12").address.country_iso, "GB");
    assert_eq!(found("district:IE-W12").address.country_iso, "IE");
    for id in [
        "",
        "place:",
        "place:1",
        "place:x",
        "place:+2643743",
        "place:02643743",
        "postcode:HR4 9AR",
        "district:HR1 ",
        "postcode:HR4",
        "postcode:HR49ZZ",
        "postcode:é1a",
        "district:HR",
        "region:GB",
        "x:HR1",
    ] {
        assert_eq!(GAZETTEER.find(id), None, "{id}");
    }
    for (id, is_container) in
        [("region:GB-HEF", true), ("district:HR1", true), ("place:2647074", false), ("", false)]
    {
        assert_eq!(GAZETTEER.is_container(id), is_container, "{id}");
    }
}

#[test]
fn computes_distances() {
    assert!((distance_km((52.0, 0.0), (53.0, 0.0)) - 111.195).abs() < 0.001);
    assert!((distance_km((0.0, 0.0), (0.0, 180.0)) - 20_015.1).abs() < 0.1);
    assert!(distance_km((10.0, 180.0), (10.0, -180.0)) < 1e-6);
}
