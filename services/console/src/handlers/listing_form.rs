//! Writing a listing: a new one of a category, or an edit of one.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use maud::html as markup;
use reqwest::Method;
use serde_json::{Value, json};

use super::extract::PostForm;
use super::listing::{after, find_listing, listing_path, page_path};
use super::{errors_of, html, html_with, new_key, only};
use crate::Console;
use crate::api::market::{Category as Part, Facets, Listing};
use crate::api::{CallError, Caller, FieldError, Service, Write, segment};
use crate::fields::Fields;
use crate::loads::FILES;
use crate::market::{CATEGORIES, Category, Form, title};
use crate::user::{Failure, User};
use crate::views::listing::curl;
use crate::views::listing_form::ListingFormView;
use crate::views::{Section, page as document};

/// How often an edit is sent again because others changed the listing meanwhile.
const MAX_MERGES: usize = 3;

/// Asks what is sold or sought.
pub(super) async fn choose(user: User) -> Result<HttpResponse, Failure> {
    only(user.person.may_write())?;
    let body = markup! {
        div.head { h1 { "Sell or seek" } }
        p { "What is it about?" }
        div.people {
            @for category in &CATEGORIES {
                a.card.tile href={ "/market/new/" (category.slug) } { b { (category.name) } }
            }
        }
    };
    Ok(html(&document(&user, Section::Market, "Sell or seek", &body)))
}

/// A listing as it is written: a new one, or an edit of one that is there.
struct Draft<'a> {
    category: &'static Category,
    listing: Option<&'a Listing>,
    parts: &'a [Part],
}

/// What a form shows besides the listing.
struct Shown<'a> {
    typed: &'a Fields,
    was: &'a str,
    revision: &'a str,
    errors: &'a [FieldError],
    status: StatusCode,
}

impl Draft<'_> {
    fn is_draft(&self) -> bool {
        self.listing.is_none_or(|listing| listing.status == "draft")
    }

    async fn show(&self, console: &Console, user: &User, shown: &Shown<'_>) -> HttpResponse {
        let breeds = find_breeds(&user.caller(&console.api), self.category).await;
        let form = Form { category: self.category };
        let (placed, others) = form.place(shown.errors);
        let (action, back, heading) = match self.listing {
            Some(listing) => {
                let path = page_path(&listing.id);
                (format!("{path}/edit"), path, title(listing))
            }
            None => (
                format!("/market/new/{}", self.category.slug),
                "/market".to_owned(),
                self.category.name.to_owned(),
            ),
        };
        let view = ListingFormView {
            user,
            form: &form,
            action: &action,
            back: &back,
            typed: shown.typed,
            was: shown.was,
            revision: shown.revision,
            key: &new_key(),
            parts: self.parts,
            breeds: &breeds,
            errors: &placed,
            others: &others,
            is_draft: self.is_draft(),
        };
        let body = markup! {
            div.head { h1 { (heading) } }
            (view.markup())
            (self.curl(&form, shown))
        };
        html_with(shown.status, &document(user, Section::Market, &heading, &body))
    }

    fn curl(&self, form: &Form, shown: &Shown<'_>) -> maud::Markup {
        let Some(listing) = self.listing else {
            let body = form.new_body(shown.typed, true).unwrap_or_else(|_| json!({}));
            return curl(&format!("-X POST \"$LIVESTOCK/v1/listings/{}\"", self.category.slug), &body);
        };
        let was = Fields::parse(shown.was.as_bytes());
        let body = form.changes(shown.typed, &was).unwrap_or_default();
        let (path, revision) = (listing_path(&listing.id), shown.revision);
        let request = format!("-X PATCH \"$LIVESTOCK{path}\" -H 'If-Match: \"{revision}\"'");
        curl(&request, &Value::Object(body))
    }
}

/// Returns the breeds that are on the market, for suggestions.
async fn find_breeds(caller: &Caller<'_>, category: &Category) -> Vec<String> {
    let name = category.slug.replace('-', " ");
    let query = [("docs", "false"), ("f:commodityType", &*name)];
    let found = caller.get::<Facets>(Service::Livestock, "/v1/listings", &query).await;
    let mut facets = found.map(|reply| reply.value).unwrap_or_default();
    let breeds = facets.filters.remove("f:commodityBreed").unwrap_or_default();
    breeds.into_iter().map(|breed| breed.value).take(100).collect()
}

/// Reads the categories. Without them, a form would drop those of a listing.
async fn find_parts(caller: &Caller<'_>) -> Result<Vec<Part>, CallError> {
    Ok(caller.get(Service::Livestock, "/v1/categories", &[]).await?.value)
}

