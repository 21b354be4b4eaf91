//! Writes the words of the three-word grid, and a map from word to number.

use std::fs;

use fst::MapBuilder;

use crate::{Result, write_table};

/// Length of the longest word in bytes.
const WORD_BYTES: usize = 9;

/// Writes `words` and `word_numbers`.
pub(crate) fn write_all() -> Result {
    let list = fs::read_to_string("data/words.txt")?;
    let mut rows = Vec::new();
    let mut numbers = MapBuilder::memory();
    for (word, number) in list.lines().zip(0..) {
        rows.extend(format!("{word:WORD_BYTES$}").bytes());
        numbers.insert(word, number)?;
    }
    write_table("words", &rows)?;
    write_table("word_numbers", &numbers.into_inner()?)
}
