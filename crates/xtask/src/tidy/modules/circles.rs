//! Finds sibling modules that import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::super::Violation;
use super::tree::ModuleTree;

/// File and line of an import.
type Site<'a> = (&'a str, usize);
/// The first import of each pair of siblings (who imports, what it imports).
type Edges<'a> = BTreeMap<(&'a str, &'a str), Site<'a>>;

/// Returns a violation for every circle, at every level of the tree.
pub fn check(tree: &ModuleTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (parent, edges) in edges_by_parent(tree) {
        for circle in circles(&edges) {
            violations.push(violation(tree, parent, &circle, &edges));
        }
    }
    violations
}

/// Collects the edges between siblings by the path of their parent.
fn edges_by_parent(tree: &ModuleTree) -> BTreeMap<&[String], Edges<'_>> {
    let mut edges: BTreeMap<&[String], Edges<'_>> = BTreeMap::new();
    for (index, module) in tree.modules.iter().enumerate() {
        for path in &module.scan.paths {
            for target in tree.resolve(index, &path.segments).modules {
                let target = &tree.modules[target].path;
                let shared = module.path.iter().zip(target).take_while(|(from, to)| from == to).count();
                let (Some(from), Some(to)) = (module.path.get(shared), target.get(shared)) else { continue };
                let site = (module.file.as_str(), path.line);
                let first = edges.entry(&target[..shared]).or_default().entry((from, to)).or_insert(site);
                *first = site.min(*first);
            }
        }
    }
    edges
}

/// Returns the sets of more than one module in which each reaches each other.
fn circles<'a>(edges: &Edges<'a>) -> Vec<BTreeSet<&'a str>> {
    let mut circles: Vec<BTreeSet<&str>> = Vec::new();
    for (from, _) in edges.keys() {
        if circles.iter().any(|circle| circle.contains(from)) {
            continue;
        }
        let there = reachable(edges, from);
        let circle: BTreeSet<&str> =
            there.into_iter().filter(|name| reachable(edges, name).contains(from)).collect();
        if circle.len() > 1 {
            circles.push(circle);
        }
    }
    circles
}

fn reachable<'a>(edges: &Edges<'a>, start: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![start];
    while let Some(name) = waiting.pop() {
        for (_, to) in edges.keys().filter(|(from, _)| *from == name) {
            if reached.insert(*to) {
                waiting.push(to);
            }
        }
    }
    reached
}

fn violation(tree: &ModuleTree, parent: &[String], circle: &BTreeSet<&str>, edges: &Edges<'_>) -> Violation {
    let file = tree.modules.iter().find(|module| module.path == parent).map_or("", |module| &module.file);
    let module =
        std::iter::once("crate").chain(parent.iter().map(String::as_str)).collect::<Vec<_>>().join("::");
    let names = circle.iter().copied().collect::<Vec<_>>().join(", ");
    let mut mend =
        "remove one import of each circle, or move the items that both sides need into a module that \
                    imports neither. Imports:"
            .to_owned();
    for ((from, to), (file, line)) in edges {
        if circle.contains(from) && circle.contains(to) {
            let _ = write!(mend, "\n    {from} -> {to} at {file}:{line}");
        }
    }
    Violation::new(file, format!("submodules of {module} import each other in a circle: {names}"), mend)
}
