//! The market: the list of listings with its filters and its map, what is saved of it, and the pictures of visitors.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use maud::html as markup;
use reqwest::Method;
use serde_json::{Value, json};

use super::extract::{Parameters, PostForm, Visitor, find_user};
use super::files::{download_of, find_pictures};
use super::loads::borrowed;
use super::{errors_of, html_with, log_away, new_key, only, optional, see_other};
use crate::Console;
use crate::api::market::{Clusters, Facets, Listing};
use crate::api::{CallError, Caller, FieldError, Refusal, Service, Write, segment, with_query};
use crate::fields::Fields;
use crate::loads::{FILE_ERROR, FILES};
use crate::market::{Area, MarketQuery, groups};
use crate::user::{Failure, User};
use crate::views::forms::capital;
use crate::views::listing::curl;
use crate::views::listing_form::stored;
use crate::views::market::MarketView;
use crate::views::messages::sentence;
use crate::views::saving::SaveView;
use crate::views::{Section, page as document, visitor};

/// Files of a listing that may be the picture of its card.
const FILES_OF_CARD: usize = 2;

pub(super) async fn page(console: Data<Console>, request: HttpRequest) -> Result<HttpResponse, Failure> {
    let query = MarketQuery::parse(request.query_string());
    if let Some(user) = find_user(&request).await? {
        let is_saved = Fields::parse(request.query_string().as_bytes()).get("done") == "saved";
        let done = "The search is saved. It is in Connections, with the number of new listings.";
        let caller = user.caller(&console.api);
        return show(&console, &caller, Some(&user), &query, is_saved.then_some(done), None).await;
    }
    if query.is_of_members() {
        return Err(Failure::LoggedOut { to: query.path() });
    }
    let visitor = Visitor::of(&request)?;
    show(&console, &visitor.caller(&console.api), None, &query, None, None).await
}

/// Shows the market to a person, or to a visitor. `refusal`: why something was not done.
pub(super) async fn show(
    console: &Console,
    caller: &Caller<'_>,
    user: Option<&User>,
    query: &MarketQuery,
    done: Option<&str>,
    refusal: Option<&Refusal>,
) -> Result<HttpResponse, Failure> {
    let path = if user.is_some() { "/v1/listings" } else { "/v1/public/listings" };
    let shown = query.area().map_or(Area::WHOLE, Area::shown);
    let zoom = shown.zoom();
    let (page, filters) = (query.page(), query.parameters());
    let zoom_text = zoom.to_string();
    let counted = [borrowed(&filters), vec![("docs", "false")]].concat();
    let mapped = [borrowed(&filters), vec![("format", "GEOJSON"), ("clusterZoom", &zoom_text)]].concat();
    let page = borrowed(&page);
    let (listings, facets, all, clusters) = futures_util::join!(
        caller.get::<Vec<Listing>>(Service::Livestock, path, &page),
        caller.get::<Facets>(Service::Livestock, path, &counted),
        async {
            // Without filters, both count the same.
            if filters.is_empty() {
                return None;
            }
            Some(caller.get::<Facets>(Service::Livestock, path, &[("docs", "false")]).await)
        },
        caller.get::<Clusters>(Service::Livestock, path, &mapped),
    );
    let mut status = if listings.is_ok() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let mut missing = Vec::new();
    let mut refusals: Vec<_> = refusal.into_iter().collect();
    if let Err(CallError::Refused(refusal)) = &listings {
        // Without a public market, visitors have to log in.
        if user.is_none() && refusal.status == 404 {
            return Err(Failure::LoggedOut { to: query.path() });
        }
        refusals.push(refusal);
    }
    for refusal in refusals {
        missing.push(sentence(refusal));
        status = refusal.status_code();
    }
    let listings = optional(listings, &mut missing)?;
    let facets = optional(facets, &mut missing)?.map(|reply| reply.value);
    let all = match all {
        Some(all) => optional(all, &mut missing)?.map(|reply| reply.value),
        None => facets.clone(),
    };
    let all = all.unwrap_or_default();
    let clusters = optional(clusters, &mut missing)?.map(|reply| reply.value);
    let found = listings.as_ref().map_or(&[][..], |reply| reply.value.as_slice());
    let pictures = match user {
        Some(_) => {
            let files = found.iter().flat_map(|listing| listing.files.iter().take(FILES_OF_CARD));
            let ids: Vec<_> = files.map(|file| file.id.as_str()).collect();
            find_pictures(caller, &ids, &mut missing).await?
        }
        None => Vec::new(),
    };
    let view = MarketView {
        user,
        clock: console.clock,
        query,
        listings: listings.as_ref().map(|reply| reply.value.as_slice()),
        pictures: &pictures,
        next: listings.as_ref().and_then(|reply| reply.next.as_deref()),
        total: facets.as_ref().map(|facets| facets.total),
        groups: &groups(query, &facets.unwrap_or_default(), &all),
        clusters: clusters.as_ref(),
        zoom,
        tiles: console.tiles.as_ref(),
        missing: &missing,
        done,
    };
    let body = view.markup();
    let page = match user {
        Some(user) => document(user, Section::Market, "Market", &body),
        None => visitor("Market", &body),
    };
    Ok(html_with(status, &page))
}

