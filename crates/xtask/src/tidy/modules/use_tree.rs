//! Expands a `use` declaration into the names that it imports.

use proc_macro2::{Delimiter, TokenTree};

use super::tokens::{group, ident, is_path_separator, is_punct, line};

/// Name of a glob import.
pub const GLOB: &str = "*";

/// One imported name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// Name in the importing module, after `as`; [`GLOB`] for `*`.
    pub name: String,
    /// Path of the imported item, or of the module of a glob. The first segment is empty after a leading `::`.
    pub path: Vec<String>,
    /// Line of the name, counted from 1.
    pub line: usize,
}

/// Returns the names imported by the tokens between `use` and `;`.
pub fn leaves(tokens: &[TokenTree]) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    expand(tokens, &[], &mut leaves);
    leaves
}

fn expand(tokens: &[TokenTree], prefix: &[String], leaves: &mut Vec<Leaf>) {
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
    for branch in tokens.split(is_comma).filter(|branch| !branch.is_empty()) {
        expand_branch(branch, prefix, leaves);
    }
}

fn expand_branch(tokens: &[TokenTree], prefix: &[String], leaves: &mut Vec<Leaf>) {
    let mut path = prefix.to_vec();
    if path.is_empty() && is_path_separator(tokens, 0) {
        path.push(String::new());
    }
    let mut name = None;
    let mut name_line = line(tokens, 0);
    let mut at = 0;
    while at < tokens.len() {
        if let Some(nested) = group(tokens, at, Delimiter::Brace) {
            return expand(&nested.into_iter().collect::<Vec<_>>(), &path, leaves);
        }
        if is_punct(tokens, at, '*') {
            name = Some(GLOB.to_owned());
        } else if let Some(segment) = ident(tokens, at) {
            if segment == "as" {
                name = ident(tokens, at + 1);
                break;
            }
            name_line = line(tokens, at);
            if segment != "self" || path.is_empty() {
                path.push(segment);
            }
        }
        at += 1;
    }
    if let Some(name) = name.or_else(|| path.last().cloned()) {
        leaves.push(Leaf { name, path, line: name_line });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imported(text: &str) -> Vec<(String, String)> {
        let tokens: Vec<TokenTree> = text.parse::<proc_macro2::TokenStream>().unwrap().into_iter().collect();
        leaves(&tokens).into_iter().map(|leaf| (leaf.name, leaf.path.join("::"))).collect()
    }

    fn pair(name: &str, path: &str) -> (String, String) {
        (name.to_owned(), path.to_owned())
    }

    #[test]
    fn groups_are_expanded() {
        assert_eq!(
            imported("crate::{self as root, a::{self, B as C, d::*}, e}"),
            [
                pair("root", "crate"),
                pair("a", "crate::a"),
                pair("C", "crate::a::B"),
                pair("*", "crate::a::d"),
                pair("e", "crate::e"),
            ]
        );
    }

    #[test]
    fn single_paths_and_leading_separators_are_read() {
        assert_eq!(imported("super::a::B"), [pair("B", "super::a::B")]);
        assert_eq!(imported("self::a"), [pair("a", "self::a")]);
        assert_eq!(imported("::config::Config"), [pair("Config", "::config::Config")]);
    }
}
