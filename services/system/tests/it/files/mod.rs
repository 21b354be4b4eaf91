//! Tests of the operations on files, and their fixtures.

mod access;
mod archive;
mod decode_floods;
mod demo_data;
mod download;
mod google_azure;
mod hostile_input;
mod idempotency;
mod image_copies;
mod image_memory;
mod image_samples;
mod large_responses;
mod links;
mod list;
mod list_plans;
mod malformed_forms;
mod memory_usage;
mod privacy;
mod publish;
mod quota;
mod ranges;
mod resolve;
mod sharing_model;
mod slow_uploads;
mod store_fixture;
mod store_outages;
mod sweep;
mod text_normalization;
mod unshare;
mod upload;
mod upload_limits;
mod upload_validation;
mod virus_scan;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use reqwest::multipart::{Form, Part};
use serde_json::Value;
use system::{Settings, System};
use testkit::{App, Backend, S3, TestResponse, User};

use store_fixture::{StoreFixture, bucket};

pub const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01";
pub const PDF: &[u8] = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n";

/// The storage of a service under test.
#[derive(Clone, Copy, Debug)]
pub enum Storage {
    /// This database, and a folder for contents.
    Folder(Backend),
    /// SQLite, and a bucket of the S3 server for contents.
    Bucket,
}

impl From<Backend> for Storage {
    fn from(backend: Backend) -> Self {
        Self::Folder(backend)
    }
}

/// Runs a test like `testkit::on_both!`, and with a bucket as `name::s3`.
macro_rules! on_all {
    ($($(#[$meta:meta])* async fn $name:ident($storage:ident) $body:block)+) => { $(
        $(#[$meta])*
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            async fn run($storage: $crate::files::Storage) $body
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
                testkit::block_on(run($crate::files::Storage::Bucket));
            }
        }
    )+ };
}
pub(crate) use on_all;

/// A service with its own content store.
pub struct Files {
    pub app: App,
    pub store: StoreFixture,
    pub settings: Settings,
}

pub async fn start(storage: impl Into<Storage>) -> Files {
    start_with(storage, Settings::default()).await
}

pub async fn start_with(storage: impl Into<Storage>, settings: Settings) -> Files {
    let (backend, store, settings) = match storage.into() {
        Storage::Folder(backend) => {
            let folder = tempfile::tempdir().unwrap();
            let store_url = format!("file://{}/store", folder.path().display());
            (backend, StoreFixture::Folder(folder), Settings { store_url, ..settings })
        }
        Storage::Bucket => {
            let s3 = S3::with_unique_prefix();
            (Backend::Sqlite, StoreFixture::of(&s3), bucket(&s3, settings))
        }
    };
    Files { app: App::start::<System>(backend, settings.clone()).await, store, settings }
}

impl Files {
    /// Returns the paths of all files in the store, including staged ones.
    pub async fn stored(&self) -> Vec<PathBuf> {
        self.store.list().await
    }

    /// Returns the bytes of all files in the store, which is a folder.
    pub async fn stored_bytes(&self) -> u64 {
        self.stored().await.iter().map(|path| std::fs::metadata(path).unwrap().len()).sum()
    }

    /// Waits until the store has this number of files.
    pub async fn wait_for_stored(&self, count: usize) {
        for _ in 0..500 {
            if self.stored().await.len() == count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the store does not have {count} files: {:?}", self.stored().await);
    }

    /// Asserts that `/readyz` reports a dependency that does not respond within its limit, 900 ms, at least once in ten
    /// times: a busy machine delays some requests, and a check without a timeout would delay each.
    pub async fn assert_soon_degraded(&self, dependency: &str) {
        let mut fastest = Duration::MAX;
        for _ in 0..10 {
            let began = Instant::now();
            let reply = self.app.get("/readyz").send().await;
            let elapsed = began.elapsed();
            if reply.status == 200 && reply.json()[dependency] == "degraded" {
                fastest = fastest.min(elapsed);
            }
            if fastest < Duration::from_millis(900) {
                return;
            }
        }
        panic!("{dependency} was reported after {fastest:?} at the earliest");
    }

    /// Shares every file with these organisations. Bypasses validation and limits.
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

    /// Uploads a file of this type. Returns its id.
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

/// Returns a form with the required text fields.
pub fn form(bucket: &str, kind: &str, name: &str) -> Form {
    Form::new().text("bucket", bucket.to_owned()).text("type", kind.to_owned()).text("name", name.to_owned())
}

pub fn part(content: &[u8]) -> Part {
    Part::bytes(content.to_vec()).file_name("part.bin")
}

pub fn id(record: &Value) -> String {
    record["id"].as_str().unwrap().to_owned()
}

/// Encodes a form. Each part is `(disposition parameters, content)`.
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

/// Returns the SHA-256 in hexadecimal.
pub fn hash(content: &[u8]) -> String {
    use sha2::Digest;
    base16ct::lower::encode_string(&sha2::Sha256::digest(content))
}

/// Returns pseudorandom bytes, which do not compress.
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
