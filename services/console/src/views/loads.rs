//! The list of loads, and what is done to many of them at once.

use chrono::NaiveDate;
use maud::{Markup, html};

use super::layout::{Position, form_token, live, status};
use crate::api::model::{ActionResult, ActionResults, Load, Named, Summary};
use crate::api::{segment, with_query};
use crate::fields::Fields;
use crate::format::{Clock, difference, number, tonnes, typed_date};
use crate::loads::{ListQuery, SORTS};
use crate::user::User;

const STATUSES: [&str; 5] = ["upcoming", "collected", "completed", "rejected", "cancelled"];
/// Columns that a phone leaves out or shows in another place.
const NUMBERS: [&str; 2] = ["planned", "net"];

/// What the list shows.
pub(crate) struct ListView<'a> {
    pub(crate) user: &'a User,
    pub(crate) clock: Clock,
    pub(crate) query: &'a ListQuery,
    /// `None` if logistics is away.
    pub(crate) loads: Option<&'a [Load]>,
    pub(crate) next: Option<&'a str>,
    pub(crate) summary: Option<&'a Summary>,
    pub(crate) commodities: &'a [Named],
    /// Ids and names.
    pub(crate) organisations: &'a [(String, String)],
    pub(crate) missing: &'a [String],
    /// Whether the person may do something to loads.
    pub(crate) may_write: bool,
    /// The position of the feed of events.
    pub(crate) position: Option<&'a Position>,
}

