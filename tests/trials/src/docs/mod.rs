//! `docs`: the documents against the code. Blocks of commands are executed or parsed; links, settings, commands and
//! tokens exist as the pages say.

mod commands;
mod providers;
mod settings;

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Result, ensure};
use testkit::processes::checkout;
use testkit::processes::trial::Trial;

use crate::docs::settings::Settings;
use crate::markdown::{self, Page};

/// Checks all documents of the checkout.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let files = markdown::files()?;
    let pages = markdown::read(&files)?;
    let settings = Settings::read(trial.binaries)?;
    let mut defects = Vec::new();
    let counts = [
        ("links and paths", check_links(&pages, &files, &mut defects)),
        ("blocks", commands::check_blocks(&pages, &mut defects)?),
        ("commands in prose", commands::check_prose(&pages, trial.binaries, &mut defects)),
        ("settings", settings.check(&pages, &mut defects)),
    ];
    ensure!(defects.is_empty(), "the documents are wrong:\n{}", defects.join("\n"));
    for (what, count) in counts {
        trial.expect(count > 20, format!("docs: {what}"), count.to_string(), "all correct, more than 20")?;
    }
    commands::run(trial, &pages)?;
    providers::run(trial, &pages)
}

/// Folders of the checkout that a code span may name a file of.
const FOLDERS: [&str; 7] = ["crates/", "services/", "tests/", "deploy/", "docs/", ".ci/", ".cargo/"];
/// Kinds of files that cite pages.
const CITING: [&str; 8] = ["rs", "toml", "yml", "yaml", "sh", "sql", "service", "py"];

/// Checks that every link, anchor and path exists. Returns the number of what it checked.
fn check_links(pages: &[Page], files: &[String], defects: &mut Vec<String>) -> usize {
    let mut count = 0;
    let mut target = |place: &str, folder: &Path, target: &str| {
        count += 1;
        if let Some(defect) = defect(pages, folder, target) {
            defects.push(format!("{place}: {target}: {defect}"));
        }
    };
    for page in pages {
        let folder = Path::new(&page.path).parent().unwrap_or(Path::new(""));
        for link in page.links.iter().filter(|link| !link.contains("://")) {
            let name = page.path.rsplit('/').next().unwrap_or_default();
            let full = if link.starts_with('#') { format!("{name}{link}") } else { link.clone() };
            target(&page.path, folder, &full);
        }
        let is_path = |span: &&String| FOLDERS.iter().any(|folder| span.starts_with(folder));
        let is_one = |span: &&String| !span.contains([' ', '*', '<', '{', '…']);
        for path in page.spans.iter().filter(is_path).filter(is_one) {
            target(&page.path, Path::new(""), path.split(':').next().unwrap_or_default());
        }
    }
    let citing = files.iter().filter(|path| {
        let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| CITING.contains(&extension))
    });
    for path in citing {
        let text = fs::read_to_string(checkout::root().join(path)).unwrap_or_default();
        for cited in citations(&text) {
            target(path, Path::new(""), cited);
        }
    }
    count
}

/// Returns the pages below docs/ that a text cites.
fn citations(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("docs/").filter_map(|(at, _)| {
        let rest = &text[at..];
        let is_part = |c: char| c.is_ascii_alphanumeric() || "/-_.#".contains(c);
        let cited = rest.split(|c| !is_part(c)).next()?.trim_end_matches('.');
        let starts = !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || "/.-".contains(c));
        (starts && cited.contains(".md")).then_some(cited)
    })
}

/// Returns why a target does not exist.
fn defect(pages: &[Page], folder: &Path, target: &str) -> Option<&'static str> {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = normalize(&folder.join(path));
    if !checkout::root().join(&path).exists() {
        return Some("there is no such file");
    }
    let page = pages.iter().find(|page| Path::new(&page.path) == path);
    let is_here = page.is_some_and(|page| page.anchors.iter().any(|found| found == anchor));
    (!anchor.is_empty() && !is_here).then_some("there is no such heading")
}

/// Resolves `.` and `..`.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_missing_files_and_headings() {
        let pages = [Page::parse("docs/search.md", "# How it works\n").unwrap()];
        let defect = |target| defect(&pages, Path::new("docs/api"), target);
        assert_eq!(defect("../search.md#how-it-works"), None);
        assert_eq!(defect("../search.md#nothing"), Some("there is no such heading"));
        assert_eq!(defect("nothing.md"), Some("there is no such file"));
    }

    #[test]
    fn finds_citations_in_code() {
        let text = "//! See `docs/api/errors.md#codes`. In wt-docs/x.md and docs/ and docs/search.md.";
        assert_eq!(citations(text).collect::<Vec<_>>(), ["docs/api/errors.md#codes", "docs/search.md"]);
    }
}
