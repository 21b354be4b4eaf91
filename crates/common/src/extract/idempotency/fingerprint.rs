//! Recognition of repeated requests.

use actix_web::HttpRequest;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::key;

/// A hash of method, path, query and body, by which a repeated request is recognized. It is empty for a request without
/// an `Idempotency-Key`.
#[derive(Clone, Debug, Default)]
pub struct Fingerprint(pub(super) String);

impl Fingerprint {
    /// Computes the fingerprint of a request with this body.
    pub fn of(request: &HttpRequest, body: &[u8]) -> Self {
        Self::start(request).map_or_else(Self::default, |hash| Self::finish(hash.chain_update(body)))
    }

    /// Hashes method, path and query. The caller continues with the body. Returns `None` for a request without a key.
    pub fn start(request: &HttpRequest) -> Option<Sha256> {
        request.headers().contains_key(key::HEADER).then(|| {
            let head = format!("{} {}\n", request.method(), request.uri());
            Sha256::new_with_prefix(head)
        })
    }

    /// Completes a hash that [`Fingerprint::start`] began.
    pub fn finish(hash: Sha256) -> Self {
        Self(URL_SAFE_NO_PAD.encode(hash.finalize()))
    }
}
