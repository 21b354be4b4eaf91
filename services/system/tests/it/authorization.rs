//! No operation without a caller, but those that interface.md opens to everybody.

use crate::files;

const OPEN: [&str; 6] = [
    "find_location_by_words",
    "find_location_by_address",
    "find_location_by_coordinates",
    "search_addresses",
    "list_countries",
    "list_regions",
];

testkit::on_both! {
    async fn every_operation_needs_a_caller(backend) {
        let files = files::start(backend).await;
        let public = OPEN.map(|id| format!("{id}_public"));
        let open: Vec<_> = OPEN.into_iter().chain(public.iter().map(String::as_str)).collect();
        let called = testkit::every_operation_needs_a_caller(&files.app, &open).await;
        assert!(called >= 8, "{called}");
    }
}
