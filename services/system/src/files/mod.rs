//! A file: content that somebody uploaded for an organisation, and who may use it. It is never changed; deleting
//! archives it, since loads and listings go on naming it.
//!
//! The content lies in the [content store](content), the rest in one row. The row is written last, so that whatever
//! has a row has its whole content; content without a row is [swept](sweep) away.

mod answer;
mod api;
pub(crate) mod content;
mod download;
mod form;
mod kept;
mod kind;
pub(crate) mod large;
mod model;
mod resolve;
pub(crate) mod scan;
mod sniff;
mod store;
pub(crate) mod sweep;
mod upload;

use utoipa_actix_web::service_config::ServiceConfig;

/// Calls to resolve files that a tenant may run at once: half of the connections of the smallest pool.
pub(crate) const MAX_TENANT_RESOLVES: usize = 2;

pub(crate) fn routes(v1: &mut ServiceConfig) {
    // Before the paths with an id, which `resolve` would be taken for.
    v1.service(api::resolve);
    v1.service(api::upload);
    v1.service(api::download);
    v1.service(api::info);
    v1.service(api::archive);
}
