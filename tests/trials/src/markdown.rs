//! Reads Markdown pages: their fenced blocks, code spans, links and headings.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use testkit::processes::checkout;

/// A fenced block.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// Page and line.
    pub place: String,
    /// The first word after the fence.
    pub language: String,
    /// The words after the language: how the block is tested, or its name.
    pub info: String,
    /// The lines, without the indentation of the fence.
    pub text: String,
}

/// A page.
#[derive(Debug)]
pub struct Page {
    /// Path from the root of the checkout.
    pub path: String,
    /// The fenced blocks.
    pub blocks: Vec<Block>,
    /// The anchors of its headings.
    pub anchors: Vec<String>,
    /// The code spans in its text.
    pub spans: Vec<String>,
    /// The targets of its links.
    pub links: Vec<String>,
}

impl Page {
    /// Parses a page.
    pub fn parse(path: &str, text: &str) -> Result<Self> {
        let mut page =
            Self { path: path.to_owned(), blocks: vec![], anchors: vec![], spans: vec![], links: vec![] };
        let (mut prose, mut open) = (String::new(), None);
        for (number, line) in (1..).zip(text.lines()) {
            let place = format!("{path}:{number}");
            let content = line.trim_start();
            match (content.strip_prefix("```"), &mut open) {
                (Some(_), Some(_)) => page.blocks.extend(open.take().map(|(block, _)| block)),
                (Some(fence), None) => {
                    let (language, info) = fence.split_once(' ').unwrap_or((fence, ""));
                    ensure!(!language.is_empty(), "{place}: the block names no language");
                    let [language, info] = [language, info].map(str::to_owned);
                    open = Some((
                        Block { place, language, info, text: String::new() },
                        line.len() - content.len(),
                    ));
                }
                (None, Some((block, indent))) => {
                    block.text += line.get(*indent..).unwrap_or_default();
                    block.text.push('\n');
                }
                (None, None) => {
                    let is_code = line.starts_with("    ") && prose.ends_with("\n\n");
                    ensure!(!is_code, "{place}: use a fenced block");
                    if content.starts_with('#') {
                        page.anchors.push(anchor(content.trim_start_matches('#').trim()));
                        prose.push('\n');
                    }
                    prose += content;
                    prose.push('\n');
                }
            }
        }
        ensure!(open.is_none(), "{path}: a block has no end");
        for paragraph in prose.split("\n\n") {
            let line = paragraph.replace('\n', " ");
            page.spans.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
            let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
            page.links.extend(targets.map(|(target, _)| target.to_owned()));
        }
        Ok(page)
    }

    /// Returns the block with this language and name.
    pub fn block(&self, language: &str, name: &str) -> Result<&str> {
        let block = self.blocks.iter().find(|block| block.language == language && block.info == name);
        Ok(&block.with_context(|| format!("{} has no block `{language} {name}`", self.path))?.text)
    }
}

/// Returns the anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// Returns the files that git tracks or would track.
pub fn files() -> Result<Vec<String>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let output = git.current_dir(checkout::root()).output().context("cannot run git")?;
    if !output.status.success() {
        bail!("git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8(output.stdout)?;
    let exists = |path: &&str| !path.is_empty() && checkout::root().join(path).exists();
    Ok(text.split('\0').filter(exists).map(str::to_owned).collect())
}

/// Reads all Markdown pages among these files.
pub fn read(files: &[String]) -> Result<Vec<Page>> {
    let is_page = |path: &&String| Path::new(path).extension().is_some_and(|extension| extension == "md");
    let pages = files.iter().filter(is_page);
    pages.map(|path| Page::parse(path, &fs::read_to_string(checkout::root().join(path))?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_blocks_spans_links_and_anchors() {
        let text = "# A `b`, c\n\nSee [x](y.md#z) and `a\nb`.\n\n1. Run:\n\n   ```sh run\n   echo 1\n     echo 2\n   ```\n";
        let page = Page::parse("p.md", text).unwrap();
        assert_eq!(page.anchors, ["a-b-c"]);
        assert_eq!((page.spans, page.links), (vec!["b".into(), "a b".into()], vec!["y.md#z".to_owned()]));
        assert_eq!(page.blocks[0].text, "echo 1\n  echo 2\n");
        assert_eq!((&*page.blocks[0].info, &*page.blocks[0].place), ("run", "p.md:8"));
    }

    #[test]
    fn refuses_blocks_that_no_test_would_see() {
        for (text, part) in [
            ("```\nx\n```\n", "names no language"),
            ("a\n\n    rm -r /\n", "use a fenced block"),
            ("```sh run\nx\n", "has no end"),
        ] {
            let error = Page::parse("p.md", text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
