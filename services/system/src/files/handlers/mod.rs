//! The operations on files.

mod archive;
mod download;
mod info;
mod resolve;
mod upload;

use utoipa_actix_web::service_config::ServiceConfig;

pub(crate) use resolve::MAX_TENANT_RESOLVES;

/// Registers the routes.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    // Registered before the routes with an id, which also match the path `resolve`.
    v1.service(resolve::resolve);
    v1.service(upload::upload);
    v1.service(download::download);
    v1.service(info::info);
    v1.service(archive::archive);
}
