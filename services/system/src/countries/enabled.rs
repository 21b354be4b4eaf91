//! The enabled countries: those of `service.countries_file`, or else those of `service.enabled_countries`.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, ensure};
use common::cli::Checks;
use serde::Deserialize;

use crate::Settings;
use crate::config::setting;

/// A row of the file. Other columns are ignored.
#[derive(Deserialize)]
struct CountryRow {
    iso: String,
}

/// Returns the codes of the enabled countries, in upper case.
///
/// # Errors
/// Fails if the file cannot be read or a code is unknown. The message names the setting.
pub(crate) fn read_enabled(settings: &Settings) -> anyhow::Result<BTreeSet<String>> {
    let (codes, name) = match &settings.countries_file {
        Some(path) => (read_file(path)?, "countries_file"),
        None => (settings.enabled_countries.clone(), "enabled_countries"),
    };
    let codes: BTreeSet<_> = codes.iter().map(|code| code.trim().to_ascii_uppercase()).collect();
    for code in &codes {
        ensure!(
            gazetteer::country(code).is_some(),
            "{} contains `{code}`: use ISO 3166-1 alpha-2 codes such as GB",
            setting(name)
        );
    }
    Ok(codes)
}

/// Checks that the codes can be read.
pub(crate) async fn check(settings: &Settings, checks: &mut Checks) {
    let remedy = format!("change {} or {}", setting("enabled_countries"), setting("countries_file"));
    let found = read_enabled(settings).map(|codes| format!("{} enabled", codes.len()));
    checks.run("countries", &remedy, async { found }).await;
}

fn read_file(path: &Path) -> anyhow::Result<Vec<String>> {
    let context = || {
        format!(
            "cannot read {}: set {} to a CSV file with a column `iso`",
            path.display(),
            setting("countries_file")
        )
    };
    let rows = csv::Reader::from_path(path).with_context(context)?.into_deserialize::<CountryRow>();
    rows.map(|row| Ok(row?.iso)).collect::<Result<_, csv::Error>>().with_context(context)
}
