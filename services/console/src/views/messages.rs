//! Pages that say why there is no other page, and what to do.

use maud::{Markup, html};

use super::layout::plain;
use crate::api::{CallError, Refusal, with_query};
use crate::fields::Fields;
use crate::loads::FILE_ERROR;
use crate::session::TooLong;
use crate::user::Failure;

/// Returns the page of a failure.
pub(crate) fn failure(failure: &Failure) -> Markup {
    match failure {
        Failure::LoggedOut { .. } | Failure::Retry { .. } => {
            message("Log in", "You are not logged in.", &html! {})
        }
        Failure::LoggedOutForm { action, fields } => {
            let text = format!(
                "Your log-in ended before this was sent. {}: log in, come back to this page and send it again.",
                kept(fields)
            );
            let log_in = html! {
                p { a.btn href=(with_query("/login", &[("to", "/logged-in")])) target="_blank" { "Log in, in a new tab" } }
            };
            send_again("Log in again", &text, &log_in, (action, fields))
        }
        Failure::AwayForm { action, fields } => {
            let text = format!(
                "A service does not answer at the moment. What you sent may be recorded or not. {}: send it again in a \
                 minute; it is not recorded twice.",
                kept(fields)
            );
            send_again("No answer", &text, &html! {}, (action, fields))
        }
        Failure::ForeignOrigin => message(
            "Not sent",
            "This form does not come from a page of the console, so nothing was changed. If it did, a proxy in between \
             changes the address: its operator has to set server.public_url to the address that you see.",
            &html! {},
        ),
        Failure::ForeignForm => message(
            "Not sent",
            "This form was made for another person or organisation than the one that is logged in now. Nothing was \
             changed. Open the page again to act as yourself.",
            &html! {},
        ),
        Failure::NotFound => message("Not found", "There is no such page.", &html! {}),
        Failure::UnreadableForm => message(
            "Not sent",
            "The form cannot be read: it takes at most 10 files of 100 MB each, and texts of 256 kB, or 1 MB of pasted rows. Nothing was \
             changed. Go back to the form.",
            &html! {},
        ),
        Failure::LogIn(reason) => message("Not logged in", reason, &log_in_again()),
        Failure::Call(CallError::LoggedOut) => message(
            "Log in again",
            "The services do not accept your log-in any more.",
            &html! { (log_in_again()) (another_account()) },
        ),
        Failure::Call(CallError::Away { service, .. }) => message(
            "Away",
            &format!("The service with {} is away at the moment. Try again in a minute.", service.contents()),
            &html! {},
        ),
        Failure::Call(CallError::Refused(refusal)) if refusal.status == 404 => {
            message("Not found", "It does not exist, or is not yours to see.", &html! {})
        }
        Failure::Call(CallError::Refused(refusal)) => {
            let further = if refusal.status == 403 {
                another_account()
            } else {
                html! {}
            };
            message("Not possible", &sentence(refusal), &further)
        }
        Failure::Internal(cause) if cause.is::<TooLong>() => message(
            "Not logged in",
            "The tokens of your identity provider are too long for a cookie. Ask its operator to issue shorter ones, \
             with fewer groups or roles.",
            &html! {},
        ),
        Failure::Internal(_) => message(
            "Something went wrong",
            "The console could not do this. It is in the log, under the request id of the response.",
            &log_in_again(),
        ),
    }
}

/// Returns the sentence of a service that refuses a request.
pub(crate) fn sentence(refusal: &Refusal) -> String {
    let message = refusal.message.trim();
    if message.is_empty() { "The service refused it.".to_owned() } else { message.to_owned() }
}

fn message(title: &str, text: &str, further: &Markup) -> Markup {
    explained(title, text, &html! { (further) p { a href="/" { "To today's page" } } })
}

fn explained(title: &str, text: &str, further: &Markup) -> Markup {
    plain(title, &html! { h1 { (title) } p { (text) } (further) })
}

fn log_in_again() -> Markup {
    html! { p { a.btn.primary href="/login" { "Log in" } } }
}

fn another_account() -> Markup {
    html! { p { a href="/account" { "Use another account" } } }
}

/// Returns what is kept of a form that can be sent again.
fn kept(fields: &Fields) -> &'static str {
    if fields.find(FILE_ERROR).is_some() {
        "What you typed is kept, but not every picture or file, so the form will ask you to choose those again"
    } else {
        "Nothing is lost"
    }
}

/// Returns a page that keeps a form until it can be sent again.
fn send_again(title: &str, text: &str, further: &Markup, (action, fields): (&str, &Fields)) -> Markup {
    explained(
        title,
        text,
        &html! {
            (further)
            form method="post" action=(action) {
                @for (name, value) in &fields.0 { input type="hidden" name=(name) value=(value); }
                button.primary { "Send again" }
            }
            @let shown = fields.0.iter().filter(|(name, value)| !value.is_empty() && !is_technical(name));
            dl { @for (name, value) in shown { dt { (name) } dd { (value) } } }
        },
    )
}

/// Returns true for fields that people did not type.
fn is_technical(name: &str) -> bool {
    let carried = [
        "form-token",
        "key",
        "revision",
        "corrections",
        "columns",
        "cell",
        "heading",
        "same",
        "decided",
        "content",
        "read",
        "checked",
        "board",
        FILE_ERROR,
    ];
    carried.contains(&name) || name.starts_with("was.")
}
