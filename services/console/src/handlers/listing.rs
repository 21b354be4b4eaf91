//! A listing, and what is done with it besides writing it: asking, answering, reporting, closing.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use maud::{Markup, html as markup};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::extract::{Parameters, PostForm, Visitor, find_user};
use super::files::find_pictures;
use super::market;
use super::{enquiries, errors_of, html_with, new_key, only, optional, see_other};
use crate::Console;
use crate::api::market::{Category, Enquiry, Listing, Report};
use crate::api::model::Event;
use crate::api::{CallError, Caller, FieldError, Refusal, Service, Write, segment, with_query};
use crate::fields::Fields;
use crate::guard::way_back;
use crate::market::{MarketQuery, title};
use crate::user::{Failure, User};
use crate::views::choice::ChoiceView;
use crate::views::listing::{EnquiryForm, ListingView, curl};
use crate::views::{Section, page as document, visitor};

/// Ids are shorter. The rest of a longer one is left out.
const MAX_ID_CHARS: usize = 100;

/// Returns the path of a listing in the API.
pub(super) fn listing_path(id: &str) -> String {
    let id: String = id.chars().take(MAX_ID_CHARS).collect();
    format!("/v1/listings/{}", segment(&id))
}

/// Returns the address of a listing.
pub(super) fn page_path(id: &str) -> String {
    format!("/market/{}", segment(id))
}

pub(super) async fn find_listing(caller: &Caller<'_>, id: &str) -> Result<Listing, CallError> {
    Ok(caller.get(Service::Livestock, &listing_path(id), &[]).await?.value)
}

pub(super) async fn page(
    console: Data<Console>,
    request: HttpRequest,
    Parameters(parameters): Parameters,
    id: Path<String>,
) -> Result<HttpResponse, Failure> {
    match find_user(&request).await? {
        Some(user) => {
            let enquiry = EnquiryForm { typed: &Fields::default(), errors: &[], key: &new_key() };
            show(&console, &user, &id, &parameters, enquiry, &[], StatusCode::OK).await
        }
        None => show_visitor(&console, &request, &id, &parameters).await,
    }
}

/// Shows a listing to somebody who is not logged in, where the market is public.
async fn show_visitor(
    console: &Console,
    request: &HttpRequest,
    id: &str,
    parameters: &Fields,
) -> Result<HttpResponse, Failure> {
    let visitor_of_request = Visitor::of(request)?;
    let caller = visitor_of_request.caller(&console.api);
    let id: String = id.chars().take(MAX_ID_CHARS).collect();
    let path = format!("/v1/public/listings/{}", segment(&id));
    let listing = match caller.get::<Listing>(Service::Livestock, &path, &[]).await {
        Ok(reply) => reply.value,
        // It may be there for those who are logged in.
        Err(CallError::Refused(refusal)) if refusal.status == 404 => {
            return Err(Failure::LoggedOut { to: page_path(&id) });
        }
        Err(error) => return Err(error.into()),
    };
    let view = ListingView {
        user: None,
        clock: console.clock,
        tiles: console.tiles.as_ref(),
        listing: &listing,
        categories: &[],
        pictures: &[],
        events: &[],
        has_more_events: false,
        enquiries: &[],
        reports: &[],
        back: &MarketQuery::parse(parameters.get("list")).path(),
        missing: &[],
        errors: &[],
        done: None,
        enquiry: EnquiryForm { typed: &Fields::default(), errors: &[], key: "" },
    };
    Ok(html_with(StatusCode::OK, &visitor(&title(&listing), &view.markup())))
}

/// Shows a listing with why something was refused that was sent from its page.
pub(super) async fn show_refusal(
    console: &Console,
    user: &User,
    id: &str,
    refusal: &Refusal,
) -> Result<HttpResponse, Failure> {
    let none = Fields::default();
    let enquiry = EnquiryForm { typed: &none, errors: &[], key: &new_key() };
    show(console, user, id, &none, enquiry, &errors_of(refusal), refusal.status_code()).await
}

