//! The page of a listing.

use maud::{Markup, html};
use serde_json::{Value, json};

use super::enquiries::{answer_button, contact};
use super::layout::{form_token, module};
use super::map::{self, Tiles};
use super::market::{labels, picture, wish_button};
use crate::api::market::{Attachment, Category, Enquiry, Listing, Report};
use crate::api::model::Event;
use crate::api::{FieldError, segment, with_query};
use crate::fields::Fields;
use crate::format::{Clock, typed_number};
use crate::market::{ages, animals, place, price, title};
use crate::user::User;
use crate::views::forms::{TextField, capital, notices, other_notices};

/// Properties in words, in their order: the member, and what people read.
const PROPERTIES: [(&str, &str); 11] = [
    ("breed", "Breed"),
    ("breedType", "Breeding"),
    ("breedSociety", "Breed society"),
    ("societyNumber", "Herd number at the society"),
    ("sexes", "Sex and age"),
    ("sex", "Sex"),
    ("type", "Use"),
    ("additionalInfo", "Also"),
    ("registration", "Registration"),
    ("performance", "Performance"),
    ("health", "Health"),
];

/// What the page shows. What its reader may not see, or what is away, is absent.
pub(crate) struct ListingView<'a> {
    /// `None` for a visitor.
    pub(crate) user: Option<&'a User>,
    pub(crate) clock: Clock,
    pub(crate) tiles: Option<&'a Tiles>,
    pub(crate) listing: &'a Listing,
    pub(crate) categories: &'a [Category],
    /// Ids of the files that are pictures.
    pub(crate) pictures: &'a [String],
    pub(crate) events: &'a [Event],
    /// Whether there are later events than these.
    pub(crate) has_more_events: bool,
    pub(crate) enquiries: &'a [Enquiry],
    pub(crate) reports: &'a [Report],
    /// The address of the list from which one came.
    pub(crate) back: &'a str,
    pub(crate) missing: &'a [String],
    /// Why something was refused that was sent from the page.
    pub(crate) errors: &'a [FieldError],
    pub(crate) done: Option<&'a str>,
    pub(crate) enquiry: EnquiryForm<'a>,
}

/// The form of an enquiry, at first or again with what is wrong.
#[derive(Clone, Copy)]
pub(crate) struct EnquiryForm<'a> {
    pub(crate) typed: &'a Fields,
    pub(crate) errors: &'a [FieldError],
    pub(crate) key: &'a str,
}

