//! The operations on service accounts, the token endpoint, and what the issuer publishes.

mod accounts;
mod token;

use actix_web::web::{self, Data};
use common::JsonResponse;
use utoipa_actix_web::service_config::ServiceConfig;

use super::issuer::key_set;
use crate::System;

/// Registers the routes under `/v1`.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(accounts::create)
        .service(accounts::list)
        .service(accounts::find)
        .service(accounts::update)
        .service(accounts::delete)
        .service(accounts::rotate_secret)
        .service(token::create_token);
}

/// Registers the routes of RFC 8414, which are outside `/v1`.
pub(crate) fn well_known_routes(app: &mut web::ServiceConfig) {
    let jwks = async |system: Data<System>| {
        system.issuer.check_enabled()?;
        JsonResponse::json(&key_set(&system.db).await?)
    };
    let metadata = async |system: Data<System>| {
        system.issuer.check_enabled()?;
        JsonResponse::json(&system.issuer.metadata())
    };
    app.service(web::resource("/.well-known/jwks.json").route(web::get().to(jwks)));
    app.service(web::resource("/.well-known/oauth-authorization-server").route(web::get().to(metadata)));
}
