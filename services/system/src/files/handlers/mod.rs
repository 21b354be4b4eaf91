//! The operations on files.

mod archive;
mod create_link;
mod create_links;
mod download;
mod download_by_link;
mod info;
mod list;
mod list_image_links;
mod resolve;
mod upload;
mod usage;

use utoipa_actix_web::service_config::ServiceConfig;

pub(crate) use resolve::MAX_TENANT_RESOLVES;

/// Registers the routes.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    // Registered before the routes with an id, which also match the paths `resolve`, `links` and `usage`.
    v1.service(resolve::resolve);
    v1.service(create_links::create_links);
    v1.service(list::list);
    v1.service(upload::upload);
    v1.service(usage::find_usage);
    v1.service(download::download);
    v1.service(info::info);
    v1.service(archive::archive);
    v1.service(create_link::create_link);
    v1.service(download_by_link::download_by_link);
    v1.service(list_image_links::list_image_links);
}
