//! The operation on the cache.

use actix_web::post;
use actix_web::web::Data;
use common::wire::ActionResult;
use common::{Admin, Authorized, Body, Error, ErrorResponses, Idempotency, JsonResponse};
use serde::{Deserialize, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::Clear;
use crate::System;

/// What to clear; what is left out is not cleared.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct ClearCache {
    /// The entries with exactly these keys.
    #[schema(max_items = 1000)]
    keys: Vec<CacheKey>,
    /// All entries whose key starts with one of these; every character stands for itself.
    #[schema(max_items = 1000)]
    prefixes: Vec<CacheKey>,
    /// All entries of this deployment.
    flush: Option<bool>,
    /// Verification keys and provider credentials, in every replica of this service.
    secrets: Option<bool>,
}

/// A key or its beginning. Keys hold what was searched for, so they can be longer than that.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct CacheKey(String);

impl PartialSchema for CacheKey {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(2000));
        text.pattern(Some(r"^[^\x00-\x1f\x7f-\x9f]*$")).into()
    }
}
impl ToSchema for CacheKey {}

impl ClearCache {
    fn entries(self) -> Clear {
        let texts = |keys: Vec<CacheKey>| keys.into_iter().map(|key| key.0).collect();
        Clear { keys: texts(self.keys), prefixes: texts(self.prefixes), all: self.flush.unwrap_or_default() }
    }
}

/// Create cache (clears all or part of the cache)
///
/// A request that names nothing clears nothing. Entries begin with their kind: `location:coordinates:`,
/// `location:words:`, `address:search:`. With a shared cache the entries are gone for all replicas when this answers,
/// and the others read their secrets again within 5 s. With the embedded cache each replica has its own: only the one
/// that answers is cleared and reads its secrets again. `secrets` reaches this service only: logistics and livestock
/// take tokens of a withdrawn verification key for up to ten minutes more.
#[utoipa::path(operation_id = "clear_cache", tag = "cache", security(("bearer" = [])),
    request_body = ClearCache,
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/cache")]
pub(super) async fn clear(
    _admin: Authorized<Admin>,
    idempotency: Idempotency,
    body: Body<ClearCache>,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let (wanted, fingerprint) = body.check(|_, _| ())?;
    idempotency
        .run_without_db(&system.db, fingerprint, async || {
            let secrets = wanted.secrets.unwrap_or_default();
            // Before the entries: none is got with an old credential and kept after they were cleared.
            if secrets {
                system.secrets.renew(&system.cache).await?;
            }
            let message = message(system.cache.clear(&wanted.entries()).await?, secrets);
            JsonResponse::json(&ActionResult::new(&message))
        })
        .await
}

fn message(count: u64, secrets: bool) -> String {
    let entries = if count == 1 { "1 entry was".into() } else { format!("{count} entries were") };
    let others = if secrets { "; verification keys and provider credentials are read again" } else { "" };
    format!("{entries} cleared{others}.")
}
