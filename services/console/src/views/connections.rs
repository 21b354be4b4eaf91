//! Connections with other programs: webhooks, service accounts and saved searches.

use maud::{Markup, html};
use serde_json::json;

use super::forms::{TextField, notices, other_notices};
use super::layout::form_token;
use super::listing::curl;
use crate::api::connections::{SavedSearch, ServiceAccount};
use crate::api::model::Webhook;
use crate::api::{FieldError, Reply, Service, segment, with_query};
use crate::fields::Fields;
use crate::format::Clock;
use crate::market::MarketQuery;
use crate::user::User;
use crate::views::loads::counted;

/// Roles that restrict a service account.
const ROLES: [(&str, &str); 2] = [("viewer", "Only reads"), ("weighbridge", "Only weighs")];

/// A webhook with the outcome of its deliveries, as far as it is known.
pub(crate) struct Hook {
    pub(crate) service: Service,
    pub(crate) webhook: Webhook,
    pub(crate) delivered: Option<u64>,
    pub(crate) failed: Option<u64>,
}

impl Hook {
    /// Returns how many deliveries succeeded.
    pub(crate) fn share(&self) -> String {
        match (self.delivered, self.failed) {
            (Some(0), Some(0)) => "nothing delivered yet".to_owned(),
            (Some(delivered), Some(failed)) => {
                let share = delivered * 100 / (delivered + failed).max(1);
                format!("{share} % of {} delivered", counted(delivered + failed, "event"))
            }
            _ => "not known at the moment".to_owned(),
        }
    }

    pub(crate) fn is_disabled(&self) -> bool {
        self.webhook.status == "disabled"
    }
}

/// Returns the address of a webhook.
pub(crate) fn hook_path(service: Service, id: &str) -> String {
    format!("/connections/webhooks/{}/{}", service_slug(service), segment(id))
}

/// Returns the part of an address that names a service with webhooks.
pub(crate) fn service_slug(service: Service) -> &'static str {
    if service == Service::Logistics { "loads" } else { "market" }
}

/// What the page shows. What is away, or not for its reader, is absent.
pub(crate) struct Connections<'a> {
    pub(crate) user: &'a User,
    pub(crate) clock: Clock,
    /// Webhooks of loads and of the market.
    pub(crate) hooks: [Option<&'a Reply<Vec<Hook>>>; 2],
    pub(crate) accounts: Option<&'a Reply<Vec<ServiceAccount>>>,
    pub(crate) searches: Option<&'a Reply<Vec<SavedSearch>>>,
    pub(crate) missing: &'a [String],
    /// Whether the browser keeps a secret that the person has not copied yet.
    pub(crate) has_secret: bool,
    pub(crate) errors: &'a [FieldError],
    pub(crate) key: &'a str,
    pub(crate) done: Option<&'a str>,
}

