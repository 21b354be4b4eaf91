//! `GET /v1/organisations` and `GET /v1/drivers`.

use actix_web::web::Data;
use actix_web::{HttpRequest, get};
use common::validation::{Code, ValidationErrors};
use common::wire::{QueryText, fold};
use common::{
    Authorized, Error, ErrorResponses, JsonResponse, ListParams, Member, OffsetParams, Query, Sorting,
    parse_words,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::Logistics;
use crate::loads::address_book::{DriverContact, OrganisationContact};
use crate::organisations::{BlockedOrganisation, list_blocked};

/// Query parameters of the list of organisations.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct OrganisationParams {
    #[serde(flatten)]
    #[param(ignore)]
    page: ListParams,
    /// Words that the name or the id contains. Not with `f:blocked`.
    #[param(example = "hereford")]
    query: Option<QueryText>,
    /// `true`: the organisations that the caller's organisation has blocked, instead of the address book.
    #[serde(rename = "f:blocked")]
    #[param(inline)]
    blocked: Option<Blocked>,
}

/// The only value of the filter.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Blocked {
    True,
}

/// An organisation of the address book, or one that is blocked.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the rows, which are serialized without it")]
enum OrganisationRow {
    Contact(OrganisationContact),
    Blocked(BlockedOrganisation),
}

/// List organisations
///
/// The address book: the organisations with which the caller's organisation has loads, and itself, in the order of
/// their names, paged by `limit` and `offset`. With `f:blocked=true`, the organisations that it has blocked, the last
/// one first.
#[utoipa::path(operation_id = "list_organisations", tag = "organisations", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(ListParams, OrganisationParams),
    responses((status = 200, body = [OrganisationRow]), ErrorResponses))]
#[get("/organisations")]
pub(super) async fn list_organisations(
    caller: Authorized<Member>,
    query: Query<OrganisationParams>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (page, count, words, blocked) = query.check(|p, errors| {
        let words = parse_query(p.query.as_ref(), errors);
        let page = p.page.parse(&Sorting::newest_first(), errors);
        if p.blocked.is_some() && !words.is_empty() {
            errors.push("query", Code::Inconsistent, "cannot be combined with f:blocked");
        }
        if p.blocked.is_none() && page.after.is_some() {
            errors.push("cursor", Code::Format, "must come from the next link of the same list");
        }
        (page, p.page.count, words, p.blocked)
    })?;
    let own = caller.organisation_id_or_empty().to_owned();
    if blocked.is_some() {
        let read_page = page.clone();
        let found = app.db.read(move |c| list_blocked(c, &own, &read_page, count)).await?;
        return Ok(found.response(&request, &app.public_url, &page));
    }
    let (contacts, total) = app.address_book.organisations(&own, words, page.clone(), count).await?;
    page.offset_response(&request, &app.public_url, contacts, count.then_some(total))
}

/// Query parameters of the list of drivers.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct DriverParams {
    #[serde(flatten)]
    #[param(ignore)]
    page: OffsetParams,
    /// Words that the name or the id contains.
    #[param(example = "megan")]
    query: Option<QueryText>,
}

/// List drivers
///
/// The drivers to whom the caller's organisation has sent loads, in the order of their names.
#[utoipa::path(operation_id = "list_drivers", tag = "organisations", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(OffsetParams, DriverParams),
    responses((status = 200, body = [DriverContact]), ErrorResponses))]
#[get("/drivers")]
pub(super) async fn list_drivers(
    caller: Authorized<Member>,
    query: Query<DriverParams>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (parameters, words) =
        query.check(|p, errors| (p.page.clone(), parse_query(p.query.as_ref(), errors)))?;
    let (own, page, count) = (caller.organisation_id_or_empty(), parameters.page(), parameters.count);
    let (contacts, total) = app.address_book.drivers(own, words, page.clone(), count).await?;
    page.offset_response(&request, &app.public_url, contacts, count.then_some(total))
}

/// Returns the folded words of a query.
fn parse_query(query: Option<&QueryText>, errors: &mut ValidationErrors) -> Vec<String> {
    parse_words(query.map(|query| QueryText(fold(query))).as_ref(), errors)
}