impl ListView<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        html! {
            div.head {
                h1 { "Loads" }
                @if let Some(summary) = self.summary { small { (counted(summary.total.count, "load")) } }
                div.actions { (self.export()) }
            }
            @for missing in self.missing { p.notice.bad role="status" { (missing) } }
            (self.filters())
            (live(None, self.position))
            @if let Some(loads) = self.loads {
                @if loads.is_empty() { (self.empty()) } @else { (self.table(loads)) }
            }
        }
    }

    fn export(&self) -> Markup {
        let Some(summary) = self.summary else { return html! {} };
        let query = self.query.encoded();
        html! {
            details.menu {
                summary.btn { "Export" }
                div.card.pad {
                    p { "All " (counted(summary.total.count, "load")) " of these filters, in this order." }
                    p { a href={ "/loads/export.xlsx?" (query) } { "Excel (XLSX)" } }
                    p { a href={ "/loads/export.csv?" (query) } { "CSV" } }
                }
            }
        }
    }

    fn filters(&self) -> Markup {
        let query = self.query;
        let organisation =
            |id: &str| self.organisations.iter().find(|(known, _)| known == id).map(|(_, name)| name.clone());
        let commodity = |id: &str| {
            self.commodities.iter().find(|known| known.id.to_string() == id).map(|known| known.name.clone())
        };
        let names = |filter: &str, value: &str| match filter {
            "carrier" | "organiser" => organisation(value),
            "commodity" => commodity(value),
            _ => None,
        };
        let chips = query.chips(self.clock, names);
        html! {
            form.filters role="search" action="/loads" {
                @for (name, value) in query.kept(&["q"]) { input type="hidden" name=(name) value=(value); }
                input #search type="search" name="q" value=(query.get("q").unwrap_or_default()) aria-label="Search loads"
                    placeholder="Reference, ticket, place, name";
                button { "Search" }
            }
            div.filters {
                @for chip in &chips {
                    a.chip.on href=(chip.without) { (chip.text) " ✕" span.hidden { " (remove this filter)" } }
                }
                details.menu {
                    summary.chip { "More filters" }
                    form.card.pad.fields action="/loads" { (self.filter_fields()) }
                }
                @if !chips.is_empty() { a href="/loads" { "All loads" } }
            }
        }
    }

    fn filter_fields(&self) -> Markup {
        let query = self.query;
        let value = |name: &str| query.get(name).unwrap_or_default().to_owned();
        let day = |name: &str| value(name).parse().map_or_else(|_| value(name), typed_date);
        let own = [
            "status",
            "carrier",
            "organiser",
            "commodity",
            "tag",
            "from",
            "to",
            "week",
            "overdue",
            "awaiting",
        ];
        html! {
            @for (name, value) in query.kept(&own) { input type="hidden" name=(name) value=(value); }
            fieldset {
                legend { "Status" }
                @for status in STATUSES {
                    label { input type="checkbox" name="status" value=(status) checked[query.has("status", status)]; " "
                        (status) }
                }
            }
            @for (name, label) in [("carrier", "Haulier, id"), ("organiser", "Organiser, id")] {
                div.field {
                    label for={ "q-" (name) } { (label) }
                    input id={ "q-" (name) } name=(name) value=(value(name)) list="organisations" autocomplete="off";
                }
            }
            datalist #organisations {
                @for (id, name) in self.organisations { option value=(id) { (name) } }
            }
            div.field {
                label for="q-commodity" { "Commodity" }
                select #q-commodity name="commodity" {
                    option value="" { "All" }
                    @for Named { id, name } in self.commodities {
                        option value=(id) selected[query.has("commodity", &id.to_string())] { (name) }
                    }
                }
            }
            div.field { label for="q-tag" { "Tag" } input #q-tag name="tag" value=(value("tag")); }
            @for (name, label) in [("week", "Week of"), ("from", "Delivery from"), ("to", "Delivery until")] {
                div.field {
                    label for={ "q-" (name) } { (label) }
                    input id={ "q-" (name) } name=(name) value=(day(name)) placeholder="10 Dec 2026" autocomplete="off";
                }
            }
            label { input type="checkbox" name="overdue" value="on" checked[query.get("overdue").is_some()]; " Overdue" }
            label {
                input type="checkbox" name="awaiting" value="on" checked[query.get("awaiting").is_some()];
                " Awaiting acceptance"
            }
            div.actions { button.primary { "Show" } }
        }
    }

    fn empty(&self) -> Markup {
        let is_filtered = self.query.kept(&["sort"]).next().is_some();
        html! {
            div.card.pad {
                @if is_filtered {
                    p { "No load matches these filters." }
                    p { a href="/loads" { "Show all loads" } }
                } @else {
                    p { "There are no loads yet. Loads that your organisation orders or carries appear here." }
                }
            }
        }
    }

    fn table(&self, loads: &[Load]) -> Markup {
        let (sorted, descends) = self.query.sort();
        let head = |(name, _, label): &(&str, &str, &str)| {
            html! {
                th.num[NUMBERS.contains(name)]
                    aria-sort=[(*name == sorted).then_some(if descends { "descending" } else { "ascending" })] {
                    a href=(self.query.sorted_by(name)) {
                        (label) @if *name == sorted { (if descends { " ↓" } else { " ↑" }) }
                    }
                }
            }
        };
        html! {
            form method="post" action="/loads/actions" data-list {
                (form_token(self.user))
                input type="hidden" name="list" value=(self.query.encoded());
                @if self.may_write { (bar()) }
                div.card.scroll tabindex="0" role="region" aria-label="Loads" {
                    table.stack {
                        thead { tr {
                            @if self.may_write { th.pick { span.hidden { "Select" } } }
                            @for sort in &SORTS { (head(sort)) }
                            th { "Vehicle" }
                        } }
                        tbody { @for load in loads { (self.row(load)) } }
                        @if let Some(summary) = self.summary { (self.foot(summary)) }
                    }
                }
            }
            p.paging {
                @if self.query.get("cursor").is_some() { a href=(self.query.first()) { "First page" } " · " }
                @if let Some(next) = self.next { a rel="next" href=(self.query.at(next)) { "Next 50" } }
            }
        }
    }

    fn row(&self, load: &Load) -> Markup {
        let list = self.query.encoded();
        let path = format!("/loads/{}", segment(&load.id));
        let path = if list.is_empty() { path } else { with_query(&path, &[("list", &list)]) };
        let name = |party: Option<&crate::api::model::Party>| {
            party.map_or_else(|| "–".to_owned(), |p| p.name.clone())
        };
        let places =
            [&load.pickup_postcode, &load.dropoff_postcode].map(|place| place.as_deref().unwrap_or("?"));
        let net = load.weight_net.or(load.collection.as_ref().and_then(|collection| collection.weight_net));
        html! {
            tr data-id=(load.id) {
                @if self.may_write {
                    td.pick {
                        input type="checkbox" name="ids" value=(load.id) aria-label={ "Select " (load.reference) }
                            data-tonnes=(tonnes(load.weight));
                    }
                }
                td.c-load {
                    a.main href=(path) { (load.reference) }
                    @if places != ["?", "?"] { span.sub { (places[0]) " → " (places[1]) } }
                }
                td.c-date { (self.delivery(load)) }
                td.wide { (name(load.organiser.as_ref())) }
                td.c-haulier { (name(load.carrier.as_ref())) }
                td.c-commodity { (load.commodity.name) }
                td.num.wide { (tonnes(load.weight)) }
                td.num.c-net {
                    (tonnes(net))
                    @if let (Some(planned), Some(net)) = (load.weight, load.weight_net) {
                        @let (percent, text) = difference(planned, net);
                        @if percent.abs() > 5.0 { span.sub.late { (text) } }
                    }
                }
                td.c-status { (status(&load.status)) }
                td.wide { (load.vehicle_registration.as_deref().unwrap_or("–")) }
            }
        }
    }

    fn delivery(&self, load: &Load) -> Markup {
        let today = self.clock.today();
        let late =
            self.clock.delivery_date(&load.delivery).map_or(0, |day: NaiveDate| (today - day).num_days());
        let is_late = late > 0 && ["upcoming", "collected"].contains(&load.status.as_str());
        html! {
            span.late[is_late] { (self.clock.delivery(&load.delivery)) }
            @if is_late { span.sub.late { (counted(late.unsigned_abs(), "day")) " overdue" } }
        }
    }

    fn foot(&self, summary: &Summary) -> Markup {
        let total = summary.total;
        html! {
            tfoot { tr {
                @if self.may_write { td.pick {} }
                td { (counted(total.count, "load")) }
                td.wide {} td.wide {} td.wide {} td.wide {}
                td.num.wide { (number(total.weight)) }
                td.num { (number(total.weight_net)) }
                td.wide {} td.wide {}
            } }
        }
    }
}

