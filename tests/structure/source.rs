//! Reads the modules of a crate and resolves the paths in them.
//!
//! The code is read as tokens, not parsed: paths in attributes and in the bodies of macros count too.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};

use crate::files::Files;

/// The names from the root of a crate to a module or item.
pub type Path = Vec<String>;

/// A path in the code of a module.
pub struct Use {
    pub module: Path,
    /// The path from the root. A path to another crate looks like one to an item of this module.
    pub path: Path,
    pub line: usize,
}

/// The modules of a crate, without code that is compiled for tests only.
#[derive(Default)]
pub struct Crate {
    /// The file of each module.
    pub modules: BTreeMap<Path, String>,
    pub uses: Vec<Use>,
    /// What an imported name stands for.
    imports: BTreeMap<Path, Path>,
    /// Modules whose files are not read yet.
    unread: Vec<Path>,
}

impl Crate {
    /// Reads a crate from its root file along the `mod` declarations.
    pub fn read(root: &str, files: &Files) -> Result<Self, String> {
        let mut tree = Self::default();
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        tree.read_file(root, &[], files)?;
        while let Some(module) = tree.unread.pop() {
            let path = format!("{folder}/{}", module.join("/"));
            tree.read_file(&format!("{path}.rs"), &module, files)?;
            tree.read_file(&format!("{path}/mod.rs"), &module, files)?;
        }
        Ok(tree)
    }

    /// Reads the module in a file, if the file exists.
    fn read_file(&mut self, file: &str, module: &[String], files: &Files) -> Result<(), String> {
        let Some(text) = files.get(file) else { return Ok(()) };
        let tokens: Result<TokenStream, _> = text.parse();
        let code = tokens.map_err(|error| format!("{file}:{}: not Rust", error.span().start().line))?;
        self.modules.insert(module.to_vec(), file.to_owned());
        self.scan(code, module, &[], false);
        Ok(())
    }

    /// Adds the modules and paths of code. In the braces of an import, `prefix` is the path before them.
    fn scan(&mut self, code: TokenStream, module: &[String], prefix: &[String], mut in_import: bool) {
        let tokens: Vec<TokenTree> = code.into_iter().filter(|token| !is_punct(token, '$')).collect();
        let mut rest = tokens.as_slice();
        while let [token, after @ ..] = rest {
            let before = &tokens[..tokens.len() - rest.len()];
            rest = after;
            match (token, after) {
                // The rest of a path that begins with `::` or `<T>::`.
                (TokenTree::Ident(_) | TokenTree::Group(_), _) if ends_with_separator(before) => {}
                (TokenTree::Punct(_), [TokenTree::Group(attribute), item @ ..]) if is_test(attribute) => {
                    rest = item.iter().position(is_end).map_or(&[], |end| &item[end + 1..]);
                }
                (TokenTree::Ident(word), [TokenTree::Ident(ident), body, ..]) if word == "mod" => {
                    rest = &after[2..];
                    let submodule = joined(module, &name(ident));
                    if let TokenTree::Group(body) = body {
                        self.modules.insert(submodule.clone(), self.modules[module].clone());
                        self.scan(body.stream(), &submodule, &[], false);
                    } else if ident != "tests" {
                        self.unread.push(submodule);
                    }
                }
                // The compiler puts exported macros into the root.
                (TokenTree::Ident(word), [_, TokenTree::Ident(ident), ..]) if word == "macro_rules" => {
                    let path = joined(module, &name(ident));
                    self.imports.entry(vec![name(ident)]).or_insert(path);
                }
                (TokenTree::Ident(word), [next, ..]) if word == "use" => in_import = !is_punct(next, '<'),
                (TokenTree::Ident(first), _) => {
                    let mut names = [prefix, &[name(first)]].concat();
                    while let [_, _, TokenTree::Ident(next), after @ ..] = rest
                        && ends_with_separator(&rest[..2])
                    {
                        names.push(name(next));
                        rest = after;
                    }
                    self.add_use(module, &names, token);
                    if in_import {
                        rest = self.add_import(rest, module, &names);
                    }
                }
                (TokenTree::Group(group), _) => self.scan(group.stream(), module, prefix, in_import),
                // A path in a string, such as `#[serde(with = "a::b")]`.
                (TokenTree::Literal(text), _) if before.last().is_some_and(|token| is_punct(token, '=')) => {
                    let names: Path =
                        text.to_string().trim_matches('"').split("::").map(str::to_owned).collect();
                    self.add_use(module, &names, token);
                }
                _ => in_import &= !is_punct(token, ';'),
            }
        }
    }

    fn add_use(&mut self, module: &[String], names: &[String], at: &TokenTree) {
        if names.len() > 1 {
            let line = at.span().start().line;
            self.uses.push(Use { module: module.to_vec(), path: absolute(module, names), line });
        }
    }

    /// Adds what `use` imports with a path. Takes the tokens after the path and returns those after the import.
    fn add_import<'a>(
        &mut self,
        after: &'a [TokenTree],
        module: &[String],
        names: &[String],
    ) -> &'a [TokenTree] {
        let path = absolute(module, names);
        let (name, rest) = match after {
            [_, _, TokenTree::Group(group), rest @ ..] if ends_with_separator(&after[..2]) => {
                self.scan(group.stream(), module, names, true);
                return rest;
            }
            [_, _, star, rest @ ..] if ends_with_separator(&after[..2]) => {
                // clippy limits `super::*` to tests (`wildcard_imports`), but not `pub use`.
                if names != ["super"] {
                    self.add_use(module, &joined(names, "*"), star);
                }
                return rest;
            }
            [TokenTree::Ident(_as), TokenTree::Ident(alias), rest @ ..] => (Some(name(alias)), rest),
            rest => (path.last().cloned(), rest),
        };
        if let Some(name) = name {
            self.imports.entry(joined(module, &name)).or_insert(path);
        }
        rest
    }

    /// Returns the items that a path leads to: each import on the way, then the item itself.
    pub fn resolve(&self, path: &[String]) -> Vec<Path> {
        let mut found: Vec<Path> = Vec::new();
        let mut path = path.to_vec();
        loop {
            let end =
                (1..path.len()).find(|end| !self.modules.contains_key(&path[..*end])).unwrap_or(path.len());
            let rest = path.split_off(end);
            let import = self.imports.get(&path).filter(|_| !self.modules.contains_key(&path));
            let is_known = found.contains(&path);
            found.push(path);
            match import {
                Some(import) if !is_known => path = [import.as_slice(), &rest].concat(),
                _ => return found,
            }
        }
    }
}

/// Returns the path from the root of the crate to what a module names.
fn absolute(module: &[String], names: &[String]) -> Path {
    let mut path = module.to_vec();
    for name in names {
        match name.as_str() {
            "crate" => path.clear(),
            "self" => {}
            "super" => path.truncate(path.len().saturating_sub(1)),
            _ => path.push(name.clone()),
        }
    }
    path
}

fn joined(path: &[String], name: &str) -> Path {
    [path, &[name.to_owned()]].concat()
}

fn name(ident: &Ident) -> String {
    ident.to_string().trim_start_matches("r#").to_owned()
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

fn ends_with_separator(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [.., a, b] if is_punct(a, ':') && is_punct(b, ':'))
}

/// Whether an attribute is `cfg(test)` or `cfg(all(test, …))`.
fn is_test(attribute: &Group) -> bool {
    let text = attribute.to_string().replace(' ', "");
    text == "[cfg(test)]" || text.starts_with("[cfg(all(test,")
}

/// Whether an item ends with a token.
fn is_end(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        token => is_punct(token, ';') || is_punct(token, ','),
    }
}