impl Connections<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        html! {
            div.head { h1 { "Connections" } }
            @if let Some(done) = self.done { p.notice role="status" { (done) } }
            @for missing in self.missing { p.notice.bad role="status" { (missing) } }
            (notices(self.errors))
            @if self.has_secret {
                p.notice.bad role="status" { "A secret waits to be copied. " a href=(SECRET_PATH) { "Show it" } }
            }
            @for hook in self.hooks().filter(|hook| hook.is_disabled()) {
                (banner(hook, &html! {
                    a href=(hook_path(hook.service, &hook.webhook.id)) {
                        (if self.user.person.may_write() { "Switch it on again" } else { "Open it" })
                    }
                }))
            }
            div.grid {
                (self.webhooks())
                (self.accounts())
                (self.searches())
            }
        }
    }

    fn hooks(&self) -> impl Iterator<Item = &Hook> {
        self.hooks.iter().flatten().flat_map(|reply| &reply.value)
    }

    fn webhooks(&self) -> Markup {
        html! {
            section.card {
                header {
                    h2 { "Webhooks" }
                    @if self.user.person.may_write() {
                        span {
                            a href="/connections/webhooks/loads/new" { "New, for loads" } " · "
                            a href="/connections/webhooks/market/new" { "New, for the market" }
                        }
                    }
                }
                @if self.hooks().next().is_none() {
                    p.pad.muted { "A webhook tells another program of yours at once what happens to your loads and listings." }
                }
                ul.list {
                    @for hook in self.hooks() {
                        li {
                            div {
                                a.main href=(hook_path(hook.service, &hook.webhook.id)) { (hook.webhook.url) }
                                span.sub {
                                    (if hook.service == Service::Logistics { "Loads" } else { "Market" }) ": "
                                    (counted(hook.webhook.events.len() as u64, "event type"))
                                    @if let Some(text) = &hook.webhook.description { ", " (text) }
                                }
                            }
                            span.go {
                                (hook.share())
                                @if hook.is_disabled() { " " span.status.rejected { "Switched off" } }
                            }
                        }
                    }
                }
                (more("loads", "webhooks for loads", self.hooks[0]))
                (more("market", "webhooks for the market", self.hooks[1]))
            }
        }
    }

    fn accounts(&self) -> Markup {
        let Some(accounts) = self.accounts else { return html! {} };
        html! {
            section.card {
                header {
                    h2 { "Service accounts" }
                    @if self.user.person.organisation_id.is_some() && self.user.person.may_write() { a href="/connections/accounts/new" { "New" } }
                }
                @if accounts.value.is_empty() { p.pad.muted { "With a service account, a program of yours logs in by itself." } }
                ul.list { @for account in &accounts.value { (self.account(account)) } }
                (more("accounts", "service accounts", Some(accounts)))
            }
        }
    }

    fn account(&self, account: &ServiceAccount) -> Markup {
        let roles = ROLES.iter().filter(|(role, _)| account.roles.iter().any(|own| own == role));
        let path = format!("/connections/accounts/{}", segment(&account.id));
        html! {
            li {
                div {
                    b { (account.name) }
                    span.sub {
                        (account.client_id)
                        @for (_, label) in roles { ", " (label.to_lowercase()) }
                        @if let Some(at) = &account.expires_at { ", until " (self.clock.time(at)) }
                    }
                }
                span.go {
                    @match &account.last_used_at {
                        Some(at) => { "used " (self.clock.time(at)) },
                        None => "never used",
                    }
                    @if self.user.person.may_write() {
                        details.menu {
                            summary.btn { "Change" span.hidden { " " (account.name) } }
                            div.card.pad {
                                p { "With a new secret, the old one works for another 24 hours." }
                                form method="post" action={ (path) "/rotate" } {
                                    (form_token(self.user))
                                    input type="hidden" name="key" value={ (self.key) "-" (account.id) };
                                    button { "New secret" }
                                }
                                p { "Once the account is deleted, the program can do nothing more after 10 minutes." }
                                form method="post" action={ (path) "/delete" } { (form_token(self.user)) button.danger { "Delete" } }
                            }
                        }
                    }
                }
            }
        }
    }

    fn searches(&self) -> Markup {
        let searches = self.searches.map_or(&[][..], |reply| &reply.value);
        html! {
            section.card {
                header { h2 { "Saved searches" } a href="/market" { "Search the market" } }
                @if searches.is_empty() { p.pad.muted { "Search the market, then save the search: new listings are counted here." } }
                ul.list { @for search in searches { (self.search(search)) } }
                (more("searches", "saved searches", self.searches))
            }
        }
    }

    fn search(&self, search: &SavedSearch) -> Markup {
        let query = MarketQuery::of_saved(&search.parameters);
        let path = format!("/connections/searches/{}", segment(&search.id));
        let (action, text) =
            if search.notify { ("rest", "Stop counting") } else { ("count", "Count new ones") };
        html! {
            li {
                div {
                    a.main href=(path) { (search.name) }
                    span.sub { @for (text, _) in query.chips(|_, _| None) { (text) " " } }
                }
                span.go {
                    @if search.new_matches > 0 { span.status.upcoming { (search.new_matches) " new" } " " }
                    @for (action, text) in [(action, text), ("delete", "Delete")] {
                        form.inline method="post" action={ (path) "/" (action) } {
                            (form_token(self.user))
                            button.plain { (text) span.hidden { ": " (search.name) } } " "
                        }
                    }
                }
            }
        }
    }
}

