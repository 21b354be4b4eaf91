//! Rules on the text of single files.

use std::path::Path;

use crate::files::{Files, is_rust, wrong_lines};

const MAX_LINES: usize = 600;
/// rustfmt limits the width of code, but not of comments.
const MAX_COMMENT_BYTES: usize = 120;
/// Written in two parts: this file does not contain the word.
pub const UNFINISHED: &str = concat!("FIX", "ME");

/// Returns the Rust files that are too long, except generated ones and data.
pub fn long_files(files: &Files) -> Vec<String> {
    let is_checked = |path: &str, text: &str| {
        let is_data = path.split('/').any(|folder| folder == "data" || folder == "generated");
        is_rust(path) && !is_data && !text.lines().take(5).any(|line| line.contains("@generated"))
    };
    let checked = files.iter().filter(|(path, text)| is_checked(path, text));
    let sizes = checked.map(|(path, text)| (path, text.lines().count()));
    let long = sizes.filter(|(_, lines)| *lines > MAX_LINES);
    long.map(|(path, lines)| format!("{path}: {lines} lines, more than {MAX_LINES}: split it")).collect()
}

/// Returns the lines of comments that are too wide.
pub fn long_comments(files: &Files) -> Vec<String> {
    let is_long = |line: &str| line.len() > MAX_COMMENT_BYTES && line.trim_start().starts_with("//");
    wrong_lines(files, is_rust, is_long, "a comment of more than 120 bytes: wrap it")
}

/// Returns the lines that are marked as unfinished.
pub fn unfinished(files: &Files) -> Vec<String> {
    let is_code = |path: &str| [".rs", ".sql", ".toml", ".sh"].iter().any(|end| path.ends_with(end));
    let wrong = "unfinished: finish it, or return an error in this case";
    wrong_lines(files, is_code, |line| line.contains(UNFINISHED), wrong)
}

/// Returns the lines that begin a private key.
pub fn private_keys(files: &Files) -> Vec<String> {
    let is_key = |line: &str| {
        let line = line.trim_start();
        line.starts_with("-----BEGIN") && line.ends_with("PRIVATE KEY-----")
    };
    wrong_lines(files, |_| true, is_key, "a private key: generate it where it is needed")
}

/// Returns the lines of scripts of pages that turn a text into markup or code.
///
/// `DOMParser` may be used for pages of the console: it runs nothing, and the server has escaped the texts.
pub fn markup_from_text(files: &Files) -> Vec<String> {
    const MEANS: [&str; 8] = [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "setHTMLUnsafe",
        "createContextualFragment",
        "document.write",
        "eval(",
        "new Function",
    ];
    let is_script = |path: &str| {
        Path::new(path).extension().is_some_and(|extension| extension == "js")
            && (path.starts_with("services/") || path.ends_with("docs-page.js"))
    };
    let wrong = "makes markup or code from a text: use textContent and elements";
    wrong_lines(files, is_script, |line| MEANS.iter().any(|means| line.contains(means)), wrong)
}