/// Asks how a search is called that is saved.
pub(super) async fn save_form(user: User, request: HttpRequest) -> Result<HttpResponse, Failure> {
    only(!user.person.is_weigher)?;
    let query = MarketQuery::parse(request.query_string());
    let first = Fields(vec![("notify".to_owned(), "yes".to_owned())]);
    Ok(show_save(&user, &query, &first, &[], StatusCode::OK))
}

fn show_save(
    user: &User,
    query: &MarketQuery,
    typed: &Fields,
    errors: &[FieldError],
    status: StatusCode,
) -> HttpResponse {
    let body = saved_search(query, typed);
    let view = SaveView { user, query, typed, errors, key: &new_key() };
    let page = markup! { (view.markup()) (curl("-X POST \"$LIVESTOCK/v1/saved-searches\"", &body)) };
    html_with(status, &document(user, Section::Market, "Save a search", &page))
}

fn saved_search(query: &MarketQuery, typed: &Fields) -> Value {
    json!({"name": typed.get("name"), "notify": typed.find("notify").is_some(), "parameters": query.saved()})
}

pub(super) async fn save(console: Data<Console>, form: PostForm) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let query = MarketQuery::parse(fields.get("query"));
    let caller = user.caller(&console.api);
    let write = Write { key: Some(fields.get("key")), revision: None };
    let body = saved_search(&query, &fields);
    let sent =
        caller.send_json(Service::Livestock, Method::POST, "/v1/saved-searches", Some(&body), write).await;
    match sent {
        Ok(_) => Ok(see_other(&with_query(&query.path(), &[("done", "saved")]))),
        Err(CallError::Refused(refusal)) => {
            Ok(show_save(&user, &query, &fields, &errors_of(&refusal), refusal.status_code()))
        }
        Err(error) => Err(Failure::from(error).keeping("/market/save", fields)),
    }
}

/// Passes a picture of a public listing on, by the link that the market gave.
pub(super) async fn picture(
    console: Data<Console>,
    request: HttpRequest,
    Parameters(parameters): Parameters,
    id: Path<String>,
) -> Result<HttpResponse, Failure> {
    let visitor = Visitor::of(&request)?;
    let query: Vec<_> = parameters.0.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let path = format!("/v1/public/files/{}", segment(&id));
    let reply = download_of(&visitor.caller(&console.api), &request, (Service::System, &path), &query).await;
    if let Err(Failure::Call(CallError::Away { service, cause })) = &reply {
        log_away(*service, cause);
        return Ok(HttpResponse::ServiceUnavailable().finish());
    }
    reply
}

/// Stores pictures that are added to a form while it is written, and returns them as the form shows them.
pub(super) async fn add_pictures(form: PostForm) -> HttpResponse {
    let fields = form.fields;
    let errors = fields.all(FILE_ERROR);
    let page = markup! {
        (stored(&fields.all(FILES)))
        @for error in &errors { p.error { (capital(error)) } }
    };
    html_with(StatusCode::OK, &page)
}