/// Returns the link to the next page of a list, whose cursor has this name in the address.
fn more<T>(name: &str, entries: &str, list: Option<&Reply<Vec<T>>>) -> Markup {
    html! {
        @if let Some(cursor) = list.and_then(|reply| reply.next.as_deref()) {
            p.pad { a rel="next" href=(with_query("/connections", &[(name, cursor)])) { "More " (entries) } }
        }
    }
}

/// Returns the banner of a webhook that is switched off, with a link if there is one.
pub(crate) fn banner(hook: &Hook, link: &Markup) -> Markup {
    html! {
        div.notice.bad role="alert" {
            "The webhook to " b { (hook.webhook.url) } " is switched off"
            @if let Some(reason) = &hook.webhook.disabled_reason { ": " (reason) }
            ". "
            @if let Some(failed) = hook.failed.filter(|failed| *failed > 0) { (counted(failed, "event")) " did not arrive. " }
            (link)
        }
    }
}

/// The form of a service account.
pub(crate) struct AccountForm<'a> {
    pub(crate) user: &'a User,
    pub(crate) typed: &'a Fields,
    pub(crate) errors: &'a [FieldError],
    pub(crate) key: &'a str,
}

impl AccountForm<'_> {
    /// Returns the form.
    pub(crate) fn markup(&self) -> Markup {
        let name = TextField::new("name", "Name", self.typed, self.errors).needed();
        let roles = self.typed.all("roles");
        html! {
            p.trail { a href="/connections" { "Connections" } }
            div.head { h1 { "New service account" } }
            (other_notices(self.errors, &["name"]))
            form.fields.card.pad method="post" action="/connections/accounts/new" {
                (form_token(self.user))
                input type="hidden" name="key" value=(self.key);
                (name.line())
                fieldset {
                    legend { "What the program may do" }
                    @for (role, label) in ROLES {
                        label { input type="checkbox" name="roles" value=(role) checked[roles.contains(&role)]; " " (label) }
                    }
                    p.muted { "With neither, it may do what people of your organisation may." }
                }
                div.actions { button.primary { "Create" } a.btn href="/connections" { "Back" } }
            }
            (curl("-X POST \"$SYSTEM/v1/service-accounts\"", &json!({"name": self.typed.get("name"), "roles": roles})))
        }
    }
}

/// The address of the page with a secret that the person has not copied yet.
pub(crate) const SECRET_PATH: &str = "/connections/secret";

/// The page of a secret that its service shows once.
pub(crate) struct SecretPage<'a> {
    pub(crate) user: &'a User,
    pub(crate) title: &'a str,
    /// The address of the webhook, or the id of the account.
    pub(crate) of: &'a str,
    /// Absent if the form was sent before.
    pub(crate) secret: Option<&'a str>,
    pub(crate) is_account: bool,
    /// Where it goes on.
    pub(crate) on: &'a str,
}

impl SecretPage<'_> {
    /// Returns the page. Each line can be selected as a whole where copying by a button fails.
    pub(crate) fn markup(&self) -> Markup {
        let labels = if self.is_account { ["Client id", "Client secret"] } else { ["Address", "Secret"] };
        html! {
            div.head { h1 { (self.title) } }
            section.card.pad.fields {
                @if self.secret.is_some() {
                    p { b { "Copy the secret now." } " This browser keeps it for an hour at most." }
                }
                @for (label, text) in labels.into_iter().zip([Some(self.of), self.secret]) {
                    div.field.long {
                        label for={ "secret-" (label) } { (label) }
                        @match text {
                            Some(text) => { input.secret id={ "secret-" (label) } value=(text) readonly data-copy; }
                            None => p.error {
                                "It was shown once, and cannot be shown again. If you do not have it, go on and choose New secret."
                            },
                        }
                    }
                }
                p.muted {
                    @if self.is_account {
                        "With these, a program gets tokens at /v1/token of the system service. If you lose the secret, make a \
                         new one: the old one works for another 24 hours."
                    } @else {
                        "The receiver checks with it that an event comes from here. A secret that is lost is replaced by a new \
                         one; for 24 hours, both sign."
                    }
                }
                div.actions {
                    @if self.secret.is_some() {
                        form method="post" action=(SECRET_PATH) { (form_token(self.user)) button.primary { "I have it" } }
                    } @else { a.btn.primary href=(self.on) { "Go on" } }
                }
            }
        }
    }
}
