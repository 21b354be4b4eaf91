//! The queue of reports: at the left what is to be decided, oldest first, and beside it the listing and all that is
//! known of it.

use maud::{Markup, html};
use serde_json::json;

use super::layout::{form_token, module};
use super::listing::{curl, history_line, reason_name, report_line};
use super::market::{labels, picture};
use crate::api::market::{Attachment, Listing, Report, Suspended};
use crate::api::model::Event;
use crate::api::{FieldError, segment, with_query};
use crate::fields::Fields;
use crate::format::Clock;
use crate::market::{Entry, changed, place, price, title};
use crate::user::User;
use crate::views::forms::{TextField, other_notices};
use crate::views::loads::counted;

/// A listing with all that a decision on it needs.
pub(crate) struct Case {
    pub(crate) listing: Listing,
    /// Ids of the files that are pictures.
    pub(crate) pictures: Vec<String>,
    /// Files that the listing had when it was reported.
    pub(crate) removed: Vec<Attachment>,
    pub(crate) events: Vec<Event>,
    /// All reports of the listing, also those that are settled.
    pub(crate) reports: Vec<Report>,
    /// Other listings of the seller.
    pub(crate) others: Vec<Listing>,
    /// The newest reports of other listings of the seller that are settled.
    pub(crate) earlier: Vec<Report>,
}

/// What the page shows.
pub(crate) struct ModerationView<'a> {
    pub(crate) user: &'a User,
    pub(crate) clock: Clock,
    /// Open reports in all.
    pub(crate) total: Option<u64>,
    pub(crate) entries: &'a [Entry<'a>],
    /// The listings of the entries.
    pub(crate) listings: &'a [Listing],
    pub(crate) case: Option<&'a Case>,
    pub(crate) neighbours: [Option<&'a str>; 2],
    pub(crate) suspended: &'a [Suspended],
    pub(crate) missing: &'a [String],
    pub(crate) done: Option<&'a str>,
    /// The listing that was decided on.
    pub(crate) decided: Option<&'a Listing>,
    /// A decision that was refused, and what is wrong: with its note, or else with all of it.
    pub(crate) refused: Option<(&'a Fields, &'a FieldError)>,
}