async fn show(
    console: &Console,
    user: &User,
    id: &str,
    parameters: &Fields,
    enquiry: EnquiryForm<'_>,
    errors: &[FieldError],
    status: StatusCode,
) -> Result<HttpResponse, Failure> {
    let caller = user.caller(&console.api);
    let path = listing_path(id);
    let (events_path, reports_path) = (format!("{path}/events"), format!("{path}/reports"));
    let own = [("f:listingId", id), ("limit", "100")];
    let is_admin = user.person.is_admin;
    // What the reader may not see is refused, and left out.
    let (listing, categories, events, enquiries, reports) = futures_util::join!(
        caller.get::<Listing>(Service::Livestock, &path, &[]),
        caller.get::<Vec<Category>>(Service::Livestock, "/v1/categories", &[]),
        caller.get::<Vec<Event>>(Service::Livestock, &events_path, &[("limit", "100")]),
        async {
            if !is_admin && user.person.organisation_id.is_none() {
                return None;
            }
            caller.get::<Vec<Enquiry>>(Service::Livestock, "/v1/enquiries", &own).await.ok()
        },
        async {
            if !is_admin {
                return None;
            }
            caller.get::<Vec<Report>>(Service::Livestock, &reports_path, &[]).await.ok()
        },
    );
    let listing = listing?.value;
    let mut missing = Vec::new();
    let categories = optional(categories, &mut missing)?.map(|reply| reply.value).unwrap_or_default();
    let events = optional(events, &mut missing)?;
    let has_more_events = events.as_ref().is_some_and(|reply| reply.next.is_some());
    let events = events.map(|reply| reply.value).unwrap_or_default();
    let enquiries = enquiries.map(|reply| reply.value).unwrap_or_default();
    let reports = reports.map(|reply| reply.value).unwrap_or_default();
    let ids: Vec<_> = listing.files.iter().map(|file| file.id.as_str()).collect();
    let pictures = find_pictures(&caller, &ids, &mut missing).await?;
    let view = ListingView {
        user: Some(user),
        clock: console.clock,
        tiles: console.tiles.as_ref(),
        listing: &listing,
        categories: &categories,
        pictures: &pictures,
        events: &events,
        has_more_events,
        enquiries: &enquiries,
        reports: &reports,
        back: &MarketQuery::parse(parameters.get("list")).path(),
        missing: &missing,
        errors,
        done: done(parameters.get("done")),
        enquiry,
    };
    Ok(html_with(status, &document(user, Section::Market, &title(&listing), &view.markup())))
}

fn done(name: &str) -> Option<&'static str> {
    Some(match name {
        "saved" => "Saved.",
        "draft" => "The draft is saved. Only your organisation sees it.",
        "published" => "It is on the market.",
        "closed" => "It is off the market.",
        "enquired" => "Your question is sent.",
        "answered" => "Marked as answered.",
        "reported" => "The report is sent to the moderators. The seller does not see it.",
        _ => return None,
    })
}

/// Returns the address of a listing after something was done with it.
pub(super) fn after(id: &str, done: &str) -> HttpResponse {
    see_other(&with_query(&page_path(id), &[("done", done)]))
}

/// Asks the seller.
pub(super) async fn enquire(
    console: Data<Console>,
    form: PostForm,
    id: Path<String>,
) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let caller = user.caller(&console.api);
    let mut body = json!({"message": fields.get("message"), "name": fields.get("name")});
    for name in ["phone", "email"] {
        if !fields.get(name).is_empty() {
            body[name] = json!(fields.get(name));
        }
    }
    let path = format!("{}/enquiries", listing_path(&id));
    let write = Write { key: Some(fields.get("key")), revision: None };
    match caller.send_json(Service::Livestock, Method::POST, &path, Some(&body), write).await {
        Ok(_) => Ok(after(&id, "enquired")),
        Err(CallError::Refused(refusal)) if refusal.status != 404 => {
            let errors = errors_of(&refusal);
            let enquiry = EnquiryForm { typed: &fields, errors: &errors, key: &new_key() };
            let status = refusal.status_code();
            show(&console, &user, &id, &Fields::default(), enquiry, &[], status).await
        }
        Err(error) => Err(Failure::from(error).keeping(&format!("{}/enquire", page_path(&id)), fields)),
    }
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
    let to = way_back(fields.find("to"));
    match sent {
        Ok(_) => Ok(see_other(to)),
        Err(CallError::Refused(refusal)) if refusal.status != 404 => match to.split_once('?') {
            Some(("/market", query)) => {
                let query = MarketQuery::parse(query);
                market::show(&console, &caller, Some(&user), &query, None, Some(&refusal)).await
            }
            None if to == "/market" => {
                market::show(&console, &caller, Some(&user), &MarketQuery::default(), None, Some(&refusal))
                    .await
            }
            _ => show_refusal(&console, &user, &id, &refusal).await,
        },
        Err(error) => Err(Failure::from(error).keeping(&place, fields)),
    }
}

#[derive(Deserialize)]
pub(super) struct AnsweredPath {
    id: String,
    enquiry: String,
}

/// Marks a question as answered.
pub(super) async fn answered(
    console: Data<Console>,
    form: PostForm,
    path: Path<AnsweredPath>,
) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let operation = format!("/v1/enquiries/{}/answered", segment(&path.enquiry));
    let caller = user.caller(&console.api);
    let sent = caller.send_json(Service::Livestock, Method::POST, &operation, None, Write::default()).await;
    let place = format!("{}/answered/{}", page_path(&path.id), segment(&path.enquiry));
    let to = fields.get("to");
    match sent {
        Ok(_) if to.is_empty() => Ok(after(&path.id, "answered")),
        Ok(_) => Ok(see_other(way_back(Some(to)))),
        Err(CallError::Refused(refusal)) if refusal.status != 404 => match to.split_once('?') {
            Some(("/market/enquiries", query)) => {
                let (parameters, errors) = (Fields::parse(query.as_bytes()), errors_of(&refusal));
                enquiries::show(&console, &user, &parameters, &errors, refusal.status_code()).await
            }
            _ => show_refusal(&console, &user, &path.id, &refusal).await,
        },
        Err(error) => Err(Failure::from(error).keeping(&place, fields)),
    }
}

