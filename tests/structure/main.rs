//! Rules of this repository that no other tool checks.
//!
//! Other tools check the rest. cargo-deny checks which crate may depend on which (`deny.toml`). clippy finds `todo!`,
//! `unimplemented!`, tests that are ignored without a reason, and modules in `name.rs` instead of `name/mod.rs`
//! (`[workspace.lints]`). rustfmt limits the width of code.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

mod documents;
mod examples;
mod files;
mod growth;
mod manifests;
mod modules;
mod security;
mod services;
mod source;
mod text;

/// Makes a test of each rule. It fails if the rule finds violations in this repository.
macro_rules! rules {
    ($($name:ident: $rule:path,)*) => {
        $(
            #[test]
            fn $name() {
                let violations = $rule(&files::read());
                assert!(violations.is_empty(), "{} violations:\n{}\n", violations.len(), violations.join("\n"));
            }
        )*
    };
}

rules! {
    rust_files_have_at_most_600_lines: text::long_files,
    comment_lines_have_at_most_120_bytes: text::long_comments,
    nothing_is_marked_as_unfinished: text::unfinished,
    no_private_key_is_checked_in: text::private_keys,
    scripts_make_no_markup_from_text: text::markup_from_text,
    every_crate_inherits_the_lints: manifests::lints,
    one_module_has_unsafe_code: manifests::unsafe_code,
    only_tests_depend_on_testkit: manifests::testkit,
    deployed_versions_are_that_of_the_workspace: manifests::versions,
    every_table_has_a_stated_limit: growth::undocumented_tables,
    every_item_of_the_asvs_has_a_test_or_a_reason: security::wrong_asvs_rows,
    every_security_event_is_documented: security::undocumented_security_events,
    services_have_the_same_files: services::missing_files,
    versions_of_migrations_are_unique: services::duplicate_versions,
    secret_settings_are_secret_strings: services::bare_secrets,
    only_stores_use_diesel: services::diesel,
    openapi_documents_have_examples: documents::missing_examples,
    the_guide_says_who_may_call_each_operation: documents::wrong_permissions,
    openapi_documents_describe_their_operations: documents::missing_descriptions,
    handlers_are_in_modules_named_handlers: modules::handlers,
    only_handlers_use_the_state_of_a_service: modules::state,
    sibling_modules_do_not_use_each_other_in_circles: modules::circles,
    own_modules_are_not_imported_by_globs: modules::globs,
}