impl ModerationView<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        html! {
            div.head {
                h1 { "Moderation" }
                small { (counted(self.total.unwrap_or_default(), "open report")) ", " (counted(self.entries.len() as u64, "listing")) }
            }
            @if let Some(done) = self.done {
                p.notice role="status" {
                    @if let Some(listing) = self.decided { a href={ "/market/" (segment(&listing.id)) } { (title(listing)) } ": " }
                    (done)
                    @if self.decided.is_some_and(|listing| self.is_suspended(listing)) { " " a href="#suspended" { "Suspended sellers" } }
                }
            }
            @for missing in self.missing { p.notice.bad role="status" { (missing) } }
            @if let Some((_, error)) = self.refused { (other_notices(std::slice::from_ref(error), &["note"])) }
            @if self.entries.is_empty() && self.case.is_none() {
                div.card.pad { p { "There is nothing to decide. Reports of listings appear here, the oldest first." } }
            } @else {
                p.muted data-keys { "Keys: j and k go through the queue, n to the note, d and r to the buttons, which Enter presses." }
                (module("keys.js"))
                div.queue {
                    (self.queue())
                    @if let Some(case) = self.case { (self.case_of(case)) }
                }
            }
            (self.suspended())
        }
    }

    fn is_suspended(&self, listing: &Listing) -> bool {
        self.suspended.iter().any(|organisation| organisation.id == listing.organisation_id)
    }

    fn queue(&self) -> Markup {
        let chosen = self.case.map_or("", |case| case.listing.id.as_str());
        let name = |id: &str| {
            self.listings
                .iter()
                .find(|listing| listing.id == id)
                .map_or_else(|| "A listing".to_owned(), title)
        };
        html! {
            section.card aria-label="Queue" {
                ul.list {
                    @for entry in self.entries {
                        @let oldest = entry.reports.first();
                        li.chosen[entry.listing_id == chosen] {
                            div {
                                a.main href=(case_path(entry.listing_id)) aria-current=[(entry.listing_id == chosen).then_some("true")] {
                                    (name(entry.listing_id))
                                }
                                span.sub {
                                    (counted(entry.reports.len() as u64, "report"))
                                    @if let Some(oldest) = oldest { ", " (reason_name(&oldest.reason).to_lowercase()) ", since " (self.clock.time(&oldest.created_at)) }
                                }
                            }
                        }
                    }
                }
                @for (key, listing, text) in [("k", self.neighbours[0], "Previous"), ("j", self.neighbours[1], "Next")] {
                    @if let Some(listing) = listing { a.pad data-key=(key) href=(case_path(listing)) { (text) } }
                }
            }
        }
    }

    fn case_of(&self, case: &Case) -> Markup {
        let listing = &case.listing;
        let open: Vec<_> = case.reports.iter().filter(|report| report.status == "open").collect();
        let settled: Vec<_> = case.reports.iter().filter(|report| report.status != "open").collect();
        let changed: Vec<_> = changed(&case.events, &case.reports).collect();
        let has_picture = !case.pictures.is_empty();
        html! {
            div.grid {
                section.card {
                    header { h2 { a href={ "/market/" (segment(&listing.id)) } { (title(listing)) } } (labels(listing)) }
                    div.pad {
                        div.strip {
                            @for file in listing.files.iter().filter(|file| case.pictures.contains(&file.id)) {
                                a href={ "/files/" (segment(&file.id)) } { (picture(file, false, "240px", &title(listing))) }
                            }
                            @for file in case.removed.iter().filter(|file| case.pictures.contains(&file.id)) {
                                a href={ "/files/" (segment(&file.id)) } {
                                    (picture(file, false, "240px", &title(listing))) small.late { "Removed since it was reported" }
                                }
                            }
                        }
                        @if !has_picture { p.muted { "There is no picture." } }
                        p {
                            (listing.organisation_name) @if self.is_suspended(listing) { " " small.late { "suspended" } }
                            " · " (place(&listing.location)) " · " b { (price(listing)) }
                        }
                        p.text { (listing.description) }
                        @if !changed.is_empty() {
                            h2 { "Changed since it was reported" }
                            ul.line { @for event in changed { (history_line(self.clock, event)) } }
                        }
                    }
                }
                section.card {
                    header { h2 { (counted(open.len() as u64, "open report")) } }
                    ul.list { @for report in &open { (report_line(self.clock, report, None)) } }
                    @if !open.is_empty() { (self.decision(listing, &open)) }
                }
                @if !settled.is_empty() {
                    section.card {
                        header { h2 { "Decided before" } }
                        ul.list { @for report in settled { (report_line(self.clock, report, None)) } }
                    }
                }
                @if !case.earlier.is_empty() {
                    section.card {
                        header { h2 { "Decided before on other listings of " (listing.organisation_name) } }
                        ul.list {
                            @for report in &case.earlier {
                                (report_line(self.clock, report, Some(&case_path(&report.listing_id))))
                            }
                        }
                    }
                }
                section.card {
                    header { h2 { "Also of " (listing.organisation_name) } }
                    @if case.others.is_empty() { p.pad.muted { "Nothing else is on the market." } }
                    ul.list {
                        @for other in &case.others {
                            li { a href={ "/market/" (segment(&other.id)) } { (title(other)) } " " (labels(other)) span.go { (price(other)) } }
                        }
                    }
                }
            }
        }
    }

    fn decision(&self, listing: &Listing, open: &[&Report]) -> Markup {
        let nothing = Fields::default();
        let (typed, errors) = match self.refused {
            Some((fields, error)) => (fields, std::slice::from_ref(error)),
            None => (&nothing, &[][..]),
        };
        let note = TextField::new("note", "Note for administrators, needed to remove", typed, errors);
        let first = open.first().map_or("", |report| report.id.as_str());
        let request = format!("-X POST \"$LIVESTOCK/v1/reports/{first}/resolve\"");
        html! {
            form.fields.pad method="post" action="/moderation/decide" {
                (form_token(self.user))
                input type="hidden" name="listing" value=(listing.id);
                @for report in open { input type="hidden" name="report" value=(report.id); }
                div data-key="n" data-press="yes" { (note.lines(2)) }
                label {
                    input type="checkbox" name="suspend" value="yes" checked[typed.find("suspend").is_some()];
                    " With Remove, also suspend " (listing.organisation_name) ": nothing of it stays for sale"
                }
                div.actions {
                    button.primary name="outcome" value="dismissed" data-key="d" data-press="yes" { "Leave it on the market" }
                    button.danger name="outcome" value="listing_removed" data-key="r" data-press="yes" { "Remove" }
                }
            }
            (curl(&request, &json!({"outcome": "dismissed", "note": note.value})))
            (curl(&organisation(&listing.organisation_id, "suspend"), &json!({"reason": note.value})))
        }
    }

    fn suspended(&self) -> Markup {
        html! {
            @if !self.suspended.is_empty() {
                section.card.apart id="suspended" {
                    header { h2 { "Suspended sellers" } }
                    ul.list {
                        @for organisation in self.suspended {
                            li {
                                div {
                                    b { (organisation.id) } " " small { "since " (self.clock.time(&organisation.since)) }
                                    p.text { (organisation.reason) }
                                }
                                form.go method="post" action="/moderation/reinstate" {
                                    (form_token(self.user))
                                    input type="hidden" name="organisation" value=(organisation.id);
                                    button { "Let it sell again" span.hidden { ": " (organisation.id) } }
                                }
                            }
                        }
                    }
                    @if let Some(first) = self.suspended.first() {
                        (curl(&self::organisation(&first.id, "reinstate"), &serde_json::Value::Null))
                    }
                }
            }
        }
    }
}

/// Returns the arguments of a command that acts on a seller.
fn organisation(id: &str, action: &str) -> String {
    format!("-X POST \"$LIVESTOCK/v1/organisations/{}/{action}\"", segment(id))
}

fn case_path(listing: &str) -> String {
    with_query("/moderation", &[("listing", listing)])
}
