//! A webhook: its form, its deliveries, and a single delivery.

use maud::{Markup, html};
use serde_json::json;

use super::connections::{Hook, banner, hook_path, service_slug};
use super::forms::{TextField, capital, error_line, notices, other_notices};
use super::layout::form_token;
use super::listing::curl;
use crate::api::connections::{Delivery, Try};
use crate::api::model::Webhook;
use crate::api::{FieldError, Service, segment, with_query};
use crate::fields::Fields;
use crate::format::{Clock, typed_date};
use crate::user::User;
use crate::views::loads::counted;

/// Events of loads: the name, and what people read.
const OF_LOADS: [(&str, &str); 14] = [
    ("load.created", "Created"),
    ("load.updated", "Changed"),
    ("load.sent_to_carrier", "Sent to the haulier"),
    ("load.sent_to_driver", "Sent to a driver"),
    ("load.driver_revoked", "Driver revoked"),
    ("load.accepted", "Accepted"),
    ("load.collected", "Collected"),
    ("load.completed", "Delivered"),
    ("load.corrected", "Proof corrected"),
    ("load.rejected", "Rejected"),
    ("load.reopened", "Reopened"),
    ("load.cancelled", "Cancelled"),
    ("load.noted", "Note written"),
    ("load.released", "Given to another haulier"),
];
/// Events of listings.
const OF_LISTINGS: [(&str, &str); 5] = [
    ("listing.published", "Published"),
    ("listing.updated", "Changed"),
    ("listing.closed", "Closed"),
    ("listing.enquiry", "Question asked"),
    ("listing.matched", "Matches a saved search"),
];

fn events(service: Service) -> &'static [(&'static str, &'static str)] {
    if service == Service::Logistics { &OF_LOADS } else { &OF_LISTINGS }
}

/// Returns the events that the console has no words for yet.
fn unknown<'a>(service: Service, names: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    names.filter(move |name| !events(service).iter().any(|(known, _)| known == name))
}

/// Returns the variable with the address of a service, in commands.
fn variable(service: Service) -> &'static str {
    if service == Service::Logistics { "$LOGISTICS" } else { "$LIVESTOCK" }
}

/// The events that a webhook did not get while it was off.
#[derive(Clone, Copy)]
pub(crate) struct Missed {
    pub(crate) count: u64,
    /// Whether there are more.
    pub(crate) is_cut: bool,
}

/// Returns since when a webhook is or was off, by the time of its last change, and what that means for its events.
pub(crate) fn off_since(text: &str, changed: &str, missed: Option<Missed>, clock: Clock) -> String {
    let missed = match missed {
        Some(Missed { count: 0, .. }) => {
            "No event happened meanwhile. Those that happen while it is off are".to_owned()
        }
        Some(Missed { count: 1, .. }) => "1 event happened meanwhile, which is".to_owned(),
        Some(Missed { count, is_cut }) => {
            format!("{count} {}events happened meanwhile, which are", if is_cut { "or more " } else { "" })
        }
        None => "Events that happen while it is off are".to_owned(),
    };
    format!(
        "{text} since {} or earlier. {missed} not kept for it: your developers find them in the event feed (“Follow \
         changes” in the documentation of the API).",
        clock.time(changed)
    )
}

/// A webhook with a page of its deliveries.
pub(crate) struct WebhookView<'a> {
    pub(crate) user: &'a User,
    pub(crate) clock: Clock,
    pub(crate) hook: &'a Hook,
    pub(crate) deliveries: &'a [Delivery],
    pub(crate) next: Option<&'a str>,
    /// The status that the list filters by.
    pub(crate) status: &'a str,
    /// Known only while it is off, and just after.
    pub(crate) missed: Option<Missed>,
    pub(crate) missing: &'a [String],
    pub(crate) errors: &'a [FieldError],
    pub(crate) done: Option<&'a str>,
    pub(crate) key: &'a str,
}

