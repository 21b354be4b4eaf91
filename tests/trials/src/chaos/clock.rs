//! A shifted clock for a single program, by libfaketime.

use anyhow::Result;
use stack::environment::Environment;
use stack::tools;

/// Variables that shift the time of day by an offset such as `+10m`. Durations stay as they are.
pub fn shifted(offset: &str) -> Result<Environment> {
    let variables = [
        ("LD_PRELOAD", tools::find("libfaketime.so.1")?.display().to_string()),
        ("FAKETIME", offset.into()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
    ];
    Ok(variables.map(|(name, value)| (name.to_owned(), value)).to_vec())
}
