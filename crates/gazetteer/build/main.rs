//! Converts the files of `data/` to the tables that the library embeds (`src/tables.rs`).
//!
//! The tables have rows of fixed size and are read in place, so opening the gazetteer takes no time and memory holds
//! only the pages in use.

#![allow(clippy::cast_possible_truncation, reason = "columns fit ten times as many rows and bytes")]
#![warn(unreachable_pub)]

mod countries;
mod entities;
#[path = "../src/fold.rs"]
mod fold;
#[path = "../src/layout.rs"]
mod layout;
mod names;
mod postcodes;
mod qualifiers;
mod source;
#[expect(dead_code, reason = "only the library computes distances")]
#[path = "../src/sphere.rs"]
mod sphere;
mod tables;

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use fst::MapBuilder;

/// Length of the longest word in bytes.
const WORD_BYTES: usize = 9;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result {
    for path in ["build", "data", "src/fold.rs", "src/layout.rs", "src/sphere.rs"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let source = source::SourceData::read()?;
    let entities = entities::rank(&source);
    tables::write_all(&source, &entities)?;
    names::write_all(&source, &entities)?;
    qualifiers::write_all(&source)?;
    countries::write_all(&source)?;
    postcodes::write_all(&source)?;
    write_words()
}

/// Writes the words of the three-word grid, and a map from word to number: `words` and `word_numbers`.
fn write_words() -> Result {
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

/// Writes a table to `OUT_DIR`.
fn write_table(name: &str, bytes: &[u8]) -> Result {
    Ok(fs::write(PathBuf::from(env::var("OUT_DIR")?).join(name), bytes)?)
}
