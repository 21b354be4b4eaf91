//! The three-word grid: test vectors, round trips and suggestions.

use gazetteer::{Grid, distance_km};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

use crate::rows;

#[test]
fn word_list_is_frozen() {
    let digest = Sha256::digest(include_bytes!("../../data/words.txt"));
    let hex = digest.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    assert_eq!(hex, "c848c335cf2407bb7623447050f38fc49bd1364c747241b63d12a22347491f45");
}

#[test]
fn agrees_with_the_reference_implementation() {
    let grid = Grid::open();
    let vectors = rows(include_str!("../../data/threewords_vectors.csv"));
    assert_eq!(vectors.len(), 100);
    for row in vectors {
        let degrees = |column: usize| row[column].parse::<f64>().unwrap() / 1e7;
        assert_eq!(grid.encode(degrees(1), degrees(2)), row[7], "{row:?}");
        assert_eq!(grid.decode(&row[7]).unwrap(), (degrees(8), degrees(9)), "{row:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn encoded_points_decode_to_their_cell(lat in -90.0..=90.0, lon in -180.0..=180.0) {
        let grid = Grid::open();
        let words = grid.encode(lat, lon);
        let centre = grid.decode(&words).unwrap();
        prop_assert!(distance_km((lat, lon), centre) < 0.0075);
        prop_assert_eq!(grid.encode(centre.0, centre.1), words);
    }

    #[test]
    fn decodes_or_rejects_any_text(text in "\\PC{0,40}", words in "[a-z]{1,12}[. ][a-z]{1,12}[. ][a-z]{1,12}") {
        for text in [text, words] {
            if let Err(unknown) = Grid::open().decode(&text) {
                prop_assert!(unknown.suggestions.len() <= 3);
                prop_assert!(unknown.suggestions.iter().all(|words| Grid::open().decode(words).is_ok()));
            }
        }
    }
}

#[test]
fn accepts_any_case_and_separators() {
    let grid = Grid::open();
    let point = grid.decode("bindery.airstrip.tailpipe").unwrap();
    for text in ["///bindery.airstrip.tailpipe", "Bindery  AIRSTRIP tailpipe", " bindery,airstrip/tailpipe. "]
    {
        assert_eq!(grid.decode(text), Ok(point), "{text}");
    }
    for text in
        ["", "bindery", "bindery.airstrip", "bindery.airstrip.tailpipe.bindery", "a.b.\0", &"a.".repeat(1000)]
    {
        assert_eq!(grid.decode(text).unwrap_err().suggestions, [""; 0], "{text}");
    }
}

#[test]
fn suggests_similar_spellings() {
    let grid = Grid::open();
    let suggestions = |text| grid.decode(text).unwrap_err().suggestions;
    // An address in Powys comes before addresses elsewhere.
    assert_eq!(suggestions("bindrey.airstrip.tailpipe")[0], "bindery.airstrip.tailpipe");
    assert_eq!(suggestions("bindrey.airstirp.tailpiep")[0], "bindery.airstrip.tailpipe");
    assert_eq!(suggestions("bindery.airstrip.tailpiep")[0], "bindery.airstrip.tailpipe");
    assert!(suggestions("qxqxqxqx.airstrip.tailpipe").is_empty());
}

#[test]
fn accepts_coordinates_out_of_range() {
    let grid = Grid::open();
    for (lat, lon) in [(f64::NAN, 0.0), (f64::INFINITY, f64::NEG_INFINITY), (-1e300, 1e300), (91.0, 181.0)] {
        assert!(grid.decode(&grid.encode(lat, lon)).is_ok());
    }
    assert_eq!(grid.encode(10.0, 180.0), grid.encode(10.0, -180.0));
}
