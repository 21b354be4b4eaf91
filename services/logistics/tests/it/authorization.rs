//! No operation of this service without a caller.

use super::*;

testkit::on_both! {
    async fn every_operation_needs_a_caller(backend) {
        let called = testkit::every_operation_needs_a_caller(&app(backend).await, &[]).await;
        assert!(called >= 11, "{called}");
    }
}
