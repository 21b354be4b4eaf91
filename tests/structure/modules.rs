//! Rules on the modules of crates.

use std::collections::BTreeMap;

use crate::files::Files;
use crate::source::{Crate, Use};

/// Folders of the crates whose modules are checked.
const FOLDERS: [&str; 3] = ["crates/", "services/", "tests/"];
/// Files that are the root of a crate.
const ROOTS: [&str; 3] = ["/src/lib.rs", "/src/main.rs", "/build/main.rs"];

/// Pairs of a module and a sibling that it uses, with file and line of the first use.
type Siblings<'a> = BTreeMap<(&'a [String], &'a [String]), (&'a str, usize)>;

/// Returns the uses between sibling modules that are part of a circle.
pub fn circles(files: &Files) -> Vec<String> {
    in_crates(files, |_, tree| {
        let targets: Vec<_> = tree.uses.iter().map(|Use { path, .. }| tree.resolve(path)).collect();
        let mut siblings = Siblings::new();
        for (Use { module, line, .. }, targets) in tree.uses.iter().zip(&targets) {
            let place = (tree.modules[module].as_str(), *line);
            for target in targets {
                let shared = module.iter().zip(target).take_while(|(from, to)| from == to).count();
                if let (Some(from), Some(to)) = (module.get(..=shared), target.get(..=shared))
                    && tree.modules.contains_key(to)
                {
                    let first = siblings.entry((from, to)).or_insert(place);
                    *first = place.min(*first);
                }
            }
        }
        let mut violations = Vec::new();
        for ((from, to), (file, line)) in
            siblings.iter().filter(|((from, to), _)| reaches(&siblings, to, from))
        {
            let (from, to) = (from.join("::"), to.join("::"));
            let wrong =
                format!("{from} uses {to} in a circle: move what both need to a module that uses neither");
            violations.push(format!("{file}:{line}: {wrong}"));
        }
        violations
    })
}

/// Whether a module uses another one, perhaps through others.
fn reaches(siblings: &Siblings<'_>, from: &[String], to: &[String]) -> bool {
    let mut reached = vec![from];
    let mut next = 0;
    while let Some(module) = reached.get(next).copied() {
        for (_, used) in siblings.keys().filter(|(user, _)| *user == module) {
            if !reached.contains(used) {
                reached.push(used);
            }
        }
        next += 1;
    }
    reached.contains(&to)
}

/// Returns the glob imports of modules of the same crate. `circles` does not see which items they import.
pub fn globs(files: &Files) -> Vec<String> {
    wrong_uses(files, "a glob import of an own module: name the items", |_, tree, Use { path, .. }| {
        let module = path.strip_suffix(&["*".to_owned()]).and_then(|module| tree.resolve(module).pop());
        module.is_some_and(|module| tree.modules.contains_key(&module))
    })
}

/// Returns the handlers of services outside modules named `handlers`.
pub fn handlers(files: &Files) -> Vec<String> {
    let wrong = "a handler outside `handlers`: move it to a file of `handlers` of its resource";
    wrong_uses(files, wrong, |root, _, Use { module, path, .. }| {
        service_below_handlers(root, module).is_some()
            && path.ends_with(&["utoipa".to_owned(), "path".to_owned()])
    })
}

/// Returns the uses of the type of a service's state (`Livestock` of `livestock`) outside modules named `handlers`.
pub fn state(files: &Files) -> Vec<String> {
    let wrong = "the state of the service below its handlers: take the needed parts of it as arguments";
    wrong_uses(files, wrong, |root, tree, Use { module, path, .. }| {
        service_below_handlers(root, module).is_some_and(|service| {
            let state = service[..1].to_uppercase() + &service[1..];
            tree.resolve(path).contains(&vec![state])
        })
    })
}

/// Returns the service of a module that is neither the root of a crate nor part of a module `handlers`.
fn service_below_handlers<'a>(root: &'a str, module: &[String]) -> Option<&'a str> {
    let (service, _) = root.strip_prefix("services/")?.split_once('/')?;
    (!module.is_empty() && module.iter().all(|name| name != "handlers")).then_some(service)
}

fn wrong_uses(files: &Files, wrong: &str, is_wrong: impl Fn(&str, &Crate, &Use) -> bool) -> Vec<String> {
    in_crates(files, |root, tree| {
        let wrong_uses = tree.uses.iter().filter(|used| is_wrong(root, tree, used));
        wrong_uses.map(|used| format!("{}:{}: {wrong}", tree.modules[&used.module], used.line)).collect()
    })
}

/// Calls a rule with the path of the root file and the modules of each crate.
fn in_crates(files: &Files, rule: impl Fn(&str, &Crate) -> Vec<String>) -> Vec<String> {
    let is_root = |path: &&String| {
        FOLDERS.iter().any(|folder| path.starts_with(folder)) && ROOTS.iter().any(|root| path.ends_with(root))
    };
    let check =
        |root: &String| Crate::read(root, files).map_or_else(|error| vec![error], |tree| rule(root, &tree));
    files.keys().filter(is_root).flat_map(check).collect()
}