impl WebhookView<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        let Hook { service, webhook, .. } = self.hook;
        let path = hook_path(*service, &webhook.id);
        html! {
            p.trail { a href="/connections" { "Connections" } }
            div.head {
                h1 { (webhook.url) }
                small { (self.hook.share()) }
                @if self.user.person.may_write() { div.actions { a.btn href={ (path) "/edit" } { "Edit" } } }
            }
            @if let Some(done) = self.done { p.notice role="status" { (done) } }
            @for missing in self.missing { p.notice.bad role="status" { (missing) } }
            (notices(self.errors))
            @if self.hook.is_disabled() {
                @let off = off_since("It has been off", &webhook.updated_at, self.missed, self.clock);
                (banner(self.hook, &html! { (off) }))
            }
            div.grid.two {
                div { (self.deliveries(&path)) }
                div { @if self.user.person.may_write() { (self.actions(&path)) } (self.events()) }
            }
        }
    }

    fn form(&self, path: &str, action: &str, content: &Markup) -> Markup {
        html! {
            form method="post" action={ (path) "/" (action) } {
                (form_token(self.user))
                input type="hidden" name="key" value={ (self.key) "-" (action) };
                input type="hidden" name="revision" value=(self.hook.webhook.revision);
                (content)
            }
        }
    }

    fn actions(&self, path: &str) -> Markup {
        let Hook { service, webhook, failed, .. } = self.hook;
        let trial = html! {
            label { "Send a test: " select name="event" {
                option value="" { "An empty event" }
                @for (event, label) in events(*service) { option value=(event) { (label) } }
            } }
            " " button { "Send" }
        };
        // The list is complete, newest first, unless there is a further page of it.
        let first =
            self.deliveries.iter().rfind(|delivery| delivery.status == "failed" && self.next.is_none());
        let first = first.and_then(|delivery| self.clock.delivery_date(&delivery.created_at)).map(typed_date);
        let redeliver = html! {
            label {
                "Deliver again what failed since "
                input.short name="since" value=[first] placeholder="24/11/2026" required autocomplete="off";
            }
            " " button { "Deliver again" }
            @if let Some(failed) = failed { p.muted { (counted(*failed, "event")) " failed in all." } }
        };
        let (action, text) =
            if self.hook.is_disabled() { ("enable", "Switch on") } else { ("disable", "Switch off") };
        html! {
            section.card {
                header { h2 { "What to do" } }
                div.pad.grid {
                    (self.form(path, "test", &trial))
                    (self.form(path, "redeliver", &redeliver))
                    div.actions {
                        (self.form(path, action, &html! {
                            input type="hidden" name="off" value=(webhook.updated_at);
                            button { (text) }
                        }))
                        (self.form(path, "rotate", &html! { button { "New secret" } }))
                        details.menu {
                            summary.btn { "Delete" }
                            div.card.pad {
                                p { "Its deliveries are deleted too." }
                                (self.form(path, "delete", &html! { button.danger { "Delete it" } }))
                            }
                        }
                    }
                }
                @let own = format!("\"{}/v1/webhooks/{}", variable(*service), webhook.id);
                @let status = if self.hook.is_disabled() { "active" } else { "disabled" };
                (curl(&format!("-X POST {own}/test\""), &json!({})))
                (curl(&format!("-X PATCH {own}\" -H 'If-Match: \"{}\"'", webhook.revision), &json!({"status": status})))
                (curl(&format!("-X POST {own}/rotate-secret\""), &json!({})))
            }
        }
    }

    fn events(&self) -> Markup {
        let Hook { service, webhook, .. } = self.hook;
        html! {
            section.card {
                header { h2 { "Events" } @if webhook.scope == "all" { small { "of all organisations" } } }
                ul.list {
                    @for (name, label) in events(*service).iter().filter(|(name, _)| webhook.events.iter().any(|own| own == name)) {
                        li { (label) small.go { (name) } }
                    }
                    @for name in unknown(*service, webhook.events.iter().map(String::as_str)) { li { (name) } }
                }
            }
        }
    }

    fn deliveries(&self, path: &str) -> Markup {
        html! {
            section.card {
                header {
                    h2 { "Deliveries" }
                    span {
                        @for (status, label) in [("", "All"), ("pending", "Waiting"), ("failed", "Failed"), ("delivered", "Delivered")] {
                            a.chip.on[status == self.status] href=(if status.is_empty() { path.to_owned() } else { with_query(path, &[("status", status)]) })
                                aria-current=[(status == self.status).then_some("true")] { (label) } " "
                        }
                    }
                }
                @if self.deliveries.is_empty() { p.pad.muted { "There are none." } }
                ul.list {
                    @for delivery in self.deliveries {
                        li {
                            div {
                                a.main href={ (path) "/deliveries/" (segment(&delivery.id)) } { (delivery.event) }
                                span.sub { (self.clock.time(&delivery.created_at)) ", " (counted(u64::from(delivery.attempts), "attempt")) }
                            }
                            span.go {
                                @if let Some(error) = &delivery.last_error { small { (error_name(error)) } " " }
                                (delivery_status(&delivery.status))
                            }
                        }
                    }
                }
                @if let Some(next) = self.next { p.pad { a rel="next" href=(with_query(path, &[("status", self.status), ("cursor", next)])) { "More" } } }
            }
        }
    }
}

