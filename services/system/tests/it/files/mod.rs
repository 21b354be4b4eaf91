//! Files: one module for each operation.

mod access;
mod archive;
mod download;
mod idempotency;
mod limits;
mod malformed;
mod memory;
mod ranges;
mod refusals;
mod resolve;
mod store;
mod upload;

use std::path::{Path, PathBuf};

use reqwest::multipart::{Form, Part};
use serde_json::Value;
use system::Settings;
use system::System;
use testkit::{App, Backend, Reply, User};

pub const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01";
pub const PDF: &[u8] = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n";

/// A service with a store of its own.
pub struct Files {
    pub app: App,
    folder: tempfile::TempDir,
}

pub async fn start(backend: Backend) -> Files {
    start_with(backend, Settings::default()).await
}

pub async fn start_with(backend: Backend, settings: Settings) -> Files {
    let folder = tempfile::tempdir().unwrap();
    let store_url = format!("file://{}/store", folder.path().display());
    Files { app: App::start::<System>(backend, Settings { store_url, ..settings }).await, folder }
}

impl Files {
    /// Every file below the store's folder.
    pub fn stored(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        walk(&self.folder.path().join("store"), &mut found);
        found
    }

    /// Waits until the store has so many files.
    pub async fn wait_for(&self, count: usize) {
        for _ in 0..500 {
            if self.stored().len() == count {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("not {count}: {:?}", self.stored());
    }

    pub async fn upload(&self, user: &User, form: Form) -> Reply {
        self.app.post("/v1/files").by(user).form(form).send().await
    }

    /// Uploads a file of this type and returns its id.
    pub async fn make(&self, user: &User, kind: &str, content: &[u8]) -> String {
        id(&self.upload(user, form("files", kind, "a name").part("file", part(content))).await.ok())
    }

    pub async fn get(&self, user: &User, id: &str) -> Reply {
        self.app.get(&format!("/v1/files/{id}")).by(user).send().await
    }

    pub async fn info(&self, user: &User, id: &str) -> Reply {
        self.app.get(&format!("/v1/files/{id}/info")).by(user).send().await
    }

    pub async fn archive(&self, user: &User, id: &str) -> Reply {
        self.app.call("DELETE", &format!("/v1/files/{id}")).by(user).send().await
    }

    pub async fn resolve(&self, user: &User, body: Value) -> Reply {
        self.app.post("/v1/files/resolve").by(user).json(&body).send().await
    }
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, found) } else { found.push(path) }
    }
}

/// The required text fields.
pub fn form(bucket: &str, kind: &str, name: &str) -> Form {
    Form::new().text("bucket", bucket.to_owned()).text("type", kind.to_owned()).text("name", name.to_owned())
}

pub fn part(content: &[u8]) -> Part {
    Part::bytes(content.to_vec()).file_name("part.bin")
}

pub fn id(record: &Value) -> String {
    record["id"].as_str().unwrap().to_owned()
}

/// A form as it goes over the wire: `(disposition parameters, content)`.
pub fn encode(boundary: &str, parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (parameters, content) in parts {
        body.extend(format!("--{boundary}\r\nContent-Disposition: form-data; {parameters}\r\n\r\n").bytes());
        body.extend_from_slice(content);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{boundary}--\r\n").bytes());
    body
}

/// Bytes that no compression and no pattern matching makes easier.
pub fn noise(size: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(&mut next).flatten().take(size).collect()
}
