//! The logistics service over HTTP, on both databases.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test fails by panicking")]

mod accept;
mod authorization;
mod batch;
mod commands;
mod create;
mod creators;
mod csv;
mod document;
mod drivers;
mod export;
mod hostile;
mod logs;
mod names;
mod notifications;
mod operated;
mod plans;
mod private;
mod proof;
mod read;
mod roundtrip;
mod search;
mod search_model;
mod sharing;
mod texts;

use logistics::{Logistics, Settings};
use serde_json::{Value, json};
use testkit::{App, Backend, SystemStub, User};

/// A service whose system service knows no file and is never asked.
async fn app(backend: Backend) -> App {
    App::start::<Logistics>(backend, Settings::default()).await
}

/// A service beside a stand-in for system.
async fn app_with_files(backend: Backend) -> (App, SystemStub) {
    let system = SystemStub::start().await;
    let settings = Settings { system_url: system.url(), ..Settings::default() };
    (App::start::<Logistics>(backend, settings).await, system)
}

/// The organiser form, complete, for the organisation `grain`.
fn organiser_form() -> Value {
    json!({
        "organiserId": "grain", "organiserName": "Border Grain", "commodityId": 1, "reference": "BG-1",
        "deliveryDateISO": "2026-03-01", "weight": 29.4, "weightNet": null, "files": null, "tags": ["harvest"],
    })
}

/// The carrier form, complete, for the organisation `haul` with `grain` as organiser.
fn carrier_form() -> Value {
    json!({
        "carrierId": "haul", "carrierName": "Hereford Haulage", "organisationId": "grain",
        "organisationName": "Border Grain", "commodityId": 1, "reference": "HH-1",
        "deliveryDateISO": "2026-03-01T10:30:00+01:00", "weight": null, "tags": [],
    })
}

/// A user of this organisation whose token does not name it: its name comes from the request.
fn unnamed(organisation: &str) -> User {
    let mut user = User::of(organisation);
    user.claims.as_object_mut().unwrap().remove("orgName");
    user
}

/// Accepts a load for `grain`.
async fn accept(app: &App, id: &str) {
    app.post(&format!("/v1/loads/{id}/accept")).by(&User::of("grain")).send().await.ok();
}

/// Creates a load of `grain` carried by `haul`, and gives its id.
async fn created(app: &App) -> String {
    let load = app.post("/v1/loads/carrier").by(&unnamed("haul")).json(&carrier_form()).send().await.ok();
    load["id"].as_str().unwrap().to_owned()
}

/// A value with one member changed.
fn with(mut form: Value, member: &str, value: Value) -> Value {
    form[member] = value;
    form
}

/// A value with one member taken out.
fn without(mut form: Value, member: &str) -> Value {
    form.as_object_mut().unwrap().remove(member);
    form
}
