//! Finds modules below the handlers that name the state of their service.

use super::super::Violation;
use super::tree::{Module, ModuleTree};

/// Files of a service that may name its state besides the handlers.
const ALLOWED: [&str; 3] = ["src/lib.rs", "src/main.rs", "src/config.rs"];

/// Returns a violation for every file of a service that must not name its state and does.
pub fn check(tree: &ModuleTree, service: &str) -> Vec<Violation> {
    let state = state_type(service);
    let handlers: Vec<&str> = tree
        .modules
        .iter()
        .filter(|module| module.scan.has_handler)
        .map(|module| module.file.as_str())
        .collect();
    let mut violations: Vec<Violation> = Vec::new();
    for (index, module) in tree.modules.iter().enumerate() {
        if is_allowed(module) || handlers.contains(&module.file.as_str()) {
            continue;
        }
        let names_state = |path: &&super::scan::NamedPath| {
            let resolved = tree.resolve(index, &path.segments);
            resolved.modules.last() == Some(&0) && resolved.item.as_deref() == Some(state.as_str())
        };
        if let Some(path) = module.scan.paths.iter().find(names_state) {
            violations.push(Violation::new(
                &format!("{}:{}", module.file, path.line),
                format!("`{state}`, the state of the service, is used below the handlers"),
                "take the parts that this module needs as arguments, such as `&Database`, and let the handler pass them",
            ));
        }
    }
    violations
}

/// Returns the name of a service's state type: the name of the service with a capital letter.
fn state_type(service: &str) -> String {
    let (first, rest) = service.split_at(1);
    first.to_uppercase() + rest
}

/// Whether a module is one of [`ALLOWED`] or the root module of a resource, which has its routes.
fn is_allowed(module: &Module) -> bool {
    let is_resource = module.path.len() == 1 && !module.children.is_empty();
    is_resource || ALLOWED.iter().any(|file| module.file.ends_with(file))
}
