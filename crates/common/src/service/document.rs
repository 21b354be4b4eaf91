//! The OpenAPI document and the operations that it describes.

use actix_web::App;
use utoipa::openapi::InfoBuilder;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_actix_web::AppExt;
use utoipa_actix_web::scope::scope;
use utoipa_actix_web::service_config::ServiceConfig;

use super::Service;
use crate::openapi::finish;
use crate::settings;

/// Generates the OpenAPI document of a service from its handlers.
///
/// # Errors
/// Fails if a schema cannot be serialized, which is a defect of the service.
pub fn openapi<S: Service>() -> anyhow::Result<serde_json::Value> {
    let (_, mut document) = App::new().into_utoipa_app().configure(operations::<S>).split_for_parts();
    document.info = InfoBuilder::new()
        .title(S::TITLE)
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(S::ABOUT))
        .license(Some(utoipa::openapi::License::new("MIT OR Apache-2.0")))
        .build();
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build();
    document.components.get_or_insert_default().add_security_scheme("bearer", SecurityScheme::Http(bearer));
    finish(&document)
}

/// Adds the operations of a service, and those that every service has.
pub(super) fn operations<S: Service>(config: &mut ServiceConfig) {
    config.service(scope("/v1").configure(S::routes).service(settings::update).service(settings::find));
}