pub(super) async fn new_form(
    console: Data<Console>,
    user: User,
    slug: Path<String>,
) -> Result<HttpResponse, Failure> {
    let category = Category::of_slug(&slug).ok_or(Failure::NotFound)?;
    only(user.person.may_write())?;
    let parts = find_parts(&user.caller(&console.api)).await?;
    let draft = Draft { category, listing: None, parts: &parts };
    let shown = Shown { typed: &Form::of_new(), was: "", revision: "", errors: &[], status: StatusCode::OK };
    Ok(draft.show(&console, &user, &shown).await)
}

/// Creates a listing, or shows its form again.
pub(super) async fn create(
    console: Data<Console>,
    form: PostForm,
    slug: Path<String>,
) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let category = Category::of_slug(&slug).ok_or(Failure::NotFound)?;
    let caller = user.caller(&console.api);
    let is_draft = fields.get("then") != "publish";
    let place = format!("/market/new/{}", category.slug);
    let fields = with_first(fields);
    let body = Form { category }.new_body(&fields, is_draft);
    let (errors, status) = match (fields.find("first").is_some(), body) {
        (true, _) => (Vec::new(), StatusCode::OK),
        (false, Err(errors)) => (errors, StatusCode::BAD_REQUEST),
        (false, Ok(body)) => {
            let write = Write { key: Some(fields.get("key")), revision: None };
            let path = format!("/v1/listings/{}", category.slug);
            match caller.send_json(Service::Livestock, Method::POST, &path, Some(&body), write).await {
                Ok(created) => {
                    let id = created["id"].as_str().unwrap_or_default();
                    return Ok(after(id, if is_draft { "draft" } else { "published" }));
                }
                Err(CallError::Refused(refusal)) => (errors_of(&refusal), refusal.status_code()),
                Err(error) => return Err(Failure::from(error).keeping(&place, fields)),
            }
        }
    };
    let parts = find_parts(&caller).await;
    let parts = parts.map_err(|error| Failure::from(error).keeping(&place, fields.clone()))?;
    let draft = Draft { category, listing: None, parts: &parts };
    let shown = Shown { typed: &fields, was: "", revision: "", errors: &errors, status };
    Ok(draft.show(&console, &user, &shown).await)
}

/// Moves the picture to the front whose button was pressed.
fn with_first(fields: Fields) -> Fields {
    let Some(first) = fields.find("first").map(str::to_owned) else { return fields };
    let (files, others): (Vec<_>, Vec<_>) = fields.0.into_iter().partition(|(name, _)| name == FILES);
    let (front, rest): (Vec<_>, Vec<_>) = files.into_iter().partition(|(_, file)| *file == first);
    Fields(others.into_iter().chain(front).chain(rest).collect())
}

/// Reads a listing with its category and the parts of categories.
async fn find(caller: &Caller<'_>, id: &str) -> Result<(Listing, &'static Category, Vec<Part>), Failure> {
    let (listing, parts) = futures_util::join!(find_listing(caller, id), find_parts(caller));
    let (listing, parts) = (listing?, parts?);
    let parent = |id: i64| parts.iter().find(|part| part.id == id)?.parent_id;
    let category = Category::of_listing(&listing, parent).ok_or(Failure::NotFound)?;
    Ok((listing, category, parts))
}

pub(super) async fn edit_form(
    console: Data<Console>,
    user: User,
    id: Path<String>,
) -> Result<HttpResponse, Failure> {
    let (listing, category, parts) = find(&user.caller(&console.api), &id).await?;
    only(user.person.may_change(Some(&listing.organisation_id)))?;
    let initial = Form { category }.initial(&listing);
    let draft = Draft { category, listing: Some(&listing), parts: &parts };
    let (was, revision) = (initial.encoded(), listing.revision.to_string());
    let shown =
        Shown { typed: &initial, was: &was, revision: &revision, errors: &[], status: StatusCode::OK };
    Ok(draft.show(&console, &user, &shown).await)
}

/// What became of an edit.
enum Outcome {
    Done,
    /// Shown again: with errors, or because others changed the same fields. Then the form is of the listing as it is.
    Again(Vec<FieldError>, StatusCode),
}

/// An edit that is being sent.
struct Edit<'a> {
    caller: Caller<'a>,
    form: Form,
    listing: Listing,
    typed: Fields,
    was: Fields,
    revision: String,
}

