//! Questions about listings.

use maud::{Markup, html};

use super::forms::notices;
use super::layout::form_token;
use crate::api::market::{Enquiry, Listing};
use crate::api::{FieldError, segment, with_query};
use crate::format::Clock;
use crate::market::title;
use crate::user::User;

/// A part of the questions: its name in the address, its parameters of the API, and what people read.
pub(crate) struct View {
    pub(crate) name: &'static str,
    pub(crate) scope: &'static str,
    pub(crate) status: Option<&'static str>,
    label: &'static str,
}

/// The parts, first the one that wants an answer.
pub(crate) const VIEWS: [View; 3] = [
    View { name: "open", scope: "received", status: Some("open"), label: "Without an answer" },
    View { name: "answered", scope: "received", status: Some("answered"), label: "Answered" },
    View { name: "sent", scope: "sent", status: None, label: "Sent by me" },
];

/// What the page shows.
pub(crate) struct EnquiriesView<'a> {
    pub(crate) user: &'a User,
    pub(crate) clock: Clock,
    pub(crate) chosen: &'a View,
    pub(crate) enquiries: &'a [Enquiry],
    /// The listings that they are about, as far as they can be read.
    pub(crate) listings: &'a [Listing],
    pub(crate) next: Option<&'a str>,
    pub(crate) missing: &'a [String],
    pub(crate) errors: &'a [FieldError],
}

impl EnquiriesView<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        html! {
            p.trail { a href="/market" { "Market" } }
            div.head { h1 { "Enquiries" } }
            @for missing in self.missing { p.notice.bad role="status" { (missing) } }
            (notices(self.errors))
            div.filters {
                @for view in &VIEWS {
                    a.chip.on[view.name == self.chosen.name] href=(path(view, None))
                        aria-current=[(view.name == self.chosen.name).then_some("true")] { (view.label) }
                }
            }
            section.card {
                @if self.enquiries.is_empty() { p.pad.muted { "There are none." } }
                ul.list { @for enquiry in self.enquiries { (self.line(enquiry)) } }
            }
            @if let Some(next) = self.next { p.paging { a rel="next" href=(path(self.chosen, Some(next))) { "More" } } }
        }
    }

    fn line(&self, enquiry: &Enquiry) -> Markup {
        let listing = self.listings.iter().find(|listing| listing.id == enquiry.listing_id);
        let is_received = self.chosen.scope == "received";
        html! {
            li {
                div {
                    a.main href={ "/market/" (segment(&enquiry.listing_id)) } {
                        (listing.map_or_else(|| "A listing that is gone".to_owned(), title))
                    }
                    span.sub { (self.clock.time(&enquiry.created_at)) @if is_received { ", " (enquiry.name) } }
                    p.text { (enquiry.message) }
                    @if is_received { (contact(enquiry)) }
                }
                span.go {
                    @match &enquiry.answered_at {
                        Some(at) => small { "answered " (self.clock.time(at)) },
                        None if is_received && self.user.person.may_write() => {
                            (answer_button(self.user, enquiry, &path(self.chosen, None)))
                        },
                        None => small { "not marked as answered" },
                    }
                }
            }
        }
    }
}

fn path(view: &View, cursor: Option<&str>) -> String {
    let mut query = vec![("view", view.name)];
    query.extend(cursor.map(|cursor| ("cursor", cursor)));
    with_query("/market/enquiries", &query)
}

/// Returns how the person who asks is reached.
pub(crate) fn contact(enquiry: &Enquiry) -> Markup {
    html! {
        @if let Some(phone) = &enquiry.phone { a href={ "tel:" (phone.replace(' ', "")) } { (phone) } " " }
        @if let Some(email) = &enquiry.email { a href={ "mailto:" (email) } { (email) } }
    }
}

/// Returns the button that marks a question as answered, and leads on to an address of the console.
pub(crate) fn answer_button(user: &User, enquiry: &Enquiry, to: &str) -> Markup {
    let action = format!("/market/{}/answered/{}", segment(&enquiry.listing_id), segment(&enquiry.id));
    html! {
        form method="post" action=(action) {
            (form_token(user))
            input type="hidden" name="to" value=(to);
            button { "Mark as answered" span.hidden { ", " (enquiry.name) } }
        }
    }
}