/// Returns what can be done to the selected loads.
fn bar() -> Markup {
    html! {
        div.bar {
            b data-count aria-live="polite" { "With the selected loads:" }
            @for (action, label) in [("sendToCarrier", "Send to a haulier"), ("accept", "Accept"), ("cancel", "Cancel")] {
                button name="action" value=(action) { (label) }
            }
        }
    }
}

/// Returns a number and what is counted.
pub(crate) fn counted(count: u64, what: &str) -> String {
    let number = number(f64::from(u32::try_from(count).unwrap_or(u32::MAX)));
    let whole = number.split('.').next().unwrap_or(&number).to_owned();
    if count == 1 { format!("1 {what}") } else { format!("{whole} {what}s") }
}

/// An action on many loads, before it is done.
pub(crate) struct Confirmation<'a> {
    pub(crate) user: &'a User,
    pub(crate) action: &'a str,
    pub(crate) loads: &'a [Load],
    pub(crate) list: &'a str,
    pub(crate) key: &'a str,
    pub(crate) organisations: &'a [(String, String)],
    pub(crate) typed: &'a Fields,
    pub(crate) error: Option<&'a str>,
}

impl Confirmation<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        let planned: f64 =
            self.loads.iter().filter_map(|load| load.weight).map(crate::api::model::Weight::tonnes).sum();
        let count = counted(self.loads.len() as u64, "load");
        html! {
            div.head { h1 { (verb(self.action)) " " (count) } small { (number(planned)) " t planned" } }
            @if let Some(error) = self.error { p.notice.bad role="alert" { (error) } }
            form.fields.card.pad method="post" action="/loads/actions/run" {
                (form_token(self.user))
                input type="hidden" name="action" value=(self.action);
                input type="hidden" name="list" value=(self.list);
                input type="hidden" name="key" value=(self.key);
                @if self.action == "cancel" {
                    div.field {
                        label for="f-reason" { "Why" }
                        textarea #f-reason name="reason" rows="2" { (self.typed.get("reason")) }
                    }
                }
                @if self.action == "sendToCarrier" {
                    div.field {
                        label for="f-carrierId" { "Haulier, id " span.muted { "(needed)" } }
                        input #f-carrierId name="carrierId" list="organisations" required autocomplete="off"
                            value=(self.typed.get("carrierId"));
                    }
                    datalist #organisations {
                        @for (id, name) in self.organisations { option value=(id) { (name) } }
                    }
                }
                fieldset {
                    legend { "Take out what does not belong here" }
                    @for load in self.loads {
                        label {
                            input type="checkbox" name="ids" value=(load.id) checked;
                            " " b { (load.reference) } " " (load.commodity.name) ", " (tonnes(load.weight)) " t "
                            (status(&load.status))
                        }
                    }
                }
                div.actions {
                    button.primary { (verb(self.action)) " them" }
                    a.btn href={ "/loads?" (self.list) } { "Back" }
                }
            }
        }
    }
}

/// Returns the outcome of an action on many loads. What failed stays selected.
pub(crate) fn outcome(
    user: &User,
    action: &str,
    list: &str,
    results: &ActionResults,
    loads: &[Load],
) -> Markup {
    let reference =
        |id: &str| loads.iter().find(|load| load.id == id).map_or("", |load| load.reference.as_str());
    let row = |result: &ActionResult| {
        html! {
            tr.failed[result.status == "failed"] {
                td { a.main href={ "/loads/" (segment(&result.id)) } { (reference(&result.id)) } }
                td {
                    @match &result.error {
                        Some(error) => span.late { (error.message) },
                        None if result.status == "unchanged" => "nothing to do",
                        None => "done",
                    }
                }
            }
        }
    };
    html! {
        div.head { h1 { (verb(action)) ": " (results.done) " done, " (results.failed) " failed" }
            @if results.unchanged > 0 { small { (results.unchanged) " had nothing to do" } } }
        div.card.scroll { table { thead { tr { th { "Load" } th { "Outcome" } } }
            tbody { @for result in &results.results { (row(result)) } } } }
        form.actions method="post" action="/loads/actions" {
            (form_token(user))
            input type="hidden" name="list" value=(list);
            @for result in results.results.iter().filter(|result| result.status == "failed") {
                input type="hidden" name="ids" value=(result.id);
            }
            @if results.failed > 0 { button name="action" value=(action) { "Try the failed ones again" } }
            a.btn href={ "/loads?" (list) } { "Back to the list" }
        }
    }
}

fn verb(action: &str) -> &str {
    match action {
        "cancel" => "Cancel",
        "accept" => "Accept",
        _ => "Send",
    }
}
