//! User journeys across the three services, over HTTP, on both databases.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test fails by panicking")]

mod databases;
mod deliver_load;
mod examples;
mod failures;
mod sell_livestock;
mod send_load;
mod service_accounts;
mod traces;

use livestock::Livestock;
use logistics::Logistics;
use reqwest::multipart::{Form, Part};
use serde_json::Value;
use system::System;
use testkit::{App, Backend, User};

/// Returns a minimal photograph: the first bytes of a JPEG, then a text that distinguishes it from others.
fn photograph(text: &str) -> Vec<u8> {
    let header = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00";
    let scan = b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00";
    [header, &scan[..], text.as_bytes(), b"\xff\xd9"].concat()
}

/// The three services, each with its own database.
struct Drover {
    system: App,
    logistics: App,
    livestock: App,
    _files: tempfile::TempDir,
}

impl Drover {
    async fn start(backend: Backend) -> Self {
        let files = tempfile::tempdir().unwrap();
        let store_url = format!("file://{}", files.path().display());
        let system =
            App::start::<System>(backend, system::Settings { store_url, ..Default::default() }).await;
        let settings = logistics::Settings { system_url: system.url.clone(), ..Default::default() };
        let logistics = Box::pin(App::start::<Logistics>(backend, settings)).await;
        let settings = livestock::Settings {
            system_url: system.url.clone(),
            public_listings: true,
            ..Default::default()
        };
        let livestock = Box::pin(App::start::<Livestock>(backend, settings)).await;
        Self { system, logistics, livestock, _files: files }
    }

    /// Uploads a photograph. Returns the id of the file.
    async fn upload(&self, user: &User, kind: &str, name: &str) -> String {
        let part =
            Part::bytes(photograph(name)).file_name(format!("{name}.jpg")).mime_str("image/jpeg").unwrap();
        let form =
            Form::new().text("bucket", "images").text("type", kind.to_owned()).text("name", name.to_owned());
        let record = self.system.post("/v1/files").by(user).form(form.part("file", part)).send().await.ok();
        record["id"].as_str().unwrap().to_owned()
    }

    /// Downloads a file. Returns the status and the body.
    async fn download(&self, user: &User, id: &str) -> (u16, Vec<u8>) {
        let reply = self.system.get(&format!("/v1/files/{id}")).by(user).send().await;
        (reply.status, reply.bytes)
    }
}

/// Returns the `id` of a response body.
fn id_of(body: &Value) -> &str {
    body["id"].as_str().unwrap()
}
