//! Files: one module for each operation.

mod access;
mod archive;
mod clouds;
mod download;
mod hostile;
mod idempotency;
mod large;
mod limits;
mod malformed;
mod memory;
mod ranges;
mod refusals;
mod resolve;
mod scan;
mod store;
mod stored;
mod sweep;
mod texts;
mod trickling;
mod unshare;
mod upload;

use std::path::PathBuf;

use reqwest::multipart::{Form, Part};
use serde_json::Value;
use system::{Settings, System};
use testkit::{App, Backend, S3, TestResponse, User};

use stored::{Store, bucket};

pub const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01";
pub const PDF: &[u8] = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n";

/// Where a service keeps its things.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// Its files in a folder.
    Folder(Backend),
    /// Its files in a bucket of the S3 server, the rest in SQLite.
    Bucket,
}

impl From<Backend> for Place {
    fn from(backend: Backend) -> Self {
        Self::Folder(backend)
    }
}

/// Runs a test as `testkit::on_both!` does, and on a bucket as `name::s3`.
macro_rules! on_all {
    ($($(#[$meta:meta])* async fn $name:ident($place:ident) $body:block)+) => { $(
        $(#[$meta])*
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            async fn run($place: $crate::files::Place) $body
            #[test]
            fn sqlite() {
                testkit::block_on(run(testkit::Backend::Sqlite.into()));
            }
            #[test]
            fn postgres() {
                testkit::block_on(run(testkit::Backend::Postgres.into()));
            }
            #[test]
            fn s3() {
                testkit::block_on(run($crate::files::Place::Bucket));
            }
        }
    )+ };
}
pub(crate) use on_all;

/// A service with a store of its own.
pub struct Files {
    pub app: App,
    pub store: Store,
    pub settings: Settings,
}

pub async fn start(place: impl Into<Place>) -> Files {
    start_with(place, Settings::default()).await
}

pub async fn start_with(place: impl Into<Place>, settings: Settings) -> Files {
    let (backend, store, settings) = match place.into() {
        Place::Folder(backend) => {
            let folder = tempfile::tempdir().unwrap();
            let store_url = format!("file://{}/store", folder.path().display());
            (backend, Store::Folder(folder), Settings { store_url, ..settings })
        }
        Place::Bucket => {
            let s3 = S3::with_unique_prefix();
            (Backend::Sqlite, Store::of(&s3), bucket(&s3, settings))
        }
    };
    Files { app: App::start::<System>(backend, settings.clone()).await, store, settings }
}

impl Files {
    /// Everything in the store.
    pub async fn stored(&self) -> Vec<PathBuf> {
        self.store.list().await
    }

    /// Waits until the store has so many files.
    pub async fn wait_for(&self, count: usize) {
        for _ in 0..500 {
            if self.stored().await.len() == count {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("not {count}: {:?}", self.stored().await);
    }

    /// Shares every file with these organisations, past the limits.
    pub fn set_organisations(&self, backend: Backend, organisations: &[String]) {
        let table = match backend {
            Backend::Sqlite => "files",
            Backend::Postgres => "system.files",
        };
        let list = serde_json::to_string(organisations).unwrap();
        self.app.database.execute(&format!("UPDATE {table} SET organisations = '{list}'"));
    }

    pub async fn upload(&self, user: &User, form: Form) -> TestResponse {
        self.app.post("/v1/files").by(user).form(form).send().await
    }

    /// Uploads a file of this type and returns its id.
    pub async fn make(&self, user: &User, kind: &str, content: &[u8]) -> String {
        id(&self.upload(user, form("files", kind, "a name").part("file", part(content))).await.ok())
    }

    pub async fn get(&self, user: &User, id: &str) -> TestResponse {
        self.app.get(&format!("/v1/files/{id}")).by(user).send().await
    }

    pub async fn info(&self, user: &User, id: &str) -> TestResponse {
        self.app.get(&format!("/v1/files/{id}/info")).by(user).send().await
    }

    pub async fn archive(&self, user: &User, id: &str) -> TestResponse {
        self.app.call("DELETE", &format!("/v1/files/{id}")).by(user).send().await
    }

    pub async fn resolve(&self, user: &User, body: Value) -> TestResponse {
        self.app.post("/v1/files/resolve").by(user).json(&body).send().await
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

/// SHA-256 in hex.
pub fn hash(content: &[u8]) -> String {
    use sha2::Digest;
    base16ct::lower::encode_string(&sha2::Sha256::digest(content))
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
