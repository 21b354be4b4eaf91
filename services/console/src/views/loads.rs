//! The list of loads, and what is done to many of them at once.

use chrono::NaiveDate;
use maud::{Markup, html};

use super::forms::{other_notices, who_field};
use super::layout::{Position, form_token, live, module, status};
use super::load::deviation;
use crate::api::FieldError;
use crate::api::model::{ActionResult, ActionResults, Load, Named, Note, Party, Summary, Weight};
use crate::fields::Fields;
use crate::format::{Clock, number, tonnes, typed_date};
use crate::loads::{COLUMNS, LIST, ListQuery, SORTS, STATUSES};
use crate::user::User;

/// Columns of numbers.
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
    /// The address of the page with its sums, if they take longer than its rows.
    pub(crate) sums: Option<String>,
    pub(crate) commodities: &'a [Named],
    /// Ids and names of organisations, and of drivers in the filters.
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
            div.head data-results {
                h1 { "Loads" }
                @if let Some(summary) = self.summary { small { (counted(summary.total.count, "load")) } }
                @if let Some(sums) = &self.sums { a href=(sums) data-sums { "Count and sum them" } }
                div.actions {
                    @if self.may_write {
                        a.btn.primary href="/loads/new" { "New load" }
                        a.btn href="/import" { "Import" }
                    }
                    (self.export())
                }
            }
            @for missing in self.missing { p.notice.bad role="status" { (missing) } }
            (self.search())
            (live(None, self.position))
            div data-results {
                (self.filters())
                @if let Some(loads) = self.loads {
                    @if loads.is_empty() { (self.empty()) } @else { (self.table(loads)) }
                }
            }
            (module("office.js"))
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
                    @for (end, which) in [("", ""), ("&all-columns=on", " with all columns")] {
                        p { a href={ "/loads/export.xlsx?" (query) (end) } { "Excel (XLSX)" (which) } }
                        p { a href={ "/loads/export.csv?" (query) (end) } { "CSV" (which) } }
                    }
                }
            }
        }
    }

    fn search(&self) -> Markup {
        let query = self.query;
        html! {
            form.filters role="search" action="/loads" {
                @for (name, value) in query.kept(&["q"]) { input type="hidden" name=(name) value=(value); }
                input #search type="search" name="q" value=(query.get("q").unwrap_or_default()) aria-label="Search loads"
                    placeholder="Reference, ticket, place, name";
                button { "Search" }
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
            "carrier" | "organiser" | "driver" => organisation(value),
            "commodity" => commodity(value),
            _ => None,
        };
        let chips = query.chips(self.clock, names);
        html! {
            div.filters {
                @for chip in &chips {
                    a.chip.on href=(chip.without) { (chip.text) " ✕" span.hidden { " (remove this filter)" } }
                }
                @if let Some(all) = query.with_cancelled() {
                    a.chip.on href=(all) { "Without cancelled loads ✕" span.hidden { " (show them too)" } }
                }
                details.menu {
                    summary.chip { "More filters" }
                    form.card.pad.fields action="/loads" { (self.filter_fields()) }
                }
                (self.columns())
                details.menu hidden data-views=(query.encoded()) { summary.chip { "Views" } div.card.pad {} }
                @if query.is_filtered() { a href="/loads" { "All loads" } }
            }
        }
    }

    fn columns(&self) -> Markup {
        html! {
            details.menu {
                summary.chip { "Columns" }
                form.card.pad.choices action="/loads" {
                    @for (name, value) in self.query.kept(&["col"]) { input type="hidden" name=(name) value=(value); }
                    @for column in &COLUMNS {
                        label {
                            input type="checkbox" name="col" value=(column.name) checked[self.query.has_column(column.name)];
                            " " (column.heading)
                        }
                    }
                    div.actions { button.primary { "Show" } }
                }
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
            "differs",
            "driver",
            "creator",
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
            @for (name, label) in [("carrier", "Haulier"), ("organiser", "Organiser")] {
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
            @for (name, label) in [("tag", "Tag"), ("differs", "Delivered outside, %")] {
                div.field {
                    label for={ "q-" (name) } { (label) }
                    input id={ "q-" (name) } name=(name) value=(value(name)) autocomplete="off";
                }
            }
            @for (name, label) in [("week", "Week of"), ("from", "Delivery from"), ("to", "Delivery until")] {
                div.field {
                    label for={ "q-" (name) } { (label) }
                    input id={ "q-" (name) } name=(name) value=(day(name)) placeholder="10 Dec 2026" autocomplete="off";
                }
            }
            @if !self.user.is_driver() {
                div.field {
                    label for="q-driver" { "Driver" }
                    input #q-driver name="driver" value=(value("driver")) autocomplete="off";
                }
                label {
                    input type="checkbox" name="creator" value="own" checked[query.has("creator", "own")];
                    " Entered by us"
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
        html! {
            div.card.pad {
                @if self.query.is_filtered() {
                    p { "No load matches these filters." }
                    p { a href="/loads" { "Show all loads" } }
                } @else {
                    p { "There are no loads yet. Loads that your organisation orders or carries appear here." }
                }
            }
        }
    }

    fn table(&self, loads: &[Load]) -> Markup {
        html! {
            form method="post" action="/loads/actions" data-list=(self.query.first()) {
                (form_token(self.user))
                input type="hidden" name=(LIST) value=(self.query.encoded());
                @if self.may_write { (self.bar()) }
                div.card.scroll tabindex="0" role="region" aria-label="Loads" {
                    table.stack {
                        thead { tr {
                            @if self.may_write { th.pick { span.hidden { "Select" } } }
                            (self.head("reference", "Load"))
                            @for (name, label) in self.shown() { (self.head(name, label)) }
                            (self.head("status", "Status"))
                        } }
                        tbody { @for load in loads { (self.row(load)) } }
                        @if let Some(summary) = self.summary { (self.foot(summary)) }
                    }
                }
            }
            p.paging {
                @if self.query.get("cursor").is_some() { a href=(self.query.first()) { "First page" } " · " }
                @if let Some(next) = self.next {
                    @let last = loads.last().map_or("", |load| &load.id);
                    a rel="next" href=(self.query.at(next, last)) { "Next 50" }
                }
            }
            p.muted data-keys hidden {}
        }
    }

    /// Returns the columns between the reference and the status. The organiser is left out if it is always the own
    /// organisation, unless somebody wants to see it.
    fn shown(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let is_own = |load: &Load| {
            load.organiser.as_ref().is_some_and(|party| self.user.person.acts_for(party.id.as_deref()))
        };
        let is_chosen = self.query.get("col").is_some() || self.query.sort().0 == "organiser";
        let is_said = is_chosen || !self.loads.unwrap_or_default().iter().all(is_own);
        let columns = COLUMNS.iter().filter(move |column| is_said || column.name != "organiser");
        let columns = columns.filter(|column| self.query.has_column(column.name));
        columns.map(|column| (column.name, column.heading))
    }

    fn head(&self, name: &str, label: &str) -> Markup {
        let (sorted, descends) = self.query.sort();
        let is_sorted = name == sorted;
        html! {
            th.num[NUMBERS.contains(&name)].c-load[name == "reference"]
                aria-sort=[is_sorted.then_some(if descends { "descending" } else { "ascending" })] {
                @if SORTS.iter().any(|(known, ..)| *known == name) {
                    a href=(self.query.sorted_by(name)) {
                        (label) @if is_sorted { (if descends { " ↓" } else { " ↑" }) }
                    }
                } @else { (label) }
            }
        }
    }

    fn row(&self, load: &Load) -> Markup {
        let places =
            [&load.pickup_postcode, &load.dropoff_postcode].map(|place| place.as_deref().unwrap_or("?"));
        html! {
            tr data-id=(load.id) {
                @if self.may_write {
                    td.pick {
                        input type="checkbox" name="ids" value=(load.id) aria-label={ "Select " (load.reference) }
                            data-tonnes=(tonnes(load.weight));
                    }
                }
                td.c-load {
                    a.main href=(self.query.load_path(&load.id)) { (load.reference) }
                    @if places != ["?", "?"] { span.sub { (places[0]) " → " (places[1]) } }
                    @if let Some(note) = load.newest_note.as_ref() { (self.remark(load, note)) }
                }
                @for (name, _) in self.shown() { (self.cell(name, load)) }
                td.c-status { (status(&load.status)) }
            }
        }
    }

    /// Marks what somebody else wrote last about a load.
    fn remark(&self, load: &Load, note: &Note) -> Markup {
        if self.user.wrote(note.user_id.as_deref()) {
            return html! {};
        }
        html! {
            a.remark href={ (self.query.load_path(&load.id)) "#history" } title=(self.clock.time(&note.at)) {
                b { "Note" } " " (note.user_name) ": " (shortened(note.text.as_deref().unwrap_or_default()))
            }
        }
    }

    fn cell(&self, name: &str, load: &Load) -> Markup {
        let party = |party: Option<&Party>| party.map_or_else(|| "–".to_owned(), |p| p.name.clone());
        let text = |text: Option<&String>| text.map_or("–", String::as_str).to_owned();
        match name {
            "delivery" => html! { td.c-date { (self.delivery(load)) } },
            "organiser" => html! { td.wide { (party(load.organiser.as_ref())) } },
            "haulier" => html! { td.c-haulier { (party(load.carrier.as_ref())) } },
            "commodity" => html! { td.c-commodity { (load.commodity.name) } },
            "planned" => html! { td.num.wide { (tonnes(load.weight)) } },
            "net" => {
                let collected = load.collection.as_ref().and_then(|collection| collection.weight_net);
                html! {
                    td.num.c-net {
                        @match load.weight_net.or(collected) {
                            Some(net) => (tonnes(Some(net))),
                            // Narrow windows have no column for it.
                            None => { span.planned { (tonnes(load.weight)) " planned" } span { "–" } },
                        }
                        @if let Some((true, text, _)) = deviation(load) { span.sub.late { (text) } }
                    }
                }
            }
            "vehicle" => html! { td.wide { (text(load.vehicle_registration.as_ref())) } },
            "ticket" => html! { td.wide { (text(load.ticket_number.as_ref())) } },
            "from" => html! { td.wide { (text(load.pickup_postcode.as_ref())) } },
            "to" => html! { td.wide { (text(load.dropoff_postcode.as_ref())) } },
            _ => html! { td.wide { (load.tags.join(", ")) } },
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
                @for (name, _) in self.shown() {
                    @match name {
                        "planned" => td.num.wide { (number(total.weight)) },
                        "net" => td.num { (number(total.weight_net)) },
                        _ => td.wide {},
                    }
                }
                td.wide {}
            } }
        }
    }

    /// Returns what can be done to the selected loads, or to all that were found.
    fn bar(&self) -> Markup {
        let actions = [
            ("sendToCarrier", "Send to a haulier"),
            ("sendToDriver", "Send to a driver"),
            ("accept", "Accept"),
            ("cancel", "Cancel"),
        ];
        html! {
            div.bar {
                b data-count aria-live="polite" { "With the selected loads:" }
                @for (action, label) in actions { button name="action" value=(action) { (label) } }
                @for (format, label) in [("xlsx", "Export (XLSX)"), ("csv", "Export (CSV)")] {
                    button formaction={ "/loads/export." (format) } { (label) }
                }
                @if let Some(total) = self.summary.map(|summary| summary.total).filter(|total| total.count > 50) {
                    label data-all { input type="checkbox" name="all" value="on"; " All " (counted(total.count, "load")) " found" }
                }
                button.plain type="button" data-clear hidden { "Select none" }
            }
        }
    }
}

/// The most characters of a note that a list shows.
const NOTE_CHARS: usize = 60;

/// Returns the beginning of a note.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(NOTE_CHARS) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// Returns a number and what is counted.
pub(crate) fn counted(count: u64, what: &str) -> String {
    let number = number(f64::from(u32::try_from(count).unwrap_or(u32::MAX)));
    let whole = number.split('.').next().unwrap_or(&number).to_owned();
    let is_vowel = |letter: char| "aeiou".contains(letter);
    match what.strip_suffix('y').filter(|stem| !stem.ends_with(is_vowel)) {
        _ if count == 1 => format!("1 {what}"),
        Some(stem) => format!("{whole} {stem}ies"),
        None => format!("{whole} {what}s"),
    }
}

/// An action on many loads, before it is done.
pub(crate) struct Confirmation<'a> {
    pub(crate) user: &'a User,
    pub(crate) action: &'a str,
    pub(crate) loads: &'a [Load],
    pub(crate) list: &'a str,
    pub(crate) key: &'a str,
    pub(crate) organisations: &'a [(String, String)],
    /// Ids and names.
    pub(crate) drivers: &'a [(String, String)],
    /// How many were found but are too many for one action.
    pub(crate) too_many: u64,
    pub(crate) typed: &'a Fields,
    pub(crate) errors: &'a [FieldError],
}

impl Confirmation<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        let planned: f64 = self.loads.iter().filter_map(|load| load.weight).map(Weight::tonnes).sum();
        let count = counted(self.loads.len() as u64, "load");
        html! {
            div.head data-chosen=(verb(self.action)) {
                h1 { (verb(self.action)) " " (count) } small { (number(planned)) " t planned" }
            }
            (other_notices(self.errors, &["carrierId", "driverId"]))
            @if self.too_many > 0 {
                p.notice.bad role="status" {
                    "These are the first " (count) ". Do this, then come back for the other " (self.too_many) "."
                }
            }
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
                    (who_field("Haulier", ("carrierId", "organisations"), self.typed, self.errors))
                    datalist #organisations {
                        @for (id, name) in self.organisations { option value=(id) { (name) } }
                    }
                }
                @if self.action == "sendToDriver" {
                    (who_field("Driver", ("driverId", "drivers"), self.typed, self.errors))
                    datalist #drivers { @for (id, name) in self.drivers { option value=(id) { (name) } } }
                }
                fieldset {
                    legend { "Take out what does not belong here" }
                    @for load in self.loads {
                        label {
                            input type="checkbox" name="ids" value=(load.id) checked data-tonnes=(tonnes(load.weight));
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
    list: &ListQuery,
    results: &ActionResults,
    loads: &[Load],
) -> Markup {
    let find = |id: &str| loads.iter().find(|load| load.id == id);
    let reference = |id: &str| find(id).map_or("A load", |load| load.reference.as_str());
    let row = |result: &ActionResult| {
        html! {
            tr.failed[result.status == "failed"] {
                td { a.main href=(list.load_path(&result.id)) { (reference(&result.id)) } }
                td {
                    @match &result.error {
                        Some(error) => span.late { (error.message) },
                        None if result.status == "unchanged" => "nothing to do",
                        None => "done",
                    }
                }
                td { @if let Some(load) = find(&result.id) { (status(&load.status)) } }
            }
        }
    };
    html! {
        div.head { h1 { (verb(action)) ": " (results.done) " done, " (results.failed) " failed" }
            @if results.unchanged > 0 { small { (results.unchanged) " had nothing to do" } } }
        @for warning in &results.warnings { p.notice.bad role="status" { (warning.message) } }
        div.card.scroll { table { thead { tr { th { "Load" } th { "Outcome" } th { "It is now" } } }
            tbody { @for result in &results.results { (row(result)) } } } }
        form.actions method="post" action="/loads/actions" {
            (form_token(user))
            input type="hidden" name=(LIST) value=(list.encoded());
            @for result in results.results.iter().filter(|result| result.status == "failed") {
                input type="hidden" name="ids" value=(result.id);
            }
            @if results.failed > 0 { button name="action" value=(action) { "Try the failed ones again" } }
            a.btn href=(list.path()) { "Back to the list" }
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
