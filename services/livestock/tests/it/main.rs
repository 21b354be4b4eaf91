//! Tests of the livestock service over HTTP, on both databases.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test fails by panicking")]

mod authorization;
mod categories;
mod create;
mod demo_data;
mod document;
mod events;
mod facets;
mod files;
mod filters;
mod hostile;
mod lifecycle;
mod log_privacy;
mod model;
mod nearby;
mod pages;
mod personal_data;
mod plans;
mod postgres_plans;
mod refusals;
mod reports;
mod sample;
mod sharing;
mod texts;
mod upgrade;
mod webhooks;
mod wishlist;
mod xlsx_export;
