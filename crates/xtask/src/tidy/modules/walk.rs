//! Walks through the tokens of a Rust file and collects the parts of a [`Scan`].

use proc_macro2::{Delimiter, Literal, TokenStream, TokenTree};

use super::scan::{Import, NamedPath, Scan, Submodule, scan};
use super::tokens::{end_of_item, group, ident, is_path_separator, is_punct, is_test_only, line};
use super::use_tree;

/// Keywords before the name of an item that other modules can import.
const NAMED_ITEMS: [&str; 9] =
    ["const", "enum", "fn", "macro_rules", "static", "struct", "trait", "type", "union"];
/// Keys of attributes whose value is a path in a string, as in `#[serde(with = "a::b")]`.
const PATH_KEYS: [&str; 5] = ["default", "deserialize_with", "serialize_with", "skip_serializing_if", "with"];

impl Scan {
    /// Walks through tokens; `is_top` outside of blocks and macro arguments.
    pub fn walk(&mut self, tokens: TokenStream, is_top: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at = match token {
                TokenTree::Punct(punct) if punct.as_char() == '#' => self.attribute(&tokens, at),
                TokenTree::Ident(_) => self.word(&tokens, at, is_top),
                TokenTree::Group(group) => {
                    self.walk(group.stream(), false);
                    at + 1
                }
                TokenTree::Literal(literal) => {
                    self.literal(&tokens, at, literal);
                    at + 1
                }
                TokenTree::Punct(_) => at + 1,
            };
        }
    }

    fn attribute(&mut self, tokens: &[TokenTree], at: usize) -> usize {
        let is_inner = is_punct(tokens, at + 1, '!');
        let after = at + 2 + usize::from(is_inner);
        let Some(content) = group(tokens, after - 1, Delimiter::Bracket) else { return at + 1 };
        if is_test_only(&content) {
            return if is_inner { tokens.len() } else { end_of_item(tokens, after) };
        }
        let text: String = content.to_string().split_whitespace().collect();
        self.has_handler |= text.starts_with("utoipa::path(");
        if text == "macro_export" {
            let is_macro = |at: &usize| ident(tokens, *at).as_deref() == Some("macro_rules");
            let name = (after..tokens.len()).find(is_macro).and_then(|at| ident(tokens, at + 2));
            self.exported_macros.extend(name);
        }
        self.walk(content, false);
        after
    }

    fn word(&mut self, tokens: &[TokenTree], at: usize, is_top: bool) -> usize {
        let Some(word) = ident(tokens, at) else { return at + 1 };
        let continues_path = at >= 2 && is_path_separator(tokens, at - 2);
        if continues_path || (at >= 1 && is_punct(tokens, at - 1, '.')) {
            return at + 1;
        }
        if word == "use" && !is_punct(tokens, at + 1, '<') {
            return self.import(tokens, at + 1, is_top);
        }
        if word == "mod" && ident(tokens, at + 1).is_some() {
            return self.submodule(tokens, at + 1);
        }
        if is_top && NAMED_ITEMS.contains(&word.as_str()) {
            let name_at = at + 1 + usize::from(is_punct(tokens, at + 1, '!'));
            self.items.extend(ident(tokens, name_at));
        }
        self.path(tokens, at, word)
    }

    fn import(&mut self, tokens: &[TokenTree], at: usize, is_top: bool) -> usize {
        let end = (at..tokens.len()).find(|at| is_punct(tokens, *at, ';')).unwrap_or(tokens.len());
        for leaf in use_tree::leaves(&tokens[at..end]) {
            self.paths.push(NamedPath { segments: leaf.path.clone(), line: leaf.line });
            self.imports.push(Import { name: leaf.name, path: leaf.path, is_local: !is_top });
        }
        end
    }

    fn submodule(&mut self, tokens: &[TokenTree], at: usize) -> usize {
        let Some(name) = ident(tokens, at) else { return at };
        if is_punct(tokens, at + 1, ';') {
            self.submodules.push(Submodule { name, inline: None });
        } else if let Some(content) = group(tokens, at + 1, Delimiter::Brace) {
            let mut inline = Self::default();
            inline.walk(content, true);
            self.has_handler |= inline.has_handler;
            self.submodules.push(Submodule { name, inline: Some(inline) });
            return at + 2;
        }
        at + 1
    }

    fn path(&mut self, tokens: &[TokenTree], start: usize, first: String) -> usize {
        let mut segments = vec![first];
        let mut at = start + 1;
        while is_path_separator(tokens, at) {
            let Some(segment) = ident(tokens, at + 2) else { break };
            segments.push(segment);
            at += 3;
        }
        if segments.len() > 1 {
            self.paths.push(NamedPath { segments, line: line(tokens, start) });
        }
        at
    }

    fn literal(&mut self, tokens: &[TokenTree], at: usize, literal: &Literal) {
        let is_path = at >= 2
            && is_punct(tokens, at - 1, '=')
            && ident(tokens, at - 2).is_some_and(|key| PATH_KEYS.contains(&key.as_str()));
        if !is_path {
            return;
        }
        let text = literal.to_string();
        let Ok(inner) = scan(text.trim_matches('"')) else { return };
        let line = literal.span().start().line;
        self.paths.extend(inner.paths.into_iter().map(|path| NamedPath { line, ..path }));
    }
}
