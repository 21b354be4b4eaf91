//! The words of the three-word grid: by number, and as a map from word to number.

use std::fs;

use fst::MapBuilder;

use crate::{Result, write};

/// Bytes of the longest word.
const WIDTH: usize = 9;

pub fn write_all() -> Result {
    let list = fs::read_to_string("data/words.txt")?;
    let mut rows = Vec::new();
    let mut numbers = MapBuilder::memory();
    for (word, number) in list.lines().zip(0..) {
        rows.extend(format!("{word:WIDTH$}").bytes());
        numbers.insert(word, number)?;
    }
    write("words", &rows)?;
    write("word_numbers", &numbers.into_inner()?)
}
