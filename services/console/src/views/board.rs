//! The board: a column for each haulier or driver, with its loads as cards.

use chrono::Days;
use maud::{Markup, html};

use super::forms::{as_id, error_line, other_notices};
use super::layout::{form_token, module, status};
use super::loads::counted;
use crate::api::model::{Load, Weight};
use crate::api::{FieldError, segment, with_query};
use crate::fields::Fields;
use crate::format::{Clock, number, tonnes, typed_date};
use crate::loads::{BoardQuery, By};
use crate::user::User;

/// A column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Column {
    /// Empty for what is not assigned.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) loads: Vec<Load>,
}

impl Column {
    /// Returns true if loads can be dropped here: not for a haulier without an id, which nobody has access to, and not
    /// in columns apart.
    fn is_target(&self) -> bool {
        !self.id.is_empty() || self.name.is_empty()
    }
}

/// What the board shows.
pub(crate) struct BoardView<'a> {
    pub(crate) user: &'a User,
    pub(crate) clock: Clock,
    pub(crate) query: &'a BoardQuery,
    pub(crate) by: By,
    pub(crate) columns: &'a [Column],
    /// Ids and names of those to whom loads can be assigned.
    pub(crate) known: &'a [(String, String)],
    pub(crate) may_write: bool,
    /// Whether all loads of the days are shown.
    pub(crate) is_complete: bool,
    pub(crate) missing: &'a [String],
    /// A sentence on what was done.
    pub(crate) done: Option<&'a str>,
    pub(crate) errors: &'a [FieldError],
    /// The form of the assignment that has the errors.
    pub(crate) typed: &'a Fields,
    /// The beginning of the idempotency keys of the forms.
    pub(crate) key: &'a str,
}

impl BoardView<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        let query = self.query;
        let step = Days::new(if query.is_week() { 7 } else { 1 });
        let day = query.first.to_string();
        let by = self.by.name();
        let span = |name: &str| with_query("/board", &[(name, day.as_str()), ("by", by)]);
        html! {
            div.head {
                h1 { "Board, " (query.title(self.clock)) }
                div.actions {
                    a.btn href=(query.path(Some(self.by), query.first - step)) { "← Before" }
                    a.btn href=(with_query("/board", &[("by", by)])) { "Today" }
                    a.btn href=(query.path(Some(self.by), query.first + step)) { "After →" }
                }
            }
            @for missing in self.missing { p.notice.bad role="status" { (missing) } }
            (other_notices(self.errors, &["to"]))
            @if let Some(done) = self.done { p.notice role="status" { (done) } }
            @if !self.is_complete {
                p.notice.bad role="status" {
                    "There are more loads than a board shows. Choose a day instead of a week, or look in Loads."
                }
            }
            div.filters {
                a.chip.on[!query.is_week()] href=(span("day")) { "Day" }
                a.chip.on[query.is_week()] href=(span("week")) { "Week" }
                @for (by, label) in [(By::Haulier, "By haulier"), (By::Driver, "By driver")] {
                    a.chip.on[by == self.by] href=(query.path(Some(by), query.first)) { (label) }
                }
                form.filters action="/board" {
                    input type="hidden" name="by" value=(by);
                    label.hidden for="b-day" { "Another day" }
                    input #b-day name=(if query.is_week() { "week" } else { "day" }) value=(typed_date(query.first))
                        autocomplete="off";
                    button { "Go" }
                }
            }
            div.board tabindex="0" role="region" aria-label="Board" data-board {
                @for column in self.columns { (self.column(column)) }
            }
            datalist #targets { @for (id, name) in self.known { option value=(id) { (name) } } }
            (module("office.js"))
        }
    }

    fn column(&self, column: &Column) -> Markup {
        let Column { id, name, loads } = column;
        let planned: f64 = loads.iter().filter_map(|load| load.weight).map(Weight::tonnes).sum();
        let is_named = !name.is_empty();
        html! {
            section.column data-to=[(self.may_write && column.is_target()).then_some(id)] {
                header {
                    h2 {
                        @if is_named { (name) } @else if self.by == By::Driver { "No driver yet" } @else { "No haulier yet" }
                    }
                    small { (counted(loads.len() as u64, "load")) ", " (number(planned)) " t" }
                    @if !id.is_empty() && !loads.is_empty() {
                        @let pairs = self.query.pairs(None, self.query.first);
                        @let days = pairs.iter().filter(|(name, _)| *name != "by");
                        @let days = days.map(|(name, value)| (*name, value.as_str()));
                        @let pairs: Vec<_> = days.chain([(self.by.name(), id.as_str())]).collect();
                        a href=(with_query("/board/sheet", &pairs)) { "Print" span.hidden { " the loads of " (name) } }
                    }
                }
                @for load in loads { (self.card(load, column)) }
                @if loads.is_empty() { p.muted { "Nothing." } }
            }
        }
    }

    fn card(&self, load: &Load, column: &Column) -> Markup {
        let places =
            [&load.pickup_postcode, &load.dropoff_postcode].map(|place| place.as_deref().unwrap_or("?"));
        let can_change = load.status == "upcoming" || self.by == By::Driver && load.status == "collected";
        let may_assign = self.may_write && can_change;
        html! {
            article.card draggable=[may_assign.then_some("true")] data-load=(load.id) {
                div {
                    a.main href={ "/loads/" (segment(&load.id)) } { (load.reference) } " "
                    (status(&load.status))
                }
                span.sub { (self.clock.delivery(&load.delivery)) }
                @if places != ["?", "?"] { div { (places[0]) " → " (places[1]) } }
                div { (load.commodity.name) ", " (tonnes(load.weight)) " t" }
                @if let Some(vehicle) = &load.vehicle_registration { div.muted { (vehicle) } }
                @if may_assign { (self.assignment(load, column)) }
            }
        }
    }

    fn assignment(&self, load: &Load, column: &Column) -> Markup {
        let label = if self.by == By::Driver { "Driver" } else { "Haulier" };
        let is_typed = self.typed.get("id") == load.id && self.typed.get("from") == column.id;
        let error = self.errors.iter().find(|error| is_typed && error.path == "to");
        let typed = if is_typed { self.typed.get("to") } else { "" };
        let id = format!("to-{}-{}", load.id, column.id);
        let pairs = self.query.pairs(Some(self.by), self.query.first);
        let board = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        html! {
            details open[error.is_some()] {
                summary { (if column.id.is_empty() { "Assign" } else { "Change" }) span.hidden { " " (load.reference) } }
                form method="post" action="/board/assign" {
                    (form_token(self.user))
                    input type="hidden" name="key" value={ (self.key) "-" (load.id) };
                    input type="hidden" name="id" value=(load.id);
                    input type="hidden" name="revision" value=(load.revision);
                    input type="hidden" name="by" value=(self.by.name());
                    input type="hidden" name="from" value=(column.id);
                    input type="hidden" name="board" value=(board);
                    label for=(id) { (label) }
                    input id=(id) name="to" value=(typed) list="targets" required autocomplete="off"
                        autofocus[error.is_some()] aria-describedby=[error.map(|_| "error-to")];
                    (error_line("to", error))
                    (as_id("to", typed, error))
                    button { (if column.id.is_empty() { "Send" } else { "Change" }) }
                    @if !column.id.is_empty() { button.danger name="remove" value="on" formnovalidate { "Remove" } }
                }
            }
        }
    }
}
