//! Exports from a standby.

use super::*;

#[test]
fn loads_are_exported_from_a_standby() {
    testkit::block_on(testkit::assert_exports_read_from_standby::<Logistics>(
        Settings::default(),
        &User::of("haul"),
        "/v1/loads?format=CSV",
        "/v1/loads",
        create_load,
    ));
}

#[test]
fn personal_data_are_exported_from_a_standby() {
    testkit::block_on(testkit::assert_exports_read_from_standby::<Logistics>(
        Settings::default(),
        &User::admin(),
        "/v1/users/user-of-haul/data",
        "/v1/loads",
        create_load,
    ));
}
