//! Tests of the module rules on small crates written here.

use super::*;

/// Checks a repository of these files; returns what is wrong with it.
fn violations(files: &[(&str, &str)]) -> Vec<Violation> {
    let mut paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    paths.sort();
    let read = |path: &str| files.iter().find(|(file, _)| *file == path).map(|(_, text)| (*text).to_owned());
    check(&paths, &read)
}

/// Checks the crate `common` of these files; returns the names of each circle.
fn circles(files: &[(&str, &str)]) -> Vec<String> {
    let paths: Vec<String> = files.iter().map(|(path, _)| format!("crates/common/src/{path}")).collect();
    let files: Vec<(&str, &str)> =
        paths.iter().map(String::as_str).zip(files.iter().map(|file| file.1)).collect();
    let names = |wrong: &str| wrong.rsplit_once(": ").map(|(_, names)| names.to_owned());
    violations(&files).iter().filter_map(|violation| names(&violation.wrong)).collect()
}

/// Checks the service `livestock` of these files; returns the places where its state is used wrongly.
fn states(files: &[(&str, &str)]) -> Vec<String> {
    let paths: Vec<String> = files.iter().map(|(path, _)| format!("services/livestock/src/{path}")).collect();
    let files: Vec<(&str, &str)> =
        paths.iter().map(String::as_str).zip(files.iter().map(|file| file.1)).collect();
    violations(&files).into_iter().map(|violation| violation.path).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn a_circle_is_reported_with_its_imports() {
    let found = violations(&[
        ("crates/common/src/lib.rs", "mod a;\nmod b;\nmod c;"),
        ("crates/common/src/a.rs", "\nuse crate::b::B;"),
        ("crates/common/src/b.rs", "fn f() -> super::c::C { crate::c::C }"),
        ("crates/common/src/c/mod.rs", "mod d;"),
        ("crates/common/src/c/d.rs", "use crate::{\n    a::{self, A},\n};"),
    ]);
    let lines: Vec<&str> = found[0].mend.lines().skip(1).map(str::trim).collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, "crates/common/src/lib.rs");
    assert_eq!(found[0].wrong, "submodules of crate import each other in a circle: a, b, c");
    let expected = [
        "a -> b at crates/common/src/a.rs:2",
        "b -> c at crates/common/src/b.rs:1",
        "c -> a at crates/common/src/c/d.rs:2",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_chain_passes() {
    let found = circles(&[
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::b::B; use super::c;"),
        ("b.rs", "use crate::c::C; fn f() { c::g(); config::Config::new(); ::a::x(); self.a::<u8>(); }"),
        ("c.rs", "use std::fmt; use a::B; use ::a::C;"),
    ]);
    assert_eq!(found, NONE);
}

#[test]
fn circles_below_the_root_are_found() {
    let found = circles(&[
        ("lib.rs", "mod loads; mod other { mod x { use super::y::Y; } mod y { use super::x::X; } }"),
        ("loads/mod.rs", "mod api; mod store; use store::S;"),
        ("loads/api.rs", "use super::store; fn f() { store::find(); }"),
        ("loads/store.rs", "use crate::loads::api::Api;"),
    ]);
    assert_eq!(found, ["api, store", "x, y"]);
}

#[test]
fn local_names_and_macro_arguments_count() {
    let found = circles(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate as root; fn f() { println!(\"{}\", root::b::NAME) }"),
        ("b.rs", "#[serde(with = \"crate::a::text\")] struct B;"),
    ]);
    assert_eq!(found, ["a, b"]);
}

#[test]
fn reexports_are_followed() {
    for lib in [
        "mod auth; mod error; pub use error::Error;",
        "mod auth; mod error; pub use error::{Fault as Error, Other};",
        "mod auth; mod error; pub use self::error::*;",
    ] {
        let found = circles(&[
            ("lib.rs", lib),
            ("auth.rs", "use crate::Error;"),
            ("error.rs", "use crate::auth::Caller; pub enum Error {}"),
        ]);
        assert_eq!(found, ["auth, error"], "{lib}");
    }
}

#[test]
fn every_module_of_a_chain_of_reexports_counts() {
    let found = circles(&[
        ("lib.rs", "mod auth; mod error; mod prelude; pub use prelude::Error;"),
        ("auth.rs", "use crate::Error;"),
        ("prelude.rs", "pub use crate::error::Error;"),
        ("error.rs", "use crate::auth::Caller; pub enum Error {}"),
    ]);
    assert_eq!(found, ["auth, error, prelude"]);
}

#[test]
fn exported_macros_belong_to_their_module() {
    let found = circles(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "#[macro_export]\nmacro_rules! after { () => { $crate::b::f() }; }"),
        ("b.rs", "fn f() { crate::after!() }"),
    ]);
    assert_eq!(found, ["a, b"]);
}

#[test]
fn circles_of_reexports_end() {
    let found = circles(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub use crate::b::X;"),
        ("b.rs", "pub use crate::a::X;"),
    ]);
    assert_eq!(found, ["a, b"]);
}

#[test]
fn tests_are_ignored() {
    let found = circles(&[
        ("lib.rs", "mod a; mod b; #[cfg(test)] mod fixtures;"),
        ("a.rs", "use crate::b::B; mod tests; #[cfg(test)] pub mod checks { use crate::fixtures::F; }"),
        ("a/tests.rs", "use crate::fixtures::F;"),
        ("b.rs", "#[cfg(test)] use crate::a::{A, X}; #[cfg(test)] mod tests { use crate::a::A; }"),
        ("fixtures.rs", "use crate::a::A;"),
    ]);
    assert_eq!(found, NONE);
}

#[test]
fn items_of_the_parent_may_be_used() {
    let found = circles(&[
        ("lib.rs", "mod a; pub struct Root;"),
        ("a.rs", "mod b; mod c; use crate::Root; use b::B; pub struct A;"),
        ("a/b.rs", "use super::A; use crate::Root;"),
        ("a/c.rs", "use crate::a::{A, b::B};"),
    ]);
    assert_eq!(found, NONE);
}

#[test]
fn a_file_that_is_not_rust_is_reported() {
    let found = violations(&[("crates/common/src/lib.rs", "mod a;\nfn f() {")]);
    assert!(found[0].wrong.starts_with("cannot be split into tokens at line"), "{}", found[0]);
}

#[test]
fn state_is_for_handlers() {
    let found = states(&[
        ("lib.rs", "mod listings; pub struct Livestock;"),
        ("listings/mod.rs", "mod handlers; mod facets; mod export; mod store;"),
        ("listings/handlers/mod.rs", "mod list;"),
        ("listings/handlers/list.rs", "use crate::Livestock;\n#[utoipa::path(get)]\nasync fn list() {}"),
        ("listings/export.rs", "#[utoipa::path(get)]\nasync fn export() {}"),
        ("listings/facets/mod.rs", "mod cache; mod external;\n\nfn f(state: &crate::Livestock) {}"),
        ("listings/facets/cache.rs", "use super::super::super::Livestock as State;"),
        ("listings/facets/external.rs", "use wire::Livestock; enum Kind { Livestock }"),
        (
            "listings/store.rs",
            "use crate::listings; // Livestock\n#[cfg(test)] mod tests { use crate::Livestock; }",
        ),
    ]);
    let files = [
        "services/livestock/src/listings/facets/mod.rs:3",
        "services/livestock/src/listings/facets/cache.rs:1",
        "services/livestock/src/listings/export.rs",
    ];
    let sorted = |mut files: Vec<String>| {
        files.sort_unstable();
        files
    };
    assert_eq!(sorted(found), sorted(files.map(str::to_owned).to_vec()));
}
