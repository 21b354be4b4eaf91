//! The pages of logging in and out.

use maud::{Markup, html};

use super::layout::{form_token, leading_on, plain};
use crate::api::with_query;
use crate::login::PEOPLE;
use crate::user::User;

/// Returns the page of people to choose from.
pub(crate) fn people(to: &str) -> Markup {
    plain(
        "Who are you today?",
        &html! {
            h1 { "Who are you today?" }
            p.development role="note" {
                "This is a demonstration: the console accepts development tokens, so anybody can be anybody. Never use it \
                 with real data."
            }
            div.people {
                @for person in PEOPLE {
                    form.card.pad method="post" action="/login/person" {
                        input type="hidden" name="to" value=(to);
                        input type="hidden" name="person" value=(person.id);
                        h2 { (person.name) }
                        p.muted {
                            @if person.organisation_name.is_empty() { "No organisation" } @else { (person.organisation_name) }
                        }
                        p { (person.about) }
                        button.primary { "Be " (person.name) }
                    }
                }
            }
        },
    )
}

/// Returns the page that leads on to the provider. It is a page because browsers refuse to follow a redirect from a
/// form, such as that of the filters, to another site.
pub(crate) fn to_provider(to: &str) -> Markup {
    let start = with_query("/login/start", &[("to", to)]);
    leading_on(
        "Log in",
        &start,
        &html! {
            h1 { "Log in" }
            p { "You are taken to the log-in of your organisation." }
            p { a.btn.primary href=(start) { "Continue" } }
        },
    )
}

/// Returns the page that leads to another account. Log-out comes first: the provider would log in the same person.
pub(crate) fn account(user: &User) -> Markup {
    let person = &user.person;
    plain(
        "Use another account",
        &html! {
            h1 { "Use another account" }
            p {
                "You are logged in as " b { (person.name) }
                @if let Some(organisation) = &person.organisation_name { " of " (organisation) }
                @else { ", without an organisation" }
                ". If this account should see more, ask the operator of your identity provider for a role."
            }
            form method="post" action="/logout" { (form_token(user)) button.primary { "Log out, and log in as somebody else" } }
            p { a href="/" { "To today's page" } }
        },
    )
}

/// Returns the page after logging out, which leads on to the provider's log-out if there is one.
pub(crate) fn logged_out(provider: Option<&str>) -> Markup {
    let body = html! {
        h1 { "You are logged out" }
        @if let Some(url) = provider {
            p { "You are taken to the log-out of your identity provider." }
            p { a.btn href=(url) { "Continue" } }
        } @else {
            p { a.btn.primary href="/login" { "Log in again" } }
        }
    };
    match provider {
        Some(url) => leading_on("Logged out", url, &body),
        None => plain("Logged out", &body),
    }
}

/// Returns the page of a tab that was opened to log in.
pub(crate) fn logged_in() -> Markup {
    plain(
        "Logged in",
        &html! {
            h1 { "You are logged in" }
            p { "Close this tab and go on in the other one." }
            p { a href="/" { "To today's page" } }
        },
    )
}
