//! Tests of the livestock service over HTTP, on both databases.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test fails by panicking")]

mod authorization;
mod categories;
mod create;
mod demo_data;
mod document;
mod edit;
mod edit_checks;
mod edit_files;
mod events;
mod facets;
mod files;
mod filters;
mod hostile;
mod lifecycle;
mod log_privacy;
mod model;
mod moderation;
mod nearby;
mod pages;
mod plans;
mod postcodes;
mod postgres_plans;
mod refusals;
mod reports;
mod revisions;
mod sample;
mod saved_searches;
mod sharing;
mod text_plans;
mod text_search;
mod texts;
mod upgrade;
mod webhooks;
mod wishlist;
mod xlsx_export;
