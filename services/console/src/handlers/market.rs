//! The market: the list of listings with its filters and its map, what is saved of it, and the pictures of visitors.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use maud::html as markup;
use reqwest::Method;
use serde_json::{Value, json};

use super::extract::{PostForm, context, find_user};
use super::files::download_of;
use super::loads::borrowed;
use super::{html_with, log_away, new_key, optional, see_other};
use crate::Console;
use crate::api::market::{Clusters, Facets, Listing};
use crate::api::model::FileInfo;
use crate::api::{CallError, Caller, FieldError, Refusal, Reply, Service, Write, segment, with_query};
use crate::fields::Fields;
use crate::guard::way_back;
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
/// The most files that system resolves at once.
const MAX_RESOLVED: usize = 50;

pub(super) async fn page(console: Data<Console>, request: HttpRequest) -> Result<HttpResponse, Failure> {
    let user = find_user(&request).await?;
    let query = MarketQuery::parse(request.query_string());
    let context = context(&request).ok_or_else(|| anyhow::anyhow!("a request without a context"))?;
    let (caller, path) = match &user {
        Some(user) => (user.caller(&console.api), "/v1/listings"),
        None => (Caller::visitor(&console.api, &context), "/v1/public/listings"),
    };
    if user.is_none() && query.is_of_members() {
        return Err(Failure::LoggedOut { to: query.path() });
    }
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
    if let Err(CallError::Refused(refusal)) = &listings {
        // Without a public market, visitors have to log in.
        if user.is_none() && refusal.status == 404 {
            return Err(Failure::LoggedOut { to: query.path() });
        }
        missing.push(sentence(refusal));
        status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
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
    let pictures = match &user {
        Some(_) => {
            let files = found.iter().flat_map(|listing| listing.files.iter().take(FILES_OF_CARD));
            let ids: Vec<_> = files.map(|file| file.id.as_str()).collect();
            find_pictures(&caller, &ids, &mut missing).await?
        }
        None => Vec::new(),
    };
    let parameters = Fields::parse(request.query_string().as_bytes());
    let view = MarketView {
        user: user.as_ref(),
        clock: console.clock,
        query: &query,
        listings: listings.as_ref().map(|reply| reply.value.as_slice()),
        pictures: &pictures,
        next: listings.as_ref().and_then(|reply| reply.next.as_deref()),
        total: facets.as_ref().map(|facets| facets.total),
        groups: &groups(&query, &facets.unwrap_or_default(), &all),
        clusters: clusters.as_ref(),
        zoom,
        missing: &missing,
        done: done(parameters.get("done")),
    };
    let body = view.markup();
    Ok(html_with(
        status,
        &match &user {
            Some(user) => document(user, Section::Market, "Market", &body),
            None => visitor("Market", &body),
        },
    ))
}

fn done(name: &str) -> Option<&'static str> {
    let saved = "The search is saved. It is in Connections, with the number of new listings.";
    (name == "saved").then_some(saved)
}

/// Returns the ids of those files that are pictures. Without system, none are shown.
pub(super) async fn find_pictures(
    caller: &Caller<'_>,
    ids: &[&str],
    missing: &mut Vec<String>,
) -> Result<Vec<String>, Failure> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let body = json!({"ids": ids.iter().take(MAX_RESOLVED).collect::<Vec<_>>(), "brief": true});
    let path = "/v1/files/resolve";
    let found = caller.send_json(Service::System, Method::POST, path, Some(&body), Write::default()).await;
    let found = found.map(|value| Reply { value, total: None, next: None });
    let found = optional(found, missing)?.map(|reply| reply.value).unwrap_or_default();
    let found: Vec<FileInfo> = serde_json::from_value(found).unwrap_or_default();
    let pictures = found.into_iter().filter(|file| file.content_type.starts_with("image/"));
    Ok(pictures.map(|file| file.id).collect())
}

/// Puts a listing on the wishlist, or takes it off.
pub(super) async fn wishlist(
    console: Data<Console>,
    form: PostForm,
    id: Path<String>,
) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let method = if fields.get("then") == "remove" { Method::DELETE } else { Method::PUT };
    let path = format!("/v1/listings/{}/wishlist", segment(&id));
    let caller = user.caller(&console.api);
    let sent = caller.send_json(Service::Livestock, method, &path, None, Write::default()).await;
    let place = format!("/market/{}/wishlist", segment(&id));
    sent.map_err(|error| Failure::from(error).keeping(&place, fields.clone()))?;
    Ok(see_other(way_back(fields.find("to"))))
}

/// Asks how a search is called that is saved.
pub(super) async fn save_form(user: User, request: HttpRequest) -> Result<HttpResponse, Failure> {
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
            let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
            Ok(show_save(&user, &query, &fields, &errors_of(&refusal), status))
        }
        Err(error) => Err(Failure::from(error).keeping("/market/save", fields)),
    }
}

/// Refuses a page to those who may not do what it is for. The services decide all the same.
pub(super) fn only(is_allowed: bool) -> Result<(), Failure> {
    if is_allowed {
        return Ok(());
    }
    let message = "You may not do this.".to_owned();
    Err(CallError::Refused(Box::new(Refusal { status: 403, message, ..Refusal::default() })).into())
}

/// Returns true for those who may write for an organisation.
pub(super) fn may_write(user: &User) -> bool {
    let person = &user.person;
    person.is_admin || person.organisation_id.is_some() && !person.is_viewer && !person.is_weigher
}

/// Returns what is wrong with the fields, or with the request as a whole.
pub(super) fn errors_of(refusal: &Refusal) -> Vec<FieldError> {
    if refusal.validation.is_empty() {
        vec![FieldError { path: String::new(), message: sentence(refusal) }]
    } else {
        refusal.validation.clone()
    }
}

/// Passes a picture of a public listing on, by the link that the market gave.
pub(super) async fn picture(
    console: Data<Console>,
    request: HttpRequest,
    id: Path<String>,
) -> Result<HttpResponse, Failure> {
    let context = context(&request).ok_or_else(|| anyhow::anyhow!("a request without a context"))?;
    let caller = Caller::visitor(&console.api, &context);
    let pairs: Vec<_> = url::form_urlencoded::parse(request.query_string().as_bytes()).into_owned().collect();
    let query: Vec<_> = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let path = format!("/v1/public/files/{}", segment(&id));
    let reply = download_of(&caller, &request, (Service::System, &path), &query).await;
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