impl ListingView<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        let listing = self.listing;
        html! {
            p.trail { a href=(self.back) { "Market" } }
            div.head {
                h1 { (title(listing)) }
                (labels(listing))
                div.actions { (self.actions()) }
            }
            @if let Some(done) = self.done { p.notice role="status" { (done) } (module("saved.js")) }
            @for missing in self.missing { p.notice.bad role="status" { (missing) } }
            (notices(self.errors))
            @if listing.suspended {
                p.notice.bad { "The seller is suspended: nobody else sees this listing at the moment." }
            }
            div.grid.two {
                div {
                    (self.gallery())
                    section.card.pad { p.text { (listing.description) } }
                    (self.enquiries())
                    (self.reports())
                    (self.history())
                }
                div { (self.values()) (self.enquire()) (self.place()) (self.other_files()) }
            }
        }
    }

    /// Returns true if the reader may change the listing.
    fn may_edit(&self) -> bool {
        self.user.is_some_and(|user| user.person.may_change(Some(&self.listing.organisation_id)))
    }

    fn actions(&self) -> Markup {
        let listing = self.listing;
        let path = format!("/market/{}", segment(&listing.id));
        let Some(user) = self.user else {
            return html! { a.btn.primary href=(with_query("/login", &[("to", &path)])) { "Log in to enquire" } };
        };
        let (then, wish) = wish_button(listing);
        let is_open = ["draft", "active"].contains(&listing.status.as_str());
        html! {
            @if self.may_edit() && is_open {
                a.btn.primary[listing.status == "draft"] href={ (path) "/edit" } {
                    (if listing.status == "draft" { "Edit and publish" } else { "Edit" })
                }
                a.btn.danger href={ (path) "/close" } { (if listing.status == "draft" { "Discard" } else { "Close" }) }
            }
            form method="post" action={ (path) "/wishlist" } {
                (form_token(user))
                input type="hidden" name="to" value=(path);
                button name="then" value=(then) { (wish) }
            }
            @if user.person.may_ask(Some(&listing.organisation_id)) { a.btn href={ (path) "/report" } { "Report" } }
            @if user.person.is_admin {
                a.btn href=(with_query("/moderation", &[("listing", &listing.id)])) { "Moderate" }
            }
        }
    }

    fn pictures(&self) -> impl Iterator<Item = &Attachment> {
        let is_picture = move |file: &&Attachment| self.user.is_none() || self.pictures.contains(&file.id);
        self.listing.files.iter().filter(is_picture)
    }

    fn gallery(&self) -> Markup {
        let count = self.pictures().count();
        let text = title(self.listing);
        html! {
            @if count == 0 { div.card.pad.muted { "There is no picture." } }
            @else {
                div.card.gallery tabindex="0" role="region" aria-label={ "Pictures, " (count) } {
                    @for file in self.pictures() {
                        @if self.user.is_some() {
                            a href={ "/files/" (segment(&file.id)) } { (picture(file, false, "(max-width: 900px) 92vw, 640px", &text)) }
                        } @else { (picture(file, true, "(max-width: 900px) 92vw, 640px", &text)) }
                    }
                }
            }
        }
    }

    fn other_files(&self) -> Markup {
        let others: Vec<_> =
            self.listing.files.iter().filter(|file| !self.pictures().any(|own| own.id == file.id)).collect();
        html! {
            @if !others.is_empty() {
                section.card {
                    header { h2 { "Files" } }
                    ul.list {
                        @for file in others {
                            li { span { (if file.name.is_empty() { "File" } else { &file.name }) }
                                a.go href={ "/files/" (segment(&file.id)) } { "Open" } }
                        }
                    }
                }
            }
        }
    }

    fn values(&self) -> Markup {
        let listing = self.listing;
        let name = |id: &i64| {
            self.categories.iter().find(|category| category.id == *id).map(|category| &category.name)
        };
        let categories: Vec<_> = listing.category_ids.iter().filter_map(name).map(String::as_str).collect();
        html! {
            section.card.pad {
                p.price { (price(listing)) }
                dl {
                    dt { "Seller" }
                    dd { a href=(with_query("/market", &[("seller", &listing.organisation_id)])) { (listing.organisation_name) } }
                    @if !categories.is_empty() { dt { "What" } dd { (categories.join(", ")) } }
                    @if let Some(count) = animals(listing) { dt { "Number" } dd { (count) } }
                    @if let Some(ages) = ages(listing) { dt { "Age" } dd { (ages) } }
                    @for (member, label) in PROPERTIES {
                        @if let Some(text) = listing.properties.get(member).and_then(|value| self.text(value)) {
                            // Only these are a list with commas.
                            dt { (label) } dd { (if member == "sexes" { text.replace(',', ", ").replace(",  ", ", ") } else { text }) }
                        }
                    }
                    @if !listing.tags.is_empty() {
                        dt { "Tags" }
                        dd { @for tag in &listing.tags { a.chip href=(with_query("/market", &[("q", tag)])) { (tag) } " " } }
                    }
                    dt { (if listing.published_at.is_some() { "On the market since" } else { "Written" }) }
                    dd { (self.clock.time(listing.published_at.as_deref().unwrap_or(&listing.created_at))) }
                }
            }
        }
    }

    /// Returns a property as people read it; `None` if there is nothing to read.
    fn text(&self, value: &Value) -> Option<String> {
        let text = match value {
            Value::Null | Value::Bool(false) => return None,
            Value::Bool(true) => "yes".to_owned(),
            Value::String(text) if text.len() > 10 && text.ends_with('Z') => self.clock.delivery(text),
            Value::String(text) => text.clone(),
            Value::Number(number) => typed_number(number.as_f64()?),
            Value::Array(items) => {
                items.iter().filter_map(|item| self.text(item)).collect::<Vec<_>>().join(", ")
            }
            Value::Object(members) => {
                if let (Some(weight), Some(unit)) = (members.get("weight"), members.get("name")) {
                    format!("{} {}", self.text(weight)?, unit.as_str().unwrap_or_default())
                } else {
                    let shown = members.iter().filter_map(|(name, value)| {
                        Some(format!("{}: {}", property_name(name), self.text(value)?))
                    });
                    shown.collect::<Vec<_>>().join("; ")
                }
            }
        };
        (!text.is_empty()).then_some(text)
    }

    fn place(&self) -> Markup {
        let location = &self.listing.location;
        html! {
            section.card.where {
                div.pad {
                    (place(location))
                    @if let Some(postcode) = &location.address.postcode {
                        " · " a href=(with_query("/market", &[("near", postcode), ("within", "50")])) { "More within 50 km" }
                    }
                }
                @if let Some(point) = location.coordinates { (map::of_place(point.lat, point.lon, self.tiles)) }
            }
        }
    }

    fn enquire(&self) -> Markup {
        let Some(user) = self.user else { return html! {} };
        if !user.person.may_ask(Some(&self.listing.organisation_id)) || self.listing.status != "active" {
            return html! {};
        }
        let EnquiryForm { typed, errors, key } = self.enquiry;
        let message = TextField::new("message", "What do you want to know?", typed, errors).needed();
        let field = |name, label, autocomplete| TextField {
            autocomplete,
            ..TextField::new(name, label, typed, errors)
        };
        let name = field("name", "Your name", "name");
        let name = TextField { value: typed.find("name").unwrap_or(&user.person.name), ..name };
        let phone = field("phone", "Your telephone number", "tel");
        let email = field("email", "or your email address", "email");
        let action = format!("/market/{}/enquire", segment(&self.listing.id));
        let body = json!({"message": message.value, "name": name.value, "phone": phone.value});
        html! {
            section.card #enquire {
                header { h2 { "Ask " (self.listing.organisation_name) } }
                form.fields.pad method="post" action=(action) {
                    (form_token(user))
                    input type="hidden" name="key" value=(key);
                    (other_notices(errors, &["message", "name", "phone", "email"]))
                    (message.lines(4))
                    @for field in [name, phone, email] { (field.line()) }
                    p.muted { "The seller reads this and answers by telephone or email." }
                    div.actions { button.primary { "Send" } }
                }
                (curl(&format!("-X POST \"$LIVESTOCK/v1/listings/{}/enquiries\"", self.listing.id), &body))
            }
        }
    }

    fn enquiries(&self) -> Markup {
        if !self.may_edit() || self.listing.status == "draft" {
            return html! {};
        }
        html! {
            section.card #enquiries {
                header { h2 { "Enquiries" } }
                @if self.enquiries.is_empty() { p.pad.muted { "Nobody has asked yet." } }
                ul.list { @for enquiry in self.enquiries { (self.received(enquiry)) } }
            }
        }
    }

    fn received(&self, enquiry: &Enquiry) -> Markup {
        html! {
            li {
                div {
                    b { (enquiry.name) } " " small { (self.clock.time(&enquiry.created_at)) }
                    p.text { (enquiry.message) }
                    (contact(enquiry))
                }
                span.go {
                    @match (&enquiry.answered_at, self.user) {
                        (None, Some(user)) => (answer_button(user, enquiry, "")),
                        (Some(at), _) => small { "answered " (self.clock.time(at)) },
                        _ => {},
                    }
                }
            }
        }
    }

    fn reports(&self) -> Markup {
        html! {
            @if !self.reports.is_empty() {
                section.card {
                    header { h2 { "Reports" } }
                    ul.list { @for report in self.reports { (report_line(self.clock, report, None)) } }
                }
            }
        }
    }

    fn history(&self) -> Markup {
        html! {
            @if !self.events.is_empty() {
                section.card {
                    header { h2 { "History" } }
                    @if self.has_more_events { p.pad.muted { "There is more: these are the first " (self.events.len()) " entries." } }
                    div.pad { ul.line { @for event in self.events.iter().rev() { (history_line(self.clock, event)) } } }
                }
            }
        }
    }
}

