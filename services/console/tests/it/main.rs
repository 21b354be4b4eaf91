//! The console over HTTP, with the real services in the process of the test.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test fails by panicking")]
