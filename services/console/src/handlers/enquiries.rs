//! Questions about listings: those that an organisation got, and those that a person sent.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Data;

use super::extract::Parameters;
use super::{html_with, optional};
use crate::Console;
use crate::api::market::{Enquiry, Listing};
use crate::api::{FieldError, Service};
use crate::fields::Fields;
use crate::user::{Failure, User};
use crate::views::enquiries::{EnquiriesView, VIEWS};
use crate::views::{Section, page as document};

/// Questions on a page.
const ROWS: &str = "50";

pub(super) async fn page(
    console: Data<Console>,
    user: User,
    Parameters(parameters): Parameters,
) -> Result<HttpResponse, Failure> {
    show(&console, &user, &parameters, &[], StatusCode::OK).await
}

/// Shows the page. `errors`: why a question was not marked as answered.
pub(super) async fn show(
    console: &Console,
    user: &User,
    parameters: &Fields,
    errors: &[FieldError],
    status: StatusCode,
) -> Result<HttpResponse, Failure> {
    let chosen = parameters.get("view");
    let chosen = VIEWS.iter().find(|view| view.name == chosen).unwrap_or(&VIEWS[0]);
    let caller = user.caller(&console.api);
    let mut query = vec![("scope", chosen.scope), ("limit", ROWS)];
    query.extend(chosen.status.map(|status| ("f:status", status)));
    query.extend(parameters.parameters(&[("cursor", "cursor")]));
    let mut missing = Vec::new();
    let found = caller.get::<Vec<Enquiry>>(Service::Livestock, "/v1/enquiries", &query).await;
    let found = optional(found, &mut missing)?;
    let enquiries = found.as_ref().map_or(&[][..], |reply| reply.value.as_slice());
    let mut ids: Vec<_> = enquiries.iter().map(|enquiry| enquiry.listing_id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let ids = ids.join(",");
    let listings = if ids.is_empty() {
        Vec::new()
    } else {
        let listings =
            caller.get::<Vec<Listing>>(Service::Livestock, "/v1/listings/by-ids", &[("ids", &ids)]).await;
        optional(listings, &mut missing)?.map(|reply| reply.value).unwrap_or_default()
    };
    let view = EnquiriesView {
        user,
        clock: console.clock,
        chosen,
        enquiries,
        listings: &listings,
        next: found.as_ref().and_then(|reply| reply.next.as_deref()),
        missing: &missing,
        errors,
    };
    Ok(html_with(status, &document(user, Section::Market, "Enquiries", &view.markup())))
}
