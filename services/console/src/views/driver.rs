//! The pages of a driver: one column, large buttons, few words. They work on a phone in a cab, with gloves, in the sun.

use chrono::NaiveDate;
use maud::{Markup, html};

use super::forms::capital;
use super::layout::{form_token, status};
use super::loads::counted;
use crate::api::model::{Load, Weight};
use crate::api::{FieldError, segment, with_query};
use crate::fields::Fields;
use crate::format::{Clock, tonnes};
use crate::loads::{Action, FILES, REJECTIONS};
use crate::user::User;

/// The map that a postcode opens, which depends on the phone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Map {
    Apple,
    Android,
    Web,
}

impl Map {
    /// Returns the map of a browser by how it names itself.
    pub(crate) fn of_browser(user_agent: &str) -> Self {
        let is = |name: &str| user_agent.contains(name);
        match () {
            () if is("iPhone") || is("iPad") => Self::Apple,
            () if is("Android") => Self::Android,
            () => Self::Web,
        }
    }

    fn address(self, postcode: &str) -> String {
        match self {
            Self::Apple => with_query("https://maps.apple.com/", &[("q", postcode)]),
            Self::Android => with_query("geo:0,0", &[("q", postcode)]),
            Self::Web => with_query("https://www.openstreetmap.org/search", &[("query", postcode)]),
        }
    }
}

/// Returns true for an action whose photograph and weights are two steps.
pub(crate) fn has_steps(action: Action) -> bool {
    matches!(action, Action::Collect | Action::Prove)
}

/// The list of a driver's loads.
pub(crate) struct ListView<'a> {
    pub(crate) user: &'a User,
    pub(crate) clock: Clock,
    pub(crate) today: NaiveDate,
    /// Loads that are not done yet, soonest first; `None` if logistics is away.
    pub(crate) open: Option<&'a [Load]>,
    /// Loads that were done today.
    pub(crate) done: &'a [Load],
    /// Whether the page shows only some of the loads that are not done yet.
    pub(crate) is_cut: bool,
    /// What has just been recorded.
    pub(crate) recorded: Option<Action>,
    pub(crate) missing: &'a [String],
    pub(crate) map: Map,
}

impl ListView<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        let open = self.open.unwrap_or_default();
        let (late, open_later): (Vec<&Load>, Vec<&Load>) =
            open.iter().partition(|load| self.days_late(load) > 0);
        let is_due = |load: &&Load| self.clock.delivery_date(&load.delivery) == Some(self.today);
        let (due, next): (Vec<&Load>, Vec<&Load>) = open_later.into_iter().partition(is_due);
        let of_today = self.done.len() + due.len();
        html! {
            h1 { (self.user.person.name) ", " (self.clock.day(self.today)) }
            @if self.open.is_some() {
                p.muted {
                    @if of_today == 0 { "No load is due today" }
                    @else { (self.done.len()) " of " (counted(of_today as u64, "load")) " done today" }
                    @if !late.is_empty() { ", " span.late { (late.len()) " late" } }
                }
            }
            @for missing in self.missing { p.notice.bad role="status" { (missing) } }
            @if let Some(action) = self.recorded {
                p.notice role="status" { (recorded(action)) }
            }
            div #unsent hidden data-complete[self.open.is_some() && !self.is_cut] {}
            @if self.open.is_some_and(<[Load]>::is_empty) { (self.empty()) }
            @for load in late.iter().chain(&due) { (self.card(load)) }
            @if !next.is_empty() {
                h2 { "Next" }
                @for load in &next { (self.card(load)) }
            }
            @if self.is_cut {
                p.notice { "These are the first " (open.len()) " loads. The others appear when these are done." }
            }
            @if !self.done.is_empty() {
                h2 { "Done today" }
                @for load in self.done {
                    section.card data-load=(load.id) {
                        (heading(load))
                        div.place { span { (load.commodity.name) } b { (tonnes(load.weight_net)) " t" } }
                        @for action in [Action::AddFiles, Action::Note] {
                            a.quiet data-keep href=(form_address(load, action)) { (title(action)) }
                        }
                    }
                }
            }
        }
    }

    /// Returns how many days after its delivery date today is.
    fn days_late(&self, load: &Load) -> u64 {
        let late = self.clock.delivery_date(&load.delivery).map_or(0, |day| (self.today - day).num_days());
        u64::try_from(late).unwrap_or_default()
    }

    fn empty(&self) -> Markup {
        let person = &self.user.person;
        html! {
            section.card {
                p { "There is no load for you at the moment. Loads appear here when an office sends them to you." }
                p { "The office needs your id to send you one: " b { (person.id) } }
                @if person.organisation_id.is_some() {
                    p { a href="/loads" { "All loads of your organisation" } }
                } @else {
                    p.muted {
                        "Your account belongs to no organisation. If you expected more than your own loads, log out and use \
                         another account, or ask whoever manages the accounts."
                    }
                }
            }
        }
    }

    fn card(&self, load: &Load) -> Markup {
        let collected = load.collection.as_ref();
        let is_collected = load.status == "collected";
        let weight = collected.and_then(|collection| collection.weight_net).or(load.weight);
        let vehicle = load.vehicle_registration.as_ref();
        let vehicle = vehicle.or(collected.and_then(|collection| collection.vehicle_registration.as_ref()));
        let button = |action: Action, class: &str| {
            html! { a class=(class) data-keep href=(form_address(load, action)) { (title(action)) } }
        };
        html! {
            section.card data-load=(load.id) {
                (heading(load))
                @if let (true, Some(collected)) = (is_collected, collected) {
                    small { "collected " (self.clock.time(&collected.at)) }
                } @else {
                    small { (self.clock.delivery(&load.delivery)) }
                }
                @let late = self.days_late(load);
                @if late > 0 { " " span.late { (counted(late, "day")) " late" } }
                p.marked data-mark hidden {}
                div.place {
                    span { (tonnes(weight)) " t " (load.commodity.name) }
                    @if let Some(vehicle) = vehicle { span { (vehicle) } }
                }
                @if !is_collected { (place("From", load.pickup_postcode.as_deref(), self.map)) }
                (place("To", load.dropoff_postcode.as_deref(), self.map))
                @if is_collected { (button(Action::Prove, "btn primary")) }
                @else { (button(Action::Collect, "btn primary")) }
                details.more {
                    summary { "More" }
                    (button(if is_collected { Action::Collect } else { Action::Prove }, "btn"))
                    (button(Action::Note, "btn"))
                    (button(Action::Reject, "btn danger"))
                    a.btn href={ "/loads/" (segment(&load.id)) } { "All about the load" }
                }
            }
        }
    }
}

