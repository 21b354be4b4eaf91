//! The logistics service over HTTP, on both databases.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test fails by panicking")]

mod acceptance;
mod authorization;
mod batch;
mod checked_in_files;
mod commands;
mod completed_export;
mod create;
mod creators;
mod csv_roundtrip;
mod diagnostics;
mod drivers;
mod file_sharing;
mod injection;
mod log_privacy;
mod log_secrets;
mod normalization;
mod notifications;
mod organisation_names;
mod postgres_plans;
mod proof_of_delivery;
mod query_plans;
mod read;
mod search;
mod search_csv;
mod search_model;

use logistics::{Logistics, Settings};
use serde_json::{Value, json};
use testkit::{App, Backend, SystemStub, User};

/// Starts a service without files: its system service does not exist.
async fn app(backend: Backend) -> App {
    App::start::<Logistics>(backend, Settings::default()).await
}

/// Starts a service with a stub of the system service.
async fn app_with_files(backend: Backend) -> (App, SystemStub) {
    let system = SystemStub::start().await;
    let settings = Settings { system_url: system.url(), ..Settings::default() };
    (App::start::<Logistics>(backend, settings).await, system)
}

/// Returns the request body of a load that `grain` creates as its organiser.
fn organiser_form() -> Value {
    json!({
        "organiserId": "grain", "organiserName": "Border Grain", "commodityId": 1, "reference": "BG-1",
        "deliveryDateISO": "2026-03-01", "weight": 29.4, "weightNet": null, "files": null, "tags": ["harvest"],
    })
}

/// Returns the request body of a load that `haul` creates as its carrier, with `grain` as organiser.
fn carrier_form() -> Value {
    json!({
        "carrierId": "haul", "carrierName": "Hereford Haulage", "organisationId": "grain",
        "organisationName": "Border Grain", "commodityId": 1, "reference": "HH-1",
        "deliveryDateISO": "2026-03-01T10:30:00+01:00", "weight": null, "tags": [],
    })
}

/// Returns a user whose token has no name of the organisation, so that requests supply it.
fn without_org_name(organisation: &str) -> User {
    let mut user = User::of(organisation);
    user.claims.as_object_mut().unwrap().remove("orgName");
    user
}

/// Accepts a load as `grain`.
async fn accept(app: &App, id: &str) {
    app.post(&format!("/v1/loads/{id}/accept")).by(&User::of("grain")).send().await.ok();
}

/// Creates a load of `grain` carried by `haul`. Returns its id.
async fn create_load(app: &App) -> String {
    let load =
        app.post("/v1/loads/carrier").by(&without_org_name("haul")).json(&carrier_form()).send().await.ok();
    load["id"].as_str().unwrap().to_owned()
}

/// Returns an object with one member changed.
fn with(mut form: Value, member: &str, value: Value) -> Value {
    form[member] = value;
    form
}

/// Returns an object without one member.
fn without(mut form: Value, member: &str) -> Value {
    form.as_object_mut().unwrap().remove(member);
    form
}