fn delivery_status(status: &str) -> Markup {
    let (class, word) = match status {
        "delivered" => ("completed", "Delivered"),
        "failed" => ("rejected", "Failed"),
        _ => ("upcoming", "Waiting"),
    };
    html! { span.status.(class) { (word) } }
}

/// Returns why an attempt failed, in words.
fn error_name(error: &str) -> String {
    match error {
        "name" => "the address is not found, or may not be reached".to_owned(),
        "connection" => "no connection".to_owned(),
        "tls" => "the certificate is not accepted".to_owned(),
        "timeout" => "no answer in time".to_owned(),
        "protocol" => "the answer is not HTTP".to_owned(),
        other => {
            other.strip_prefix("status ").map_or_else(|| other.to_owned(), |code| format!("answered {code}"))
        }
    }
}

/// The form of a webhook.
pub(crate) struct WebhookForm<'a> {
    pub(crate) user: &'a User,
    pub(crate) service: Service,
    /// `None` for a new one.
    pub(crate) webhook: Option<&'a Webhook>,
    /// What the fields were when it was read, encoded.
    pub(crate) was: Option<&'a str>,
    pub(crate) typed: &'a Fields,
    pub(crate) errors: &'a [FieldError],
    pub(crate) key: &'a str,
}

impl WebhookForm<'_> {
    /// Returns the form.
    pub(crate) fn markup(&self) -> Markup {
        let events_error = self.errors.iter().find(|error| error.path.split('[').next() == Some("events"));
        let text = |name: &'static str, label| TextField::new(name, label, self.typed, self.errors);
        let (action, back) = match self.webhook {
            Some(webhook) => {
                let path = hook_path(self.service, &webhook.id);
                (format!("{path}/edit"), path)
            }
            None => (
                format!("/connections/webhooks/{}/new", service_slug(self.service)),
                "/connections".to_owned(),
            ),
        };
        let chosen = self.typed.all("events");
        let body = json!({"url": self.typed.get("url"), "events": chosen});
        let request = match self.webhook {
            Some(webhook) => format!("-X PATCH \"{}/v1/webhooks/{}\"", variable(self.service), webhook.id),
            None => format!("-X POST \"{}/v1/webhooks\"", variable(self.service)),
        };
        html! {
            p.trail { a href="/connections" { "Connections" } }
            div.head { h1 { (if self.webhook.is_some() { "Edit the webhook" } else { "New webhook" }) } }
            (other_notices(self.errors, &["url", "events", "description"]))
            form.fields.card.pad method="post" action=(action) {
                (form_token(self.user))
                input type="hidden" name="key" value=(self.key);
                @if let Some(webhook) = self.webhook { input type="hidden" name="revision" value=(webhook.revision); }
                @if let Some(was) = self.was { input type="hidden" name="was" value=(was); }
                (text("url", "Address of the receiver, https://…").needed().line())
                (text("description", "What it is for").line())
                fieldset.boxes.wrong[events_error.is_some()] aria-describedby=[events_error.map(|_| "error-events")] {
                    legend { "Events " span.muted { "(at least one)" } }
                    @for (name, label) in events(self.service) {
                        label { input type="checkbox" name="events" value=(name) checked[chosen.contains(name)]; " " (label) }
                    }
                    @for name in unknown(self.service, chosen.iter().copied()) {
                        label { input type="checkbox" name="events" value=(name) checked; " " (name) }
                    }
                    (error_line("events", events_error))
                }
                @if self.user.person.is_admin {
                    label {
                        input type="checkbox" name="all" value="yes" checked[self.typed.find("all").is_some()];
                        " Of all organisations"
                    }
                }
                div.actions { button.primary { "Save" } a.btn href=(back) { "Back" } }
            }
            (curl(&request, &body))
        }
    }
}

