//! The tree of modules of a crate, read from its root file along the `mod` declarations.

use std::collections::BTreeMap;

use super::super::Violation;
use super::scan::{Import, Scan, scan};

/// A module with its file.
#[derive(Debug)]
pub struct Module {
    /// Names from the crate root to this module; empty for the root.
    pub path: Vec<String>,
    /// Index of the parent module.
    pub parent: Option<usize>,
    /// Indices of the submodules by name.
    pub children: BTreeMap<String, usize>,
    /// Path of its file from the root of the repository.
    pub file: String,
    /// Its content.
    pub scan: Scan,
}

/// The modules of a crate; the root is the first.
#[derive(Debug, Default)]
pub struct ModuleTree {
    /// All modules but those of tests.
    pub modules: Vec<Module>,
}

impl ModuleTree {
    /// Reads a crate from the path and text of its root file. `read` returns the text of another file.
    pub fn read(root: &str, text: &str, read: &dyn Fn(&str) -> Option<String>) -> Result<Self, Violation> {
        let mut tree = Self::default();
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        tree.add(None, "", root, scan_file(root, text)?, folder, read)?;
        tree.import_exported_macros();
        Ok(tree)
    }

    /// Adds a module and its submodules, whose files are in `folder`.
    fn add(
        &mut self,
        parent: Option<usize>,
        name: &str,
        file: &str,
        mut scan: Scan,
        folder: &str,
        read: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), Violation> {
        let index = self.modules.len();
        let mut path = Vec::new();
        if let Some(parent) = parent {
            path.clone_from(&self.modules[parent].path);
            path.push(name.to_owned());
            self.modules[parent].children.insert(name.to_owned(), index);
        }
        let submodules = std::mem::take(&mut scan.submodules);
        self.modules.push(Module { path, parent, children: BTreeMap::new(), file: file.to_owned(), scan });
        for submodule in submodules {
            let name = &submodule.name;
            let below = format!("{folder}/{name}");
            if let Some(inline) = submodule.inline {
                self.add(Some(index), name, file, inline, &below, read)?;
                continue;
            }
            for file in [format!("{below}.rs"), format!("{below}/mod.rs")] {
                if is_test_file(&file) {
                    continue;
                }
                let Some(text) = read(&file) else { continue };
                self.add(Some(index), name, &file, scan_file(&file, &text)?, &below, read)?;
            }
        }
        Ok(())
    }

    /// Makes macros with `#[macro_export]` visible in the root, where the compiler puts them.
    fn import_exported_macros(&mut self) {
        let mut imports = Vec::new();
        for module in self.modules.iter().skip(1) {
            for name in &module.scan.exported_macros {
                let segments = ["crate"].into_iter().chain(module.path.iter().map(String::as_str));
                let path = segments.chain([name.as_str()]).map(str::to_owned).collect();
                imports.push(Import { name: name.clone(), path, is_local: false });
            }
        }
        if let Some(root) = self.modules.first_mut() {
            root.scan.imports.extend(imports);
        }
    }
}

fn scan_file(file: &str, text: &str) -> Result<Scan, Violation> {
    scan(text).map_err(|error| {
        Violation::new(
            file,
            format!("cannot be split into tokens at {error}"),
            "mend what `cargo check` reports",
        )
    })
}

fn is_test_file(file: &str) -> bool {
    file.ends_with("/tests.rs") || file.split('/').rev().skip(1).any(|folder| folder == "tests")
}
