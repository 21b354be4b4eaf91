//! Turns the files of `data/` into what the library embeds: tables of fixed rows that are read where they lie, so
//! that opening the gazetteer costs nothing and memory holds only the pages that are used. Layouts: `src/tables.rs`.

// Rows and bytes are counted in columns that are wide enough for ten times as many.
#![allow(clippy::cast_possible_truncation)]

mod counties;
mod entities;
#[path = "../src/fold.rs"]
mod fold;
mod names;
mod postcodes;
mod qualifiers;
mod source;
#[expect(dead_code, reason = "distances are the library's")]
#[path = "../src/sphere.rs"]
mod sphere;
mod statics;
mod tables;
mod tree;
mod words;

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// "None" in a column of 16 bits.
const NONE: u16 = u16::MAX;

fn main() -> Result {
    for path in ["build", "data", "src/fold.rs", "src/sphere.rs"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let source = source::Source::read()?;
    let entities = entities::number(&source);
    tables::write_all(&source, &entities)?;
    names::write_all(&entities)?;
    tree::write_all(&entities)?;
    qualifiers::write_all(&source)?;
    statics::write_all(&source)?;
    postcodes::write_all(&source)?;
    words::write_all()
}

fn write(name: &str, bytes: &[u8]) -> Result {
    Ok(fs::write(PathBuf::from(env::var("OUT_DIR")?).join(name), bytes)?)
}