/// A delivery with its attempts and its body.
pub(crate) struct DeliveryView<'a> {
    pub(crate) user: &'a User,
    pub(crate) clock: Clock,
    pub(crate) service: Service,
    pub(crate) webhook: &'a Webhook,
    pub(crate) delivery: &'a Delivery,
    pub(crate) errors: &'a [FieldError],
    pub(crate) key: &'a str,
}

impl DeliveryView<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        let delivery = self.delivery;
        let path = hook_path(self.service, &self.webhook.id);
        html! {
            p.trail { a href="/connections" { "Connections" } " · " a href=(path) { (self.webhook.url) } }
            div.head {
                h1 { (delivery.event) }
                (delivery_status(&delivery.status))
                small { (self.clock.time(&delivery.created_at)) }
                @if self.user.person.may_write() {
                    form.actions method="post" action={ (path) "/deliveries/" (segment(&delivery.id)) "/redeliver" } {
                        (form_token(self.user))
                        input type="hidden" name="key" value=(self.key);
                        button { "Deliver again" }
                    }
                }
            }
            (notices(self.errors))
            div.grid.two {
                div {
                    section.card {
                        header { h2 { "What was sent" } }
                        div.pad {
                            dl {
                                dt { "POST" } dd { (self.webhook.url) }
                                dt { "Content-Type" } dd { "application/json" }
                                dt { "webhook-id" } dd { (delivery.id) }
                                dt { "webhook-timestamp" } dd { "the time of the attempt" }
                                dt { "webhook-signature" } dd { "made with your secret" }
                                dt { "Drover-Webhook-Id" } dd { (self.webhook.id) }
                            }
                            @match &delivery.body {
                                Some(body) => pre.body tabindex="0" { (serde_json::to_string_pretty(body).unwrap_or_default()) },
                                None => p.muted { "What was sent is not kept any more." },
                            }
                        }
                    }
                }
                div {
                    section.card {
                        header { h2 { "Attempts" } small { (delivery.attempts) } }
                        @if delivery.tries.is_empty() { p.pad.muted { "Not tried yet. Load the page again in a moment." } }
                        ul.list { @for attempt in delivery.tries.iter().rev() { (self.attempt(attempt)) } }
                    }
                    @if let Some(load) = &delivery.load_id { p { a href={ "/loads/" (segment(load)) } { "To the load" } } }
                    @if let Some(listing) = &delivery.listing_id { p { a href={ "/market/" (segment(listing)) } { "To the listing" } } }
                }
            }
        }
    }

    fn attempt(&self, attempt: &Try) -> Markup {
        html! {
            li {
                div {
                    b {
                        @match (attempt.status, &attempt.error) {
                            (Some(status), _) => { "Answered " (status) },
                            (None, Some(error)) => (capital(&error_name(error))),
                            (None, None) => "Tried",
                        }
                    }
                    span.sub { (self.clock.time(&attempt.at)) }
                }
                span.go { (attempt.duration_ms) " ms" }
            }
        }
    }
}
