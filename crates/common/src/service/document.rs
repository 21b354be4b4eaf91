//! The OpenAPI document and the operations that it describes.

use actix_web::App;
use serde_json::Value;
use utoipa::openapi::info::{InfoBuilder, LicenseBuilder};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa_actix_web::AppExt;
use utoipa_actix_web::scope::scope;
use utoipa_actix_web::service_config::ServiceConfig;

use super::Service;
use crate::openapi::{add_response_examples, finish, publish};
use crate::personal_data::handlers as personal_data;
use crate::settings;

/// SPDX expression.
const LICENSE: &str = "MIT OR Apache-2.0";

const ABOUT_TOKENS: &str = "A token (JWT) of your identity provider, or of a service account. Paste it without \
    `Bearer`. It says who you are, for which organisation you act, and your roles. On your own machine, \
    `cargo xtask up` prints one. See docs/api/authentication.md.";

/// Tags of the operations that every service has.
const COMMON_TAGS: [(&str, &str); 2] = [
    ("settings", "Settings of the service that apply without a restart"),
    ("users", "The personal data of users"),
];

/// Generates the OpenAPI document of a service from its handlers, as it is published without a `public_url`.
///
/// # Errors
/// Fails if a schema cannot be serialized, which is a defect of the service.
pub fn openapi<S: Service>() -> anyhow::Result<Value> {
    Ok(publish(&exact_openapi::<S>()?, None))
}

/// Generates the document by which requests are validated.
pub(super) fn exact_openapi<S: Service>() -> anyhow::Result<Value> {
    let (_, mut document) = App::new().into_utoipa_app().configure(operations::<S>).split_for_parts();
    document.info = InfoBuilder::new()
        .title(S::TITLE)
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(S::ABOUT))
        .license(Some(LicenseBuilder::new().name(LICENSE).identifier(Some(LICENSE)).build()))
        .build();
    let tags = S::TAGS.iter().chain(&COMMON_TAGS);
    let tag =
        |(name, description): &(&str, &str)| TagBuilder::new().name(*name).description(Some(*description));
    document.tags = Some(tags.map(|pair| tag(pair).build()).collect());
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .bearer_format("JWT")
        .description(Some(ABOUT_TOKENS))
        .build();
    document.components.get_or_insert_default().add_security_scheme("bearer", SecurityScheme::Http(bearer));
    let mut document = finish(&document)?;
    add_response_examples(&mut document, S::EXAMPLES)?;
    S::describe(&mut document);
    Ok(document)
}

/// Adds the operations of a service, and those that every service has.
pub(super) fn operations<S: Service>(config: &mut ServiceConfig) {
    config.service(
        scope("/v1")
            .configure(S::routes)
            .service(settings::update)
            .service(settings::find)
            .service(personal_data::export)
            .service(personal_data::erase),
    );
}
