//! The operations on files.

mod download;
mod files;
mod links;

use utoipa_actix_web::service_config::ServiceConfig;

pub(crate) use files::MAX_TENANT_RESOLVES;

/// Registers the routes.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    // Registered before the routes with an id, which also match the paths `resolve`, `links` and `usage`.
    v1.service(files::resolve);
    v1.service(links::create_links);
    v1.service(files::list);
    v1.service(files::upload);
    v1.service(files::find_usage);
    v1.service(download::download);
    v1.service(files::info);
    v1.service(files::archive);
    v1.service(links::create_link);
    v1.service(download::download_by_link);
    v1.service(links::list_image_links);
}
