//! Small questions about a slice of tokens.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// Keywords that begin an item.
const ITEMS: [&str; 15] = [
    "async",
    "const",
    "enum",
    "extern",
    "fn",
    "impl",
    "macro_rules",
    "mod",
    "static",
    "struct",
    "trait",
    "type",
    "union",
    "unsafe",
    "use",
];

/// Returns the identifier at `at`, without `r#`.
pub fn ident(tokens: &[TokenTree], at: usize) -> Option<String> {
    match tokens.get(at) {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string().trim_start_matches("r#").to_owned()),
        _ => None,
    }
}

/// Whether the token at `at` is this punctuation character.
pub fn is_punct(tokens: &[TokenTree], at: usize, character: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == character)
}

/// Whether `::` begins at `at`.
pub fn is_path_separator(tokens: &[TokenTree], at: usize) -> bool {
    let joint = matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.spacing() == Spacing::Joint);
    joint && is_punct(tokens, at, ':') && is_punct(tokens, at + 1, ':')
}

/// Returns the content of the group at `at` if it has this delimiter.
pub fn group(tokens: &[TokenTree], at: usize, delimiter: Delimiter) -> Option<TokenStream> {
    match tokens.get(at) {
        Some(TokenTree::Group(group)) if group.delimiter() == delimiter => Some(group.stream()),
        _ => None,
    }
}

/// Returns the line of the token at `at`, counted from 1.
pub fn line(tokens: &[TokenTree], at: usize) -> usize {
    tokens.get(at).map_or(0, |token| token.span().start().line)
}

/// Whether an attribute compiles its item for tests only: `cfg(test)`, `cfg(all(test, …))`.
pub fn is_test_only(attribute: &TokenStream) -> bool {
    let text: String = attribute.to_string().split_whitespace().collect();
    text == "cfg(test)" || text.starts_with("cfg(all(test,")
}

/// Returns the index after the item, field or statement that begins at `at`.
pub fn end_of_item(tokens: &[TokenTree], at: usize) -> usize {
    let start = skip_attributes_and_visibility(tokens, at);
    let keyword = ident(tokens, start).unwrap_or_default();
    let is_item = ITEMS.contains(&keyword.as_str());
    let ends_at = |index: &usize| {
        let braces = group(tokens, *index, Delimiter::Brace).is_some() && keyword != "use";
        braces || is_punct(tokens, *index, ';') || (!is_item && is_punct(tokens, *index, ','))
    };
    (start..tokens.len()).find(ends_at).map_or(tokens.len(), |index| index + 1)
}

fn skip_attributes_and_visibility(tokens: &[TokenTree], mut at: usize) -> usize {
    while is_punct(tokens, at, '#') && group(tokens, at + 1, Delimiter::Bracket).is_some() {
        at += 2;
    }
    if ident(tokens, at).as_deref() == Some("pub") {
        at += 1;
        at += usize::from(group(tokens, at, Delimiter::Parenthesis).is_some());
    }
    at
}
