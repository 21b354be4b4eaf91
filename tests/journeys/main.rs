//! What people do with Drover, across the three services, over real HTTP, on both databases.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test fails by panicking")]

mod farmer;
mod haulier;
mod sending;
mod traces;
mod trouble;

use livestock::Livestock;
use logistics::Logistics;
use reqwest::multipart::{Form, Part};
use serde_json::Value;
use system::System;
use testkit::{App, Backend, User};

/// The smallest thing that is a photograph: a JPEG's first bytes, and something to tell it from others.
fn photograph(what: &str) -> Vec<u8> {
    [b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01", what.as_bytes()].concat()
}

/// The three services, as they are deployed, over databases of their own.
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
        let logistics = App::start::<Logistics>(backend, settings).await;
        let settings = livestock::Settings { system_url: system.url.clone(), ..Default::default() };
        let livestock = App::start::<Livestock>(backend, settings).await;
        Self { system, logistics, livestock, _files: files }
    }

    /// Uploads a photograph and gives the file's id.
    async fn upload(&self, user: &User, kind: &str, name: &str) -> String {
        let part =
            Part::bytes(photograph(name)).file_name(format!("{name}.jpg")).mime_str("image/jpeg").unwrap();
        let form =
            Form::new().text("bucket", "images").text("type", kind.to_owned()).text("name", name.to_owned());
        let record = self.system.post("/v1/files").by(user).form(form.part("file", part)).send().await.ok();
        record["id"].as_str().unwrap().to_owned()
    }

    /// The status and content of a file.
    async fn download(&self, user: &User, id: &str) -> (u16, Vec<u8>) {
        let reply = self.system.get(&format!("/v1/files/{id}")).by(user).send().await;
        (reply.status, reply.bytes)
    }
}

fn id_of(answer: &Value) -> &str {
    answer["id"].as_str().unwrap()
}
