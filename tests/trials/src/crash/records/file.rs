//! Uploaded files.

use serde_json::json;
use stack::fixtures;
use stack::http::Body;
use stack::multipart::Form;

use super::Write;
use crate::crash::client::{Request, SYSTEM};
use crate::crash::fixture::{PARTNER, content};
use crate::ledger::WriteState;

/// A file and the writes that changed it.
#[derive(Debug)]
pub struct FileRecord {
    pub name: String,
    /// Seed of its content.
    pub seed: usize,
    /// Size in bytes.
    pub bytes: usize,
    /// SHA-256 of its content in hex.
    pub hash: String,
    pub upload: Write,
    pub archive: Option<WriteState>,
    /// It was shared with the partner.
    pub share: Option<WriteState>,
}

impl FileRecord {
    /// The request that uploads it.
    pub fn request(&self) -> Request<'_> {
        let form = Form {
            file_name: "any.bin",
            media_type: "application/octet-stream",
            ..fixtures::upload(&self.name, content(self.seed, self.bytes))
        };
        Request::post(SYSTEM, "/v1/files", self.upload.key.as_deref(), Body::Form(form))
    }

    /// The request that archives a file.
    pub fn archive_request(id: &str) -> Request<'static> {
        let path = format!("/v1/files/{id}");
        Request { method: "DELETE", ..Request::post(SYSTEM, path, None, Body::Empty) }
    }

    /// The request that shares a file with the partner.
    pub fn share_request(id: &str) -> Request<'static> {
        let body = json!({"ids": [id], "shareWith": [PARTNER.id]});
        Request::post(SYSTEM, "/v1/files/resolve", None, Body::Json(body))
    }
}