/// Returns a report as one line, perhaps with a link to its listing.
pub(crate) fn report_line(clock: Clock, report: &Report, listing: Option<&str>) -> Markup {
    html! {
        li {
            div {
                @match listing {
                    Some(path) => a.main href=(path) { (reason_name(&report.reason)) },
                    None => b { (reason_name(&report.reason)) },
                }
                " " small { (clock.time(&report.created_at)) " by " (report.user_id) }
                @if let Some(message) = &report.message { p.text { (message) } }
                @if let Some(outcome) = &report.outcome {
                    p { (outcome_name(outcome)) @if let Some(note) = &report.note { ": " (note) } }
                }
            }
        }
    }
}

/// Returns a reason of a report in words.
pub(crate) fn reason_name(reason: &str) -> &str {
    match reason {
        "misleading" => "Misleading",
        "suspicious" => "Suspicious",
        "other" => "Something else",
        other => other,
    }
}

/// Returns what was decided on a report in words.
pub(crate) fn outcome_name(outcome: &str) -> &str {
    match outcome {
        "dismissed" => "Left on the market",
        "listing_removed" => "Removed from the market",
        other => other,
    }
}

/// Returns an event of the history of a listing as one line, with old and new values.
pub(crate) fn history_line(clock: Clock, event: &Event) -> Markup {
    let kind = match (event.kind.as_str(), event.reason.as_deref()) {
        ("created", _) => "Written",
        ("updated", _) => "Changed",
        ("published", _) => "Published",
        ("closed", Some("moderation")) => "Removed by a moderator",
        ("closed", Some(reason)) => super::market::status_name(reason),
        (other, _) => other,
    };
    html! {
        li {
            b { (kind) }
            @if let Some(name) = &event.user_name { " by " (name) }
            @for (name, change) in &event.changes {
                @let (from, to) = (differing(&change.from, &change.to), differing(&change.to, &change.from));
                div {
                    (property_name(name)) " "
                    @if let Some(from) = plain(&from) { del { (from) } " " }
                    @match plain(&to) { Some(to) => ins { (to) }, None => { "removed" } }
                }
            }
            " " small { (clock.time(&event.at)) }
        }
    }
}

