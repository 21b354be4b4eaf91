//! Imports of the past, and undoing one.

use maud::{Markup, html};

use super::layout::{form_token, module};
use super::loads::counted;
use crate::api::batch::{StoredBatch, Undone};
use crate::api::model::Summary;
use crate::api::{segment, with_query};
use crate::fields::Fields;
use crate::format::Clock;
use crate::user::User;

/// Returns the imports of the past, newest first.
pub(crate) fn list(batches: &[StoredBatch], next: Option<&str>, clock: Clock, may_write: bool) -> Markup {
    html! {
        section.card.past {
            header { h2 { "Imports of the past" } }
            @if batches.is_empty() { p.pad.muted { "There are none yet." } } @else {
                div.scroll tabindex="0" role="region" aria-label="Imports of the past" { table {
                    thead { tr {
                        th { "When" } th { "File" } th { "By" } th.num { "New" } th.num { "Changed" } th { span.hidden { "Undo" } }
                    } }
                    tbody {
                        @for batch in batches {
                            tr {
                                td { (clock.time(&batch.created_at)) }
                                td { (batch.files.join(", ")) }
                                td { (batch.user_name) }
                                td.num {
                                    @if batch.count > 0 {
                                        a href=(with_query("/loads", &[("batch", &batch.id)])) { (batch.count) }
                                    } @else { "0" }
                                }
                                td.num { (batch.updated) }
                                td {
                                    @if may_write && batch.count > 0 {
                                        a href={ "/import/batches/" (segment(&batch.id)) "/undo" } {
                                            "Undo" span.hidden { " " (batch.files.join(", ")) }
                                        }
                                    }
                                }
                            }
                        }
                    }
                } }
            }
            @if let Some(next) = next {
                p.pad { a rel="next" href=(with_query("/import", &[("cursor", next)])) { "Older ones" } }
            }
        }
    }
}

/// Returns the page of an import that took longer and is stored now.
pub(crate) fn arrived(batch: &StoredBatch) -> Markup {
    html! {
        div.head { h1 { "Imported " (batch.files.join(", ")) } }
        p.notice role="status" data-import-done {
            (counted(batch.count, "new load")) ", " (counted(batch.updated, "changed load")) "."
        }
        (actions(Some(&batch.id).filter(|_| batch.count > 0)))
        (module("import.js"))
    }
}

/// Returns what can be done after an import. `id`: that of an import with new loads.
pub(super) fn actions(id: Option<&String>) -> Markup {
    html! {
        div.actions {
            @if let Some(id) = id {
                a.btn.primary href=(with_query("/loads", &[("batch", id)])) { "Show the new loads" }
                a.btn.danger href={ "/import/batches/" (segment(id)) "/undo" } { "Undo this import" }
            }
            a.btn href="/import" { "Import another file" }
        }
    }
}

/// An import before it is undone.
pub(crate) struct Undo<'a> {
    pub(crate) user: &'a User,
    pub(crate) clock: Clock,
    pub(crate) action: &'a str,
    pub(crate) id: &'a str,
    /// `None` for one that is older than the newest hundred.
    pub(crate) batch: Option<&'a StoredBatch>,
    /// Its loads by status.
    pub(crate) sums: &'a Summary,
    pub(crate) reason: &'a str,
    pub(crate) key: &'a str,
    pub(crate) error: Option<&'a str>,
}

impl Undo<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        let files = self.batch.map_or_else(|| "an import".to_owned(), |batch| batch.files.join(", "));
        let (upcoming, others): (Vec<_>, Vec<_>) =
            self.sums.groups.iter().partition(|group| group.key == "upcoming");
        let count = upcoming.first().map_or(0, |group| group.sums.count);
        let changed = self.batch.map_or(0, |batch| batch.updated);
        let list = with_query("/loads", &[("batch", self.id)]);
        html! {
            div.head {
                h1 { "Undo " (files) }
                @if let Some(batch) = self.batch {
                    small { (self.clock.time(&batch.created_at)) ", by " (batch.user_name) }
                }
            }
            @if let Some(error) = self.error { p.notice.bad role="alert" { (error) } }
            form.fields.card.pad method="post" action=(self.action) {
                (form_token(self.user))
                input type="hidden" name="key" value=(self.key);
                div {
                    h2 { "Cancelled" }
                    p {
                        @if count > 0 {
                            (counted(count, "load")) " of it that " (if count == 1 { "is" } else { "are" }) " still upcoming. "
                        } @else { "None: no load of it is upcoming any more. " }
                        a href=(list) { "Show its loads" }
                    }
                    @if count > 0 { p.muted { "Loads that your organisation may not cancel stay as they are." } }
                    @if !others.is_empty() || changed > 0 {
                        h2 { "Stays as it is" }
                        ul {
                            @for group in &others { li { (counted(group.sums.count, "load")) ": " (group.key) } }
                            @if changed > 0 { li { (counted(changed, "load")) " that it changed" } }
                        }
                    }
                }
                div.field.long {
                    label for="f-reason" { "Why" }
                    textarea #f-reason name="reason" rows="2" { (self.reason) }
                }
                div.actions {
                    @if count > 0 { button.danger { "Cancel " (counted(count, "load")) } }
                    a.btn href="/import" { "Back" }
                }
            }
            details.curl {
                summary { "As curl" }
                pre tabindex="0" {
                    "curl -X POST \"$LOGISTICS/v1/loads/batches/" (self.id) "/cancel\" "
                    "-H \"Authorization: Bearer $TOKEN\""
                }
            }
        }
    }
}

/// Returns the page of an undoing that takes longer. It sends the form again by itself: with the same key, the form
/// asks for the outcome.
pub(crate) fn undoing(user: &User, action: &str, list: &str, sent: &Fields) -> Markup {
    html! {
        div.head { h1 { "The import is being undone" } }
        p.notice role="status" {
            "Large imports take a minute or two. You can leave this page: the loads are cancelled all the same."
        }
        form method="post" action=(action) {
            (form_token(user))
            @for name in ["key", "reason"] { input type="hidden" name=(name) value=(sent.get(name)); }
            div.actions {
                button data-again { "Is it done?" }
                a.btn href=(list) { "Show the cancelled loads" }
            }
        }
        (module("import.js"))
    }
}

/// Returns what became of the loads of an import that was undone.
pub(crate) fn undone(done: &Undone, list: &str) -> Markup {
    html! {
        div.head { h1 { "Undone" } }
        p.notice role="status" {
            (counted(done.count, "load")) " cancelled. "
            @if done.skipped > 0 {
                (counted(done.skipped, "load")) " stayed as " (if done.skipped == 1 { "it is." } else { "they are." })
            }
        }
        div.actions {
            @if done.count > 0 { a.btn href=(list) { "Show the cancelled loads" } }
            a.btn href="/import" { "Back to Import" }
        }
    }
}
