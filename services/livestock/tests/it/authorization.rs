//! No operation of this service without a caller.

use livestock::{Livestock, Settings};
use testkit::App;

testkit::on_both! {
    async fn every_operation_needs_a_caller(backend) {
        let app = App::start::<Livestock>(backend, Settings::default()).await;
        let called = testkit::every_operation_needs_a_caller(&app, &[]).await;
        assert!(called >= 17, "{called}");
    }
}