impl Edit<'_> {
    /// Sends what was changed. What others changed meanwhile is merged: only a field that both changed is asked about.
    async fn send(&mut self) -> Result<Outcome, CallError> {
        for _ in 0..MAX_MERGES {
            let body = match self.form.changes(&self.typed, &self.was) {
                Ok(body) if body.is_empty() => return Ok(Outcome::Done),
                Ok(body) => Value::Object(body),
                Err(errors) => return Ok(Outcome::Again(errors, StatusCode::BAD_REQUEST)),
            };
            let path = listing_path(&self.listing.id);
            let write = Write { key: None, revision: Some(&self.revision) };
            let sent =
                self.caller.send_json(Service::Livestock, Method::PATCH, &path, Some(&body), write).await;
            match sent {
                Ok(changed) => {
                    self.listing = serde_json::from_value(changed).unwrap_or_default();
                    self.was = self.form.initial(&self.listing);
                    self.revision = self.listing.revision.to_string();
                    return Ok(Outcome::Done);
                }
                Err(error) if error.refused_with(StatusCode::PRECONDITION_FAILED).is_some() => {
                    let errors = self.merge().await?;
                    if !errors.is_empty() {
                        return Ok(Outcome::Again(errors, StatusCode::PRECONDITION_FAILED));
                    }
                }
                Err(error) => return again(error),
            }
        }
        let error = FieldError::of_form("The listing changes faster than it can be edited. Try again.");
        Ok(Outcome::Again(vec![error], StatusCode::CONFLICT))
    }

    /// Takes over what others changed. Returns the fields that both changed.
    async fn merge(&mut self) -> Result<Vec<FieldError>, CallError> {
        self.listing = find_listing(&self.caller, &self.listing.id).await?;
        let now = self.form.initial(&self.listing);
        let mine = self.form.changed(&self.typed, &self.was);
        let theirs = self.form.changed(&now, &self.was);
        let differs = self.form.changed(&self.typed, &now);
        let both: Vec<_> =
            mine.iter().filter(|name| theirs.contains(name) && differs.contains(name)).copied().collect();
        self.typed = self.typed.merged(&now, |name| theirs.contains(&name) && !mine.contains(&name));
        self.revision = self.listing.revision.to_string();
        let errors = both.iter().map(|name| {
            let theirs = now.all(name).join(", ");
            let message = format!(
                "was changed by somebody else meanwhile, to “{theirs}”. Save again to keep what stands here"
            );
            FieldError { path: (*name).to_owned(), message }
        });
        let errors = errors.collect();
        self.was = now;
        Ok(errors)
    }
}

fn again(error: CallError) -> Result<Outcome, CallError> {
    match error {
        CallError::Refused(refusal) if refusal.status != 404 => {
            Ok(Outcome::Again(errors_of(&refusal), refusal.status_code()))
        }
        error => Err(error),
    }
}

/// Saves an edit, and publishes the listing if that was asked for.
pub(super) async fn save(
    console: Data<Console>,
    form: PostForm,
    id: Path<String>,
) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let caller = user.caller(&console.api);
    let place = format!("{}/edit", page_path(&id));
    let found = find(&caller, &id).await.map_err(|failure| failure.keeping(&place, fields.clone()));
    let (listing, category, parts) = found?;
    let fields = with_first(fields);
    let revision = fields.get("revision");
    // No listing has revision 0.
    let revision = if revision.parse::<i64>().is_ok() { revision.to_owned() } else { "0".to_owned() };
    let was = Fields::parse(fields.get("was").as_bytes());
    let mut edit = Edit { caller, form: Form { category }, listing, typed: fields.clone(), was, revision };
    let outcome = match fields.find("first") {
        Some(_) => Ok(Outcome::Again(Vec::new(), StatusCode::OK)),
        None => edit.send().await,
    };
    let is_published = fields.get("then") == "publish";
    let outcome = match outcome {
        Ok(Outcome::Done) if is_published => publish(&edit, fields.get("key")).await,
        outcome => outcome,
    };
    match outcome.map_err(|error| Failure::from(error).keeping(&place, fields.clone()))? {
        Outcome::Done => {
            let done = match (is_published, edit.listing.status.as_str()) {
                (true, _) => "published",
                (false, "draft") => "draft",
                _ => "saved",
            };
            Ok(after(&id, done))
        }
        Outcome::Again(errors, status) => {
            let draft = Draft { category, listing: Some(&edit.listing), parts: &parts };
            let was = edit.was.encoded();
            let shown =
                Shown { typed: &edit.typed, was: &was, revision: &edit.revision, errors: &errors, status };
            Ok(draft.show(&console, &user, &shown).await)
        }
    }
}

async fn publish(edit: &Edit<'_>, key: &str) -> Result<Outcome, CallError> {
    let path = format!("/v1/listings/{}/publish", segment(&edit.listing.id));
    let write = Write { key: Some(key), revision: None };
    match edit.caller.send_json(Service::Livestock, Method::POST, &path, None, write).await {
        Ok(_) => Ok(Outcome::Done),
        Err(error) => again(error),
    }
}