/// A form with one choice and a text: of a report, or of the end of a listing.
#[derive(Clone, Copy)]
enum Question {
    Report,
    Close,
}

impl Question {
    fn slug(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Close => "close",
        }
    }

    fn body(self, fields: &Fields) -> Value {
        match self {
            Self::Report => {
                let message = fields.get("message");
                json!({"reason": fields.get("choice"), "message": (!message.is_empty()).then_some(message)})
            }
            Self::Close => json!({"status": fields.get("choice")}),
        }
    }

    fn choices(self, listing: &Listing) -> &'static [(&'static str, &'static str)] {
        match (self, listing.status.as_str(), listing.kind.as_str()) {
            (Self::Report, ..) => &[
                ("misleading", "It is misleading"),
                ("suspicious", "It looks like a fraud"),
                ("other", "Something else"),
            ],
            (Self::Close, "draft", _) => &[("cancelled", "Discard the draft")],
            (Self::Close, _, "buying") => &[("found", "Found"), ("cancelled", "Not wanted any more")],
            (Self::Close, ..) => &[("sold", "Sold"), ("cancelled", "Withdrawn")],
        }
    }

    fn page(self, user: &User, listing: &Listing, typed: &Fields, errors: &[FieldError]) -> Markup {
        let action = format!("{}/{}", page_path(&listing.id), self.slug());
        let request = format!("-X POST \"$LIVESTOCK{}/{}\"", listing_path(&listing.id), self.slug());
        let (heading, legend, message, submit) = match self {
            Self::Report => ("Report", "What is wrong?", Some("In words, for the moderators"), "Send"),
            Self::Close if listing.status == "draft" => ("Discard", "Discard this draft?", None, "Discard"),
            Self::Close => ("Close", "How did it end?", None, "Close"),
        };
        let view = ChoiceView {
            user,
            action: &action,
            back: &page_path(&listing.id),
            legend,
            choices: self.choices(listing),
            message,
            submit,
            typed,
            errors,
            key: &new_key(),
        };
        markup! {
            div.head { h1 { (heading) ": " (title(listing)) } }
            (view.markup())
            (curl(&request, &self.body(typed)))
        }
    }
}

pub(super) async fn report_form(
    console: Data<Console>,
    user: User,
    id: Path<String>,
) -> Result<HttpResponse, Failure> {
    ask(&console, &user, Question::Report, &id, &Fields::default(), &[], StatusCode::OK).await
}

pub(super) async fn close_form(
    console: Data<Console>,
    user: User,
    id: Path<String>,
) -> Result<HttpResponse, Failure> {
    ask(&console, &user, Question::Close, &id, &Fields::default(), &[], StatusCode::OK).await
}

async fn ask(
    console: &Console,
    user: &User,
    question: Question,
    id: &str,
    typed: &Fields,
    errors: &[FieldError],
    status: StatusCode,
) -> Result<HttpResponse, Failure> {
    let listing = find_listing(&user.caller(&console.api), id).await?;
    let organisation = Some(listing.organisation_id.as_str());
    only(match question {
        Question::Report => user.person.may_ask(organisation),
        Question::Close => user.person.may_change(organisation),
    })?;
    let page = question.page(user, &listing, typed, errors);
    Ok(html_with(status, &document(user, Section::Market, &title(&listing), &page)))
}

pub(super) async fn report(
    console: Data<Console>,
    form: PostForm,
    id: Path<String>,
) -> Result<HttpResponse, Failure> {
    answer(&console, form, Question::Report, &id, "reported").await
}

pub(super) async fn close(
    console: Data<Console>,
    form: PostForm,
    id: Path<String>,
) -> Result<HttpResponse, Failure> {
    answer(&console, form, Question::Close, &id, "closed").await
}

async fn answer(
    console: &Console,
    form: PostForm,
    question: Question,
    id: &str,
    done: &str,
) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let path = format!("{}/{}", listing_path(id), question.slug());
    let write = Write { key: Some(fields.get("key")), revision: None };
    let body = question.body(&fields);
    let caller = user.caller(&console.api);
    match caller.send_json(Service::Livestock, Method::POST, &path, Some(&body), write).await {
        Ok(_) => Ok(after(id, done)),
        Err(CallError::Refused(refusal)) if refusal.status != 404 => {
            ask(console, &user, question, id, &fields, &errors_of(&refusal), refusal.status_code()).await
        }
        Err(error) => {
            let place = format!("{}/{}", page_path(id), question.slug());
            Err(Failure::from(error).keeping(&place, fields))
        }
    }
}
