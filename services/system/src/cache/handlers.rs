//! `POST /v1/cache` clears entries and reloads secrets.

use actix_web::post;
use actix_web::web::Data;
use common::wire::ActionResult;
use common::{Admin, Authorized, Body, Error, ErrorResponses, Idempotency, JsonResponse};
use serde::{Deserialize, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};
use utoipa_actix_web::service_config::ServiceConfig;

use crate::System;
use crate::cache::read_through::ClearScope;
use crate::keys::replace_key;

/// Registers the routes under `/v1`.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(clear_cache);
}

/// The entries to clear. An absent member clears nothing.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
#[schema(example = json!({ "keys": [], "prefixes": ["address:search:"], "flush": false, "secrets": false }))]
struct ClearCache {
    /// Clears the entries with exactly these keys.
    #[schema(max_items = 1000)]
    keys: Vec<CacheKey>,
    /// Clears all entries whose keys start with one of these texts. No character is a wildcard.
    #[schema(max_items = 1000)]
    prefixes: Vec<CacheKey>,
    /// Clears all entries of this deployment.
    flush: Option<bool>,
    /// Reloads verification keys and provider credentials in every replica of this service, and makes a new key for
    /// signed links and tokens of service accounts. Links and tokens of the key before stay valid until they expire.
    secrets: Option<bool>,
}

/// A cache key or a prefix of one. Keys contain the text that was searched for, so the limit is longer than that of a
/// search text.
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
    fn scope(self) -> ClearScope {
        let texts = |keys: Vec<CacheKey>| keys.into_iter().map(|key| key.0).collect();
        ClearScope {
            keys: texts(self.keys),
            prefixes: texts(self.prefixes),
            all: self.flush.unwrap_or_default(),
        }
    }
}

/// Create cache (clears all or part of the cache)
///
/// A request without members clears nothing. Each key starts with its kind: `location:coordinates:`,
/// `location:words:`, `location:address:` or `address:search:`. With a shared cache, the entries are gone for all
/// replicas when this operation responds, and the other replicas reload their secrets within 5 s. With the embedded
/// cache, each replica has its own cache: only the replica that responds clears its entries and reloads its secrets.
/// `secrets` reloads in this service only: logistics and livestock accept tokens of a key that the identity provider
/// has withdrawn for up to ten more minutes.
#[utoipa::path(operation_id = "clear_cache", tag = "cache", security(("bearer" = [])),
    extensions(("x-roles" = json!(["admin"]))),
    request_body = ClearCache,
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/cache")]
async fn clear_cache(
    _admin: Authorized<Admin>,
    idempotency: Idempotency,
    body: Body<ClearCache>,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let (request, fingerprint) = body.check(|_, _| ())?;
    idempotency
        .run_external(&system.db, fingerprint, async || {
            let reload_secrets = request.secrets.unwrap_or_default();
            // Secrets come first: otherwise a response fetched with an old credential could be cached after the clear.
            if reload_secrets {
                system.secrets.reload_all_replicas(&system.cache).await?;
            }
            let cleared = system.cache.clear(&request.scope()).await?;
            // The own key comes last: a request that fails, and is sent again, makes no key.
            if reload_secrets {
                replace_key(&system.db).await?;
            }
            JsonResponse::json(&ActionResult::new(message(cleared, reload_secrets)))
        })
        .await
}

fn message(cleared: u64, reload_secrets: bool) -> String {
    let entries = if cleared == 1 { "1 entry was".into() } else { format!("{cleared} entries were") };
    let secrets =
        if reload_secrets { "; verification keys and provider credentials are reloaded" } else { "" };
    format!("{entries} cleared{secrets}.")
}
