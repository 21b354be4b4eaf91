//! The logistics service over HTTP, on both databases.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test fails by panicking")]

mod acceptance;
mod actions;
mod address_book;
mod authorization;
mod batch;
mod block_list;
mod cancel;
mod checked_in_files;
mod commands;
mod completed_export;
mod corrections;
mod create;
mod creators;
mod csv_roundtrip;
mod date_messages;
mod demo_data;
mod diagnostics;
mod drivers;
mod edit;
mod edit_files;
mod edit_members;
mod feed;
mod file_sharing;
mod history;
mod history_model;
mod injection;
mod life;
mod log_privacy;
mod log_secrets;
mod normalization;
mod notes;
mod notifications;
mod organisation_names;
mod personal_data;
mod pooler;
mod postgres_plans;
mod previous_release;
mod proof_of_delivery;
mod proof_weights;
mod query_plans;
mod races;
mod read;
mod replaced_carrier;
mod revisions;
mod search;
mod search_csv;
mod search_model;
mod standby;
mod sums;
mod webhooks;
mod xlsx_export;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use logistics::{Logistics, Settings};
use serde_json::{Value, json};
use testkit::{App, Backend, SystemStub, TestResponse, User};
use wiremock::{Request, ResponseTemplate};

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

/// Returns a response without its warnings, which are not stored.
fn without_warnings(response: Value) -> Value {
    without(response, "warnings")
}

/// Patches a load.
async fn patch(app: &App, user: &User, id: &str, members: &Value) -> TestResponse {
    app.call("PATCH", &format!("/v1/loads/{id}")).by(user).json(members).send().await
}

/// Cancels a load without a reason.
async fn cancel(app: &App, user: &User, id: &str) -> TestResponse {
    app.post(&format!("/v1/loads/{id}/cancel")).by(user).send().await
}

/// Starts the service. Its notifications stay pending.
async fn app_with_pending_notifications(backend: Backend) -> App {
    let settings = Settings {
        webhook_url: Some("http://127.0.0.1:9/".parse().unwrap()),
        webhook_secrets: vec![secret(1).into()],
        webhook_allow_private: true,
        webhook_retry_seconds: 3_600,
        ..Settings::default()
    };
    App::start::<Logistics>(backend, settings).await
}

/// Returns the history of a load, as an administrator reads it.
async fn events(app: &App, id: &str) -> Vec<Value> {
    let path = format!("/v1/loads/{id}/events?limit=100");
    let events = app.get(&path).by(&User::admin()).send().await.ok();
    events.as_array().unwrap().clone()
}

/// Returns the revision of a load, which its body and its `ETag` show.
async fn revision(app: &App, id: &str) -> i64 {
    let reply = app.get(&format!("/v1/loads/{id}")).by(&User::admin()).send().await;
    let revision = tag(&reply);
    assert_eq!(reply.ok()["revision"], revision);
    revision
}

/// Returns what a load becomes by a change after which it is `after`: of the next revision.
fn revised(mut before: Value, after: &Value) -> Value {
    before["revision"] = json!(before["revision"].as_i64().unwrap() + 1);
    assert!(after["updatedAtUTC"].as_str() >= before["updatedAtUTC"].as_str(), "{after}");
    before["updatedAtUTC"] = after["updatedAtUTC"].clone();
    before
}

/// Returns the revision in an `ETag`.
fn tag(reply: &TestResponse) -> i64 {
    reply.header("etag").trim_matches('"').parse().unwrap()
}

/// Returns the request body of a proof of delivery with a net weight of 29 tonnes.
fn proof_form() -> Value {
    json!({"weightNet": 29, "ticketNumber": "T-1", "vehicleRegistration": "VX21 ABC", "files": null})
}

/// Submits a proof of delivery.
async fn prove(app: &App, user: &User, id: &str, form: &Value) -> TestResponse {
    app.post(&format!("/v1/loads/{id}/proof-of-delivery")).by(user).json(form).send().await
}

/// Returns a number as services write it: whole numbers without a fraction.
fn number(number: f64) -> Value {
    serde_json::from_str(&number.to_string()).unwrap()
}

/// Returns a weight in tonnes as a load shows it.
fn tonnes(weight: f64) -> Value {
    json!({"name": "tonne", "conversion": 1000.0, "weight": number(weight)})
}

/// Returns a response of a receiver of webhooks with this status.
fn respond_with(status: u16) -> ResponseTemplate {
    ResponseTemplate::new(status)
}

/// Returns a webhook secret. Different numbers give different secrets.
fn secret(which: u8) -> String {
    format!("whsec_{}", STANDARD.encode([which; 32]))
}

/// Returns a header of a request to a receiver of webhooks.
fn header<'a>(request: &'a Request, name: &str) -> &'a str {
    request.headers[name].to_str().unwrap()
}
