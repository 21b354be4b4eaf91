//! Which countries are enabled: those of a file, or else those of a list.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, ensure};
use serde::Deserialize;

use crate::Settings;

/// A row of the file, whose other columns are those of the embedded table and say nothing new.
#[derive(Deserialize)]
struct Row {
    iso: String,
}

/// The codes of the enabled countries.
///
/// # Errors
/// If the file cannot be read, or a code is none.
pub(crate) fn read(settings: &Settings) -> anyhow::Result<BTreeSet<String>> {
    let (codes, setting) = match &settings.countries_file {
        Some(path) => (rows(path)?, "service.countries_file"),
        None => (settings.enabled_countries.clone(), "service.enabled_countries"),
    };
    let codes: BTreeSet<_> = codes.iter().map(|code| code.trim().to_ascii_uppercase()).collect();
    for code in &codes {
        ensure!(gazetteer::country(code).is_some(), "{setting} names no country of ISO 3166-1: {code}");
    }
    Ok(codes)
}

fn rows(path: &Path) -> anyhow::Result<Vec<String>> {
    let told = || format!("cannot read {} (service.countries_file)", path.display());
    let rows = csv::Reader::from_path(path).with_context(told)?.into_deserialize::<Row>();
    rows.map(|row| Ok(row?.iso)).collect::<Result<_, csv::Error>>().with_context(told)
}
