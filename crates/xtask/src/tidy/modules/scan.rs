//! The parts of a Rust file that matter for imports: its submodules, its imports and the paths that it names.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow};
use proc_macro2::TokenStream;

/// A path in the source, such as `crate::error::Error`.
#[derive(Debug, PartialEq, Eq)]
pub struct NamedPath {
    /// Its identifiers.
    pub segments: Vec<String>,
    /// Line, counted from 1.
    pub line: usize,
}

/// A name that a `use` declaration imports.
#[derive(Debug)]
pub struct Import {
    /// Name in this module.
    pub name: String,
    /// Path of the imported item.
    pub path: Vec<String>,
    /// Whether the import stands in a block, so that other modules cannot see it.
    pub is_local: bool,
}

/// A submodule: `mod name;` or `mod name { … }`.
#[derive(Debug)]
pub struct Submodule {
    /// Name.
    pub name: String,
    /// Content, if it stands in the same file.
    pub inline: Option<Scan>,
}

/// The parts of a module that matter for imports. Code for tests only is left out.
#[derive(Debug, Default)]
pub struct Scan {
    /// Submodules.
    pub submodules: Vec<Submodule>,
    /// Imports.
    pub imports: Vec<Import>,
    /// Paths of imports and in code.
    pub paths: Vec<NamedPath>,
    /// Names of items.
    pub items: BTreeSet<String>,
    /// Names of macros with `#[macro_export]`.
    pub exported_macros: Vec<String>,
    /// Whether there is a `#[utoipa::path(…)]`.
    pub has_handler: bool,
}

/// Reads the text of a file.
pub fn scan(text: &str) -> Result<Scan> {
    let tokens: TokenStream =
        text.parse().map_err(|error: proc_macro2::LexError| anyhow!("line {}", error.span().start().line))?;
    let mut scan = Scan::default();
    scan.walk(tokens, true);
    Ok(scan)
}
