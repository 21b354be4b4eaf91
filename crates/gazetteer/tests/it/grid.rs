//! Three words: the vectors of the reference, there and back, and what is said of misspelt ones.

use gazetteer::{Grid, distance_km};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

use crate::rows;

#[test]
fn words_are_frozen() {
    let digest = Sha256::digest(include_bytes!("../../data/words.txt"));
    let hex = digest.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    assert_eq!(hex, "c848c335cf2407bb7623447050f38fc49bd1364c747241b63d12a22347491f45");
}

#[test]
fn as_the_reference() {
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
    fn there_and_back(lat in -90.0..=90.0, lon in -180.0..=180.0) {
        let grid = Grid::open();
        let words = grid.encode(lat, lon);
        let centre = grid.decode(&words).unwrap();
        prop_assert!(distance_km((lat, lon), centre) < 0.0075);
        prop_assert_eq!(grid.encode(centre.0, centre.1), words);
    }

    #[test]
    fn any_text_is_read(text in "\\PC{0,40}", words in "[a-z]{1,12}[. ][a-z]{1,12}[. ][a-z]{1,12}") {
        for text in [text, words] {
            if let Err(unknown) = Grid::open().decode(&text) {
                prop_assert!(unknown.suggestions.len() <= 3);
                prop_assert!(unknown.suggestions.iter().all(|words| Grid::open().decode(words).is_ok()));
            }
        }
    }
}

#[test]
fn ways_to_write_them() {
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
fn near_spellings() {
    let grid = Grid::open();
    let suggestions = |text| grid.decode(text).unwrap_err().suggestions;
    // Powys before where others are.
    assert_eq!(suggestions("bindrey.airstrip.tailpipe")[0], "bindery.airstrip.tailpipe");
    assert_eq!(suggestions("bindrey.airstirp.tailpiep")[0], "bindery.airstrip.tailpipe");
    assert_eq!(suggestions("bindery.airstrip.tailpiep")[0], "bindery.airstrip.tailpipe");
    assert!(suggestions("qxqxqxqx.airstrip.tailpipe").is_empty());
}

#[test]
fn out_of_range_is_harmless() {
    let grid = Grid::open();
    for (lat, lon) in [(f64::NAN, 0.0), (f64::INFINITY, f64::NEG_INFINITY), (-1e300, 1e300), (91.0, 181.0)] {
        assert!(grid.decode(&grid.encode(lat, lon)).is_ok());
    }
    assert_eq!(grid.encode(10.0, 180.0), grid.encode(10.0, -180.0));
}
