//! Finds handlers outside `handlers`, and modules below the handlers that name the state of their service.

use super::super::Violation;
use super::tree::{Module, ModuleTree};

/// Returns a violation for every handler of a service outside a module `handlers`, and for every other module, except
/// the crate root, that names the service's state.
pub fn check(tree: &ModuleTree, service: &str) -> Vec<Violation> {
    let state = state_type(service);
    let mut violations: Vec<Violation> = Vec::new();
    for (index, module) in tree.modules.iter().enumerate().filter(|(_, module)| !may_name_state(module)) {
        if module.scan.has_handler {
            violations.push(Violation::new(
                &module.file,
                "a handler outside `handlers`".to_owned(),
                "move it to handlers/<verb>.rs of its resource",
            ));
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

/// Whether a module is the crate root, the program, or part of a module `handlers`.
fn may_name_state(module: &Module) -> bool {
    module.file.ends_with("src/lib.rs")
        || module.file.ends_with("src/main.rs")
        || module.path.iter().any(|name| name == "handlers")
}
