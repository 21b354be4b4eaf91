//! The page of new loads.

use maud::{Markup, html};

use super::forms::notices;
use super::loads::counted;
use crate::api::{FieldError, segment};
use crate::format::Clock;
use crate::loads::warning_sentence;

/// A load that was created.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) id: String,
    pub(crate) reference: String,
    pub(crate) delivery: String,
    /// Why it was not sent to its haulier.
    pub(crate) not_sent: Option<String>,
}

/// The page with the form.
pub(crate) struct NewLoads<'a> {
    /// Whether the own organisation carries the load.
    pub(crate) carries: bool,
    /// What an attempt has created before it failed.
    pub(crate) made: &'a [Made],
    pub(crate) clock: Clock,
    pub(crate) error: Option<&'a str>,
    pub(crate) others: &'a [FieldError],
    pub(crate) form: &'a Markup,
    pub(crate) command: &'a str,
}

impl NewLoads<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        html! {
            div.head {
                h1 { "New load" }
                @if self.carries {
                    small { "that you carry for somebody. " a href="/loads/new" { "You order it instead?" } }
                } @else {
                    small { "that you order. " a href="/loads/new?as=carrier" { "You carry it for somebody?" } }
                }
            }
            @if !self.made.is_empty() {
                div.notice role="status" {
                    (counted(self.made.len() as u64, "load")) " created before this. Only the other dates are below."
                    (list(self.made, self.clock))
                }
            }
            @if let Some(error) = self.error { p.notice.bad role="alert" { (error) } }
            (notices(self.others))
            (self.form)
            details.curl { summary { "As curl" } pre tabindex="0" { (self.command) } }
        }
    }
}

/// Returns the page of several loads that were created.
pub(crate) fn created(made: &[Made], clock: Clock, warnings: &[String]) -> Markup {
    let mut sentences: Vec<_> = warnings.iter().filter_map(|code| warning_sentence(code)).collect();
    sentences.dedup();
    html! {
        div.head { h1 { (counted(made.len() as u64, "load")) " created" } }
        @for sentence in sentences { p.notice.bad role="status" { (sentence) } }
        section.card { (list(made, clock)) }
        p.paging { a.btn href="/loads" { "Loads" } " " a.btn href="/loads/new" { "Another one" } }
    }
}

fn list(made: &[Made], clock: Clock) -> Markup {
    html! {
        ul.list {
            @for load in made {
                li {
                    a.main href={ "/loads/" (segment(&load.id)) } { (load.reference) }
                    span { (clock.delivery(&load.delivery)) }
                    @if let Some(reason) = &load.not_sent { span.late { "Not sent to the haulier: " (reason) } }
                }
            }
        }
    }
}
