//! Resolves paths to the modules of the same crate, through re-exports.

use super::tree::{Module, ModuleTree};
use super::use_tree::GLOB;

/// Re-exports followed for one path. Only a circle of re-exports has more.
const MAX_REEXPORTS: usize = 16;

/// The modules and the item that a path names.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// Indices of the modules that hold the name: each that re-exports it, then the one that defines it.
    /// Empty if the path leads out of the crate.
    pub modules: Vec<usize>,
    /// Name of the item in the last module; `None` if the path names the module.
    pub item: Option<String>,
}

impl ModuleTree {
    /// Resolves a path as the module at `from` sees it.
    pub fn resolve(&self, from: usize, path: &[String]) -> Resolved {
        let mut resolved = Resolved::default();
        self.follow_path(from, path, MAX_REEXPORTS, &mut resolved);
        resolved
    }

    fn follow_path(&self, from: usize, path: &[String], reexports: usize, resolved: &mut Resolved) {
        let mut current = from;
        let mut rest = path;
        while let Some((first, after)) = rest.split_first() {
            match first.as_str() {
                "crate" => current = 0,
                "self" => {}
                "super" => current = self.modules[current].parent.unwrap_or_default(),
                _ => break,
            }
            rest = after;
        }
        let is_relative = rest.len() == path.len();
        if is_relative && !rest.first().is_some_and(|name| self.modules[from].binds(name, true)) {
            return;
        }
        self.follow_names(current, rest, is_relative, reexports, resolved);
    }

    /// Follows names down from a module. `sees_locals`: imports in blocks count too.
    fn follow_names(
        &self,
        start: usize,
        names: &[String],
        sees_locals: bool,
        reexports: usize,
        resolved: &mut Resolved,
    ) {
        let mut current = start;
        for (index, name) in names.iter().enumerate() {
            let module = &self.modules[current];
            if let Some(child) = module.children.get(name) {
                current = *child;
                continue;
            }
            if !(index == 0 && sees_locals) {
                resolved.modules.push(current);
            }
            let rest = &names[index + 1..];
            if !self.follow_import(current, name, rest, sees_locals && index == 0, reexports, resolved) {
                if resolved.modules.last() != Some(&current) {
                    resolved.modules.push(current);
                }
                resolved.item = Some(name.clone());
            }
            return;
        }
        resolved.modules.push(current);
    }

    /// Follows the import of a name in a module; returns whether there is one.
    fn follow_import(
        &self,
        module: usize,
        name: &str,
        rest: &[String],
        sees_locals: bool,
        reexports: usize,
        resolved: &mut Resolved,
    ) -> bool {
        if reexports == 0 {
            return false;
        }
        let imports = &self.modules[module].scan.imports;
        let mut visible = imports.iter().filter(|import| sees_locals || !import.is_local);
        if let Some(import) = visible.clone().find(|import| import.name == name) {
            let path: Vec<String> = import.path.iter().chain(rest).cloned().collect();
            self.follow_path(module, &path, reexports - 1, resolved);
            return true;
        }
        visible.any(|import| {
            let target =
                (import.name == GLOB).then(|| self.resolve_glob(module, &import.path, reexports - 1));
            let Some(target) = target.flatten().filter(|target| self.modules[*target].binds(name, false))
            else {
                return false;
            };
            let names: Vec<String> = std::iter::once(name.to_owned()).chain(rest.iter().cloned()).collect();
            self.follow_names(target, &names, false, reexports - 1, resolved);
            true
        })
    }

    /// Returns the module that a glob imports from, if it belongs to this crate.
    fn resolve_glob(&self, module: usize, path: &[String], reexports: usize) -> Option<usize> {
        let mut resolved = Resolved::default();
        self.follow_path(module, path, reexports, &mut resolved);
        resolved.modules.last().copied().filter(|_| resolved.item.is_none())
    }
}

impl Module {
    /// Whether a name is a submodule, an import or an item of this module.
    fn binds(&self, name: &str, sees_locals: bool) -> bool {
        let mut imports = self.scan.imports.iter().filter(|import| sees_locals || !import.is_local);
        self.children.contains_key(name)
            || self.scan.items.contains(name)
            || imports.any(|import| import.name == name)
    }
}
