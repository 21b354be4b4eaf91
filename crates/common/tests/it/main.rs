//! Tests of the shared parts over real HTTP, through a fixture service (`echo`).
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test fails by panicking")]

mod authentication;
mod bodies;
mod drain;
mod echo;
mod errors;
mod idempotency;
mod in_flight_gauge;
mod injection;
mod key_sources;
mod keys;
mod malformed_http;
mod paging;
mod parsers;
mod public_routes;
mod queries;
mod request_smuggling;
mod response_headers;
mod settings;
mod shutdown;
mod slow_clients;
mod startup;
mod swagger_ui;
mod texts;
mod unknown_parameters;
mod unparsed_requests;
mod unversioned_routes;
