//! Converts the files of `data/` to the tables that the library embeds (`src/tables.rs`).
//!
//! The tables have rows of fixed size and are read in place, so opening the gazetteer takes no time and memory holds
//! only the pages in use.

#![allow(clippy::cast_possible_truncation, reason = "columns fit ten times as many rows and bytes")]
#![warn(unreachable_pub)]

mod counties;
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
mod tree;
mod words;

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result {
    for path in ["build", "data", "src/fold.rs", "src/layout.rs", "src/sphere.rs"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let source = source::SourceData::read()?;
    let entities = entities::rank(&source);
    tables::write_all(&source, &entities)?;
    names::write_all(&entities)?;
    tree::write_all(&entities)?;
    qualifiers::write_all(&source)?;
    countries::write_all(&source)?;
    postcodes::write_all(&source)?;
    words::write_all()
}

/// Writes a table to `OUT_DIR`.
fn write_table(name: &str, bytes: &[u8]) -> Result {
    Ok(fs::write(PathBuf::from(env::var("OUT_DIR")?).join(name), bytes)?)
}