fn heading(load: &Load) -> Markup {
    html! { b { (load.reference) } " " (status(&load.status)) " " }
}

/// Returns the address of a form, which changes with the load: a phone keeps the page until then.
fn form_address(load: &Load, action: Action) -> String {
    let path = format!("/driver/{}/{}", segment(&load.id), action.slug());
    with_query(&path, &[("r", &load.revision.to_string())])
}

fn place(label: &str, postcode: Option<&str>, map: Map) -> Markup {
    let Some(postcode) = postcode else { return html! {} };
    html! {
        div.place {
            span { (label) " " b { (postcode) } }
            a href=(map.address(postcode)) { "Map" span.hidden { " of " (postcode) } }
        }
    }
}

/// Returns an action in the words of a driver.
fn title(action: Action) -> &'static str {
    match action {
        Action::Collect => "Collect",
        Action::Prove => "Prove delivery",
        Action::Reject => "Rejected",
        Action::AddFiles => "Add photographs",
        _ => "Note to the office",
    }
}

fn recorded(action: Action) -> &'static str {
    match action {
        Action::Collect => "The collection is recorded.",
        Action::Prove => "The delivery is proven.",
        Action::Reject => "The rejection is recorded.",
        Action::AddFiles => "The photographs are with the office.",
        _ => "The note is with the office.",
    }
}

/// A form of a load.
pub(crate) struct FormView<'a> {
    pub(crate) user: &'a User,
    pub(crate) clock: Clock,
    pub(crate) action: Action,
    pub(crate) address: &'a str,
    pub(crate) load: &'a Load,
    pub(crate) typed: &'a Fields,
    pub(crate) errors: &'a [FieldError],
    /// Whether the photographs are stored, and the weights are next.
    pub(crate) is_second: bool,
    pub(crate) key: &'a str,
    pub(crate) map: Map,
}

