//! `docs`: the documents against the code. Blocks of commands are executed or parsed; links, settings, commands and
//! tokens exist as the pages say.

mod commands;
mod execute;
mod links;
mod providers;
mod settings;

use anyhow::{Result, ensure};
use stack::trial::Trial;

use self::settings::Settings;
use crate::markdown;

/// Checks all documents of the checkout.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let files = markdown::files()?;
    let pages = markdown::read(&files)?;
    let settings = Settings::read(trial.binaries)?;
    let mut defects = Vec::new();
    let counts = [
        ("links and paths", links::check(&pages, &files, &mut defects)),
        ("blocks", commands::check_blocks(&pages, &mut defects)?),
        ("commands in prose", commands::check_prose(&pages, trial.binaries, &mut defects)),
        ("settings", settings.check(&pages, &mut defects)),
    ];
    ensure!(defects.is_empty(), "the documents are wrong:\n{}", defects.join("\n"));
    for (what, count) in counts {
        trial.expect(count > 20, format!("docs: {what}"), count.to_string(), "all correct, more than 20")?;
    }
    execute::run(trial, &pages)?;
    providers::run(trial, &pages)
}
