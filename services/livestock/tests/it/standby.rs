//! Exports from a standby.

use livestock::{Livestock, Settings};
use testkit::{App, User};

use crate::sample::{create, full};

#[test]
fn listings_are_exported_from_a_standby() {
    let farm = User::of("farm");
    let create = async |app: &App| create(app, &farm, &full()).await;
    testkit::block_on(testkit::assert_exports_read_from_standby::<Livestock>(
        Settings::default(),
        &farm,
        "/v1/listings?format=CSV",
        "/v1/listings",
        create,
    ));
}
