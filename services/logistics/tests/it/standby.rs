//! Exports from a standby.

use super::*;

#[test]
fn loads_are_exported_from_a_standby() {
    testkit::block_on(testkit::assert_exports_read_from_standby::<Logistics>(
        Settings::default(),
        &User::of("haul"),
        "/v1/loads",
        create_load,
    ));
}