/// Returns what a value has otherwise than another one: of objects, the members that differ.
fn differing(value: &Value, other: &Value) -> Value {
    let (Value::Object(members), Value::Object(others)) = (value, other) else { return value.clone() };
    let differs = members.iter().filter(|(name, value)| others.get(*name) != Some(*value));
    let parts = differs
        .map(|(name, value)| (name.clone(), differing(value, others.get(name).unwrap_or(&Value::Null))));
    Value::Object(parts.collect())
}

/// Returns a value of a history as one text.
fn plain(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().filter_map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(members) => match members.get("name") {
            Some(Value::String(name)) if members.contains_key("id") => name.clone(),
            _ => {
                let shown = members.iter().filter_map(|(name, value)| {
                    Some(
                        format!("{} {}", property_name(name).to_lowercase(), plain(value)?).trim().to_owned(),
                    )
                });
                shown.collect::<Vec<_>>().join(", ")
            }
        },
        other => other.to_string(),
    };
    (!text.is_empty()).then_some(text)
}

/// Returns what people call a member.
fn property_name(name: &str) -> String {
    let known = match name {
        "type" => "Kind",
        "amount" => "",
        "pricePerUnit" => "Price",
        "minPrice" => "Lowest price",
        "maxPrice" => "Highest price",
        "categoryIds" => "Categories",
        "tbStatus" => "TB status",
        "tbInterval" => "TB tests every",
        "tbDetails" => "More on TB",
        "data" => "Notes",
        "countryISO" => "Country",
        "dailyLiveWeightGain" => "Daily gain",
        "averageWeight" => "Average weight",
        "dateOfBirth" => "Born",
        "isRegistered" => "Registered",
        "registrationNumber" => "Number",
        other => return capital(other),
    };
    known.to_owned()
}

/// Returns a write as a command, for developers. `request` are the arguments of the method and the address.
pub(crate) fn curl(request: &str, body: &Value) -> Markup {
    let body = match body {
        Value::Null => String::new(),
        body => {
            format!(" -H 'Content-Type: application/json' -d '{}'", body.to_string().replace('\'', "'\\''"))
        }
    };
    html! {
        details.curl {
            summary { "As curl" }
            pre tabindex="0" { "curl " (request) " -H \"Authorization: Bearer $TOKEN\"" (body) }
        }
    }
}