impl FormView<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        let load = self.load;
        let collected = load.collection.as_ref().and_then(|collection| collection.weight_net);
        let (compared, than) = match (self.action, collected) {
            (Action::Prove, Some(weight)) => (Some(weight), "collected"),
            _ => (load.weight, "planned"),
        };
        let (label, postcode) = match self.action {
            Action::Collect => ("From", load.pickup_postcode.as_deref()),
            _ => ("To", load.dropoff_postcode.as_deref()),
        };
        let mut placed = vec![FILES];
        placed.extend(FIELDS.iter().map(|field| field.name).chain(["reason", "note", "text"]));
        html! {
            p.trail { a href="/driver" { "My loads" } }
            h1 { (title(self.action)) }
            p { b { (load.reference) } " " (load.commodity.name) ", " (self.clock.delivery(&load.delivery)) }
            (place(label, postcode, self.map))
            @for error in self.errors.iter().filter(|error| !placed.contains(&&*error.path)) {
                p.notice.bad role="alert" { (capital(&error.message)) }
            }
            div #form data-load=(load.id) data-action=(self.action.slug()) data-reference=(load.reference)
                data-compare=[compared.map(Weight::tonnes)] data-than=(than) {
                p.notice.bad #refused role="alert" hidden {}
                @if has_steps(self.action) { (self.photograph()) (self.weights()) } @else { (self.other()) }
            }
        }
    }

    fn form(&self, step: &str, is_hidden: bool, has_files: bool, fields: &Markup) -> Markup {
        html! {
            form.card.step method="post" action=(self.address) data-step=(step) hidden[is_hidden]
                enctype=[has_files.then_some("multipart/form-data")] {
                (form_token(self.user))
                input type="hidden" name="key" value=(self.key);
                (fields)
            }
        }
    }

    fn photograph(&self) -> Markup {
        let fields = html! {
            h2 { "Step 1 of 2: the ticket" }
            // What was typed in the second step before the way back.
            @for field in FIELDS {
                @if let Some(value) = self.typed.find(field.name) { input type="hidden" name=(field.name) value=(value); }
            }
            (self.photographs())
            button.primary { "Next: the weights" }
        };
        self.form("1", self.is_second, true, &fields)
    }

    fn photographs(&self) -> Markup {
        let error = self.error(FILES);
        html! {
            @for file in self.typed.all(FILES) {
                label.stored { input type="checkbox" name=(FILES) value=(file) checked; " " (file_name(file)) " (stored)" }
            }
            label for="f-file" { "Photographs of the ticket" }
            input #f-file type="file" name="file" accept="image/*" multiple;
            (error)
            div.photographs {}
        }
    }

    fn weights(&self) -> Markup {
        let files = self.typed.all(FILES);
        let is_first_error = |name: &str| self.errors.first().is_some_and(|error| error.path == name);
        let fields = html! {
            h2 { "Step 2 of 2: the weights" }
            @for file in &files { input type="hidden" name=(FILES) value=(file); }
            @if !files.is_empty() { p.muted { (counted(files.len() as u64, "photograph")) " stored" } }
            @for field in FIELDS {
                @let error = self.error(field.name);
                @let is_needed = self.action == Action::Prove && field.is_text;
                label for={ "f-" (field.name) } { (field.label) @if is_needed { " " span.muted { "(needed)" } } }
                input id={ "f-" (field.name) } name=(field.name) type="text" value=(self.typed.get(field.name))
                    inputmode=[(!field.is_text).then_some("numeric")] required[is_needed] autocomplete="off"
                    autocapitalize=[field.is_text.then_some("characters")] autofocus[is_first_error(field.name)];
                (error)
                @if field.name == "weightTare" { p #net role="status" {} }
            }
            button.primary { "Send" }
            button name="step" value="photographs" formnovalidate { "Back to the photographs" }
        };
        self.form("2", !self.is_second, false, &fields)
    }

    /// The form of a rejection, a note or further photographs, which is one step.
    fn other(&self) -> Markup {
        let (is_rejection, has_files) = (self.action == Action::Reject, self.action != Action::Note);
        let (name, label) =
            if is_rejection { ("note", "In words") } else { ("text", "What the office should know") };
        let fields = html! {
            @if is_rejection {
                label for="f-reason" { "Why " span.muted { "(needed)" } }
                select #f-reason name="reason" required {
                    option value="" { "Choose" }
                    @for (name, label) in REJECTIONS {
                        option value=(name) selected[name == self.typed.get("reason")] { (label) }
                    }
                }
                (self.error("reason"))
            }
            @if self.action != Action::AddFiles {
                label for="f-text" { (label) }
                textarea #f-text name=(name) rows="4" required[!is_rejection] { (self.typed.get(name)) }
                (self.error(name))
            }
            @if has_files { (self.photographs()) }
            button.primary { "Send" }
        };
        self.form("1", false, has_files, &fields)
    }

    fn error(&self, name: &str) -> Markup {
        let error = self.errors.iter().find(|error| error.path.split('[').next() == Some(name));
        html! { @if let Some(error) = error { p.error { (capital(&error.message)) } } }
    }
}

/// A field of the weights.
struct Field {
    name: &'static str,
    label: &'static str,
    is_text: bool,
}

const FIELDS: [Field; 5] = [
    Field { name: "weightGross", label: "Gross, kg", is_text: false },
    Field { name: "weightTare", label: "Tare, kg", is_text: false },
    Field { name: "weightNet", label: "Net, kg, if the ticket has only that", is_text: false },
    Field { name: "ticketNumber", label: "Ticket number", is_text: true },
    Field { name: "vehicleRegistration", label: "Lorry registration", is_text: true },
];

/// Returns an error as a sentence, for a page that does not show its field.
pub(crate) fn reason(error: &FieldError) -> String {
    let label = FIELDS.iter().find(|field| field.name == error.path).map_or("", |field| field.label);
    let label = if error.path == FILES { "Photographs" } else { label };
    let label = label.split(',').next().unwrap_or_default();
    let sentence =
        if label.is_empty() { capital(&error.message) } else { format!("{label} {}", error.message) };
    if sentence.ends_with('.') { sentence } else { format!("{sentence}.") }
}

fn file_name(file: &str) -> &str {
    file.split_once(' ').map_or(file, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_postcode_leads_to_the_map_of_the_phone() {
        for (agent, address) in [
            ("Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X)", "https://maps.apple.com/?q=HR4+9AR"),
            ("Mozilla/5.0 (Linux; Android 16; Pixel 10)", "geo:0,0?q=HR4+9AR"),
            ("Mozilla/5.0 (X11; Linux x86_64)", "https://www.openstreetmap.org/search?query=HR4+9AR"),
        ] {
            assert_eq!(Map::of_browser(agent).address("HR4 9AR"), address);
        }
    }
}
