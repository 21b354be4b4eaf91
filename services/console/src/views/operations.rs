//! How the services are doing.

use maud::{Markup, html};
use serde_json::{Value, json};

use super::forms::{capital, notices};
use super::layout::form_token;
use super::listing::curl;
use crate::api::{FieldError, Service};
use crate::format::{number, typed_number};
use crate::metrics::{Figures, PARTS};
use crate::user::User;

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
/// Height of the bars of a chart, and the distance between them.
const BAR_HEIGHT: f64 = 40.0;
const BAR_STEP: usize = 14;

/// What is known of a service. What does not answer is absent.
pub(crate) struct State {
    pub(crate) service: Service,
    /// The answer of `/readyz`.
    pub(crate) ready: Option<Value>,
    pub(crate) version: Option<String>,
    /// Level and filter of the log.
    pub(crate) log: Option<(String, String)>,
    pub(crate) figures: Option<Figures>,
}

/// What the page shows.
pub(crate) struct OperationsView<'a> {
    pub(crate) user: &'a User,
    pub(crate) states: &'a [State],
    pub(crate) errors: &'a [FieldError],
    pub(crate) done: Option<&'a str>,
}

impl OperationsView<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        html! {
            div.head { h1 { "Operations" } small { "figures of the last hour" } }
            @if let Some(done) = self.done { p.notice role="status" { (done) } }
            (notices(self.errors))
            div.tiles.services { @for state in self.states { (self.service(state)) } }
            (self.cache())
        }
    }

    fn service(&self, state: &State) -> Markup {
        let is_ready = state.ready.as_ref().is_some_and(|ready| ready["status"] == "ok");
        let word = match &state.ready {
            None => "Away",
            Some(_) if is_ready => "Ready",
            Some(_) => "Not ready",
        };
        html! {
            section.card {
                header {
                    h2 { (capital(state.service.name())) }
                    span.status.(if is_ready { "completed" } else { "rejected" }) { (word) }
                }
                div.pad {
                    dl {
                        @if let Some(version) = &state.version { dt { "Version" } dd { (version) } }
                        @if let Some(ready) = &state.ready {
                            @for (name, value) in ready.as_object().into_iter().flatten().filter(|(name, _)| *name != "status") {
                                dt { (capital(name)) }
                                dd.late[value != "ok"] { (value.as_str().unwrap_or("–")) }
                            }
                        }
                        @if let Some(figures) = &state.figures { (figures_of(figures)) }
                    }
                    @match &state.figures {
                        Some(figures) => { (requests(figures)) (durations(figures)) },
                        None => p.muted { "Its figures cannot be read from here." },
                    }
                    @if let Some((level, filter)) = &state.log { (self.log(state.service, level, filter)) }
                }
            }
        }
    }

    fn log(&self, service: Service, level: &str, filter: &str) -> Markup {
        let variable = service.name().to_uppercase();
        html! {
            form.log method="post" action="/operations/log" {
                (form_token(self.user))
                input type="hidden" name="service" value=(service.name());
                label { "Log " select name="level" {
                    @for name in LEVELS { option value=(name) selected[name.eq_ignore_ascii_case(level)] { (name) } }
                } }
                label { "only of " input name="filter" value=(filter) placeholder="all" autocomplete="off"; }
                button { "Change" span.hidden { " the log of " (service.name()) } }
            }
            (curl(&format!("-X PUT \"${variable}/v1/settings\""), &json!({"logging": {"level": level, "filter": filter}})))
        }
    }

    fn cache(&self) -> Markup {
        html! {
            section.card {
                header { h2 { "Cache of places" } }
                form.pad.actions method="post" action="/operations/cache" {
                    (form_token(self.user))
                    button name="what" value="places" { "Clear it" }
                    button name="what" value="keys" { "Read keys again" }
                }
                p.pad.muted { "To read keys again also replaces the keys of links. Links that were made before stay valid until they end." }
                (curl("-X POST \"$SYSTEM/v1/cache\"", &json!({"flush": true})))
            }
        }
    }
}

fn figures_of(figures: &Figures) -> Markup {
    let share = figures.all.errors / figures.all.requests * 100.0;
    let whole = |value: f64| number(value).trim_end_matches(".00").to_owned();
    html! {
        dt { "Requests" } dd { (whole(figures.all.requests)) }
        dt { "Errors" } dd.late[figures.all.errors > 0.0] { (whole(figures.all.errors)) ", " (number(share)) " %" }
        @if let Some(seconds) = figures.p99 { dt { "99 of 100 within" } dd { (typed_number(seconds * 1000.0)) " ms" } }
        @else if figures.durations.iter().any(|(_, count)| *count > 0.0) { dt { "99 of 100 within" } dd { "over 30 s" } }
        @if let Some(waiting) = figures.waiting {
            dt { "Waiting to be sent" }
            dd { (whole(waiting)) @if let Some(oldest) = figures.oldest.filter(|oldest| *oldest > 0.0) { ", the oldest for " (span(oldest)) } }
        }
    }
}

/// Returns a time in the unit that suits it.
fn span(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds if seconds < 7_200.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.0} h", seconds / 3_600.0),
    }
}

/// Returns a chart of the requests and the errors in each part of the hour.
fn requests(figures: &Figures) -> Markup {
    let most = figures.parts.iter().map(|part| part.requests).fold(0.0, f64::max);
    let minutes = 60 / PARTS;
    let bars =
        figures.parts.iter().enumerate().filter(|(_, part)| part.requests > 0.0).flat_map(|(index, part)| {
            let until = (PARTS - 1 - index) * minutes;
            let text = format!(
                "{} to {until} minutes ago: {} requests, {} errors",
                until + minutes,
                part.requests,
                part.errors
            );
            let bar = Bar { index, share: part.requests / most, is_bad: false, text };
            let errors = Bar { share: part.errors / most, is_bad: true, text: bar.text.clone(), ..bar };
            [bar, errors]
        });
    chart("Requests and errors, every 5 minutes", PARTS, bars)
}

/// Returns a chart of how long requests take.
fn durations(figures: &Figures) -> Markup {
    let most = figures.durations.iter().map(|(_, count)| *count).fold(0.0, f64::max);
    let bars = figures.durations.iter().enumerate().filter(|(_, (_, count))| *count > 0.0);
    let bars = bars.map(|(index, (limit, count))| {
        let text = match limit {
            Some(limit) => format!("up to {} ms: {count}", typed_number(limit * 1000.0)),
            None => format!("longer: {count}"),
        };
        // Roots, so that the few slow ones are seen.
        Bar { index, share: (count / most).sqrt(), is_bad: false, text }
    });
    chart("How many requests took how long", figures.durations.len(), bars)
}

/// A bar of a chart: its place, its part of the height, and its text.
struct Bar {
    index: usize,
    share: f64,
    is_bad: bool,
    text: String,
}

fn chart(label: &str, length: usize, bars: impl Iterator<Item = Bar>) -> Markup {
    let width = length * BAR_STEP;
    let mut bars = bars.peekable();
    html! {
        @if bars.peek().is_some() {
            p.sub { (label) }
            svg.bars viewBox={ "0 0 " (width) " 46" } role="img" aria-label=(label) {
                line x1="0" y1="42" x2=(width) y2="42" {}
                @for Bar { index, share, is_bad, text } in bars {
                    @let height = share * BAR_HEIGHT;
                    rect.bad[is_bad] x=(index * BAR_STEP + 2) y=(format!("{:.1}", 42.0 - height)) width="10"
                        height=(format!("{height:.1}")) { title { (text) } }
                }
            }
        }
    }
}
