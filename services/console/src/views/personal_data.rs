//! What the services hold about a person.

use maud::{Markup, html};

use super::forms::{TextField, capital};
use super::layout::form_token;
use super::listing::curl;
use crate::api::{FieldError, Service, segment, with_query};
use crate::fields::Fields;
use crate::user::User;
use crate::views::loads::counted;

/// What a service holds: kinds of records with their numbers, or `None` if it is away.
pub(crate) struct Records {
    pub(crate) service: Service,
    pub(crate) kinds: Option<Vec<(String, u64)>>,
}

/// What an erasure did in a service: the number of records, or why it did nothing.
pub(crate) struct Erased {
    pub(crate) service: Service,
    pub(crate) outcome: Result<u64, String>,
}

/// What the page shows.
pub(crate) struct PersonalDataView<'a> {
    pub(crate) user: &'a User,
    /// The user id that was searched; empty at first.
    pub(crate) id: &'a str,
    pub(crate) records: &'a [Records],
    pub(crate) erased: &'a [Erased],
    /// What is wrong with the confirmation of an erasure.
    pub(crate) errors: &'a [FieldError],
}

impl PersonalDataView<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        html! {
            div.head { h1 { "Personal data" } }
            form.filters action="/personal-data" {
                label for="f-user" { "User id" }
                input #f-user name="user" value=(self.id) autocomplete="off" required;
                button { "Search" }
            }
            @if self.id.is_empty() {
                div.card.pad { p { "Search a person by the user id, as the log-in names it, to see what is stored about the person." } }
            }
            @if !self.erased.is_empty() { (self.outcome()) }
            // A refused erasure is shown alone: nothing is counted again for it.
            @if !self.records.is_empty() { (self.found()) }
            @else if !self.errors.is_empty() {
                @if self.id.is_empty() { p.notice.bad role="alert" { "Type a user id." } } @else { (self.erasure()) }
            }
        }
    }

    fn found(&self) -> Markup {
        let is_complete = self.records.iter().all(|records| records.kinds.is_some());
        let total: u64 = self
            .records
            .iter()
            .filter_map(|records| records.kinds.as_ref())
            .flatten()
            .map(|(_, count)| count)
            .sum();
        let is_nobody = is_complete && total == 0;
        html! {
            @if is_nobody {
                p.notice.bad role="status" {
                    "Nothing is stored under the user id " b { (self.id) } ". Search by the id that the log-in gives, not by the name."
                }
            }
            div.grid {
                div.tiles {
                    @for records in self.records {
                        section.card.pad {
                            h2 { (capital(records.service.contents())) }
                            @match &records.kinds {
                                None => p.late { "Away, or too much to count." },
                                Some(kinds) => dl {
                                    @for (name, count) in kinds.iter().filter(|(_, count)| *count > 0) {
                                        dt { (words(name)) } dd { (count) }
                                    }
                                    @if kinds.iter().all(|(_, count)| *count == 0) { dt { "Nothing" } dd {} }
                                },
                            }
                        }
                    }
                }
                @if is_complete && !is_nobody {
                    section.card.pad {
                        h2 { "Export" }
                        p { "One file with everything, for the person who asked for it." }
                        a.btn href=(with_query("/personal-data/export", &[("user", self.id)])) { "Export " (counted(total, "record")) }
                    }
                }
                @if !is_nobody { (self.erasure()) }
            }
        }
    }

    fn erasure(&self) -> Markup {
        let nothing = Fields::default();
        let path = format!("-X POST \"$SYSTEM/v1/users/{}/erase\"", segment(self.id));
        html! {
            section.card {
                form.fields.pad method="post" action="/personal-data/erase" {
                    h2 { "Erase" }
                    p {
                        "This is the last step and cannot be undone. The id and the name of " b { (self.id) } " are replaced in all "
                        "records. Loads, listings and their files stay. First make sure that the person cannot log in any more."
                    }
                    (form_token(self.user))
                    input type="hidden" name="user" value=(self.id);
                    (TextField::new("confirmation", "Type the user id again", &nothing, self.errors).needed().line())
                    div.actions { button.danger { "Erase " (self.id) } }
                }
                (curl(&path, &serde_json::Value::Null))
            }
        }
    }

    fn outcome(&self) -> Markup {
        let is_done = self.erased.iter().all(|erased| erased.outcome == Ok(0));
        html! {
            section.card {
                header { h2 { (if is_done { "Nothing is left" } else { "Erasing" }) } }
                ul.list {
                    @for erased in self.erased {
                        li {
                            span { (capital(erased.service.contents())) }
                            span.go {
                                @match &erased.outcome {
                                    Ok(count) => { (counted(*count, "record")) " changed" },
                                    Err(reason) => span.late { (reason) },
                                }
                            }
                        }
                    }
                }
                @if !is_done {
                    form.pad method="post" action="/personal-data/erase" {
                        (form_token(self.user))
                        input type="hidden" name="user" value=(self.id);
                        input type="hidden" name="confirmation" value=(self.id);
                        p { "Go on until nothing is left to change." }
                        button.primary { "Go on" }
                    }
                }
            }
        }
    }
}

/// Returns the name of a kind of records as words.
fn words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    capital(&words)
}
