//! The operations on saved searches.

mod create;
mod delete;
mod find;
mod list;
mod list_listings;
mod update;

use utoipa_actix_web::service_config::ServiceConfig;

/// Registers the operations.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(create::create_saved_search)
        .service(list::list_saved_searches)
        .service(list_listings::list_listings_of_saved_search)
        .service(find::find_saved_search)
        .service(update::update_saved_search)
        .service(delete::delete_saved_search);
}
