//! The page of a load.

use maud::{Markup, html};
use serde::Deserialize;

use super::layout::{Position, form_token, live, status};
use crate::api::model::{
    Change, Driver, Event, FileInfo, FileReference, Load, Notification, Party, Quality, Weight,
};
use crate::api::{segment, with_query};
use crate::format::{Clock, difference, number, tonnes};
use crate::loads::{Action, LIST, ListQuery};
use crate::user::User;

/// The tolerance of weights that pages mark, in per cent.
pub(crate) const TOLERANCE: u32 = 2;

/// What the page shows besides the load. What its reader may not see, or what is away, is absent.
pub(crate) struct LoadView<'a> {
    pub(crate) user: &'a User,
    pub(crate) load: &'a Load,
    pub(crate) clock: Clock,
    pub(crate) events: &'a [Event],
    pub(crate) drivers: Option<&'a [Driver]>,
    pub(crate) notifications: Option<&'a [Notification]>,
    /// Ids and names of drivers in the address book.
    pub(crate) names: &'a [(String, String)],
    pub(crate) files: &'a [FileInfo],
    pub(crate) actions: &'a [Action],
    /// The list from which one came, with the loads beside this one.
    pub(crate) list: &'a ListQuery,
    /// What is missing and why.
    pub(crate) missing: &'a [String],
    /// What has just been done.
    pub(crate) done: Option<&'a str>,
    /// Whether that ended the load, so that reopening undoes it.
    pub(crate) can_undo: bool,
    /// The idempotency key of the undoing.
    pub(crate) key: &'a str,
    /// What looks wrong about it.
    pub(crate) warnings: &'a [&'a str],
    /// Whether the person may create loads.
    pub(crate) may_copy: bool,
    /// The position of the feed of events.
    pub(crate) position: Option<&'a Position>,
}

impl LoadView<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        let load = self.load;
        html! {
            p.trail {
                a href=(self.list.path()) { "Loads" }
                @for (name, text) in [("previous", "Previous"), ("next", "Next")] {
                    @if let Some(address) = self.list.neighbour(name, &load.id) { " · " a href=(address) { (text) } }
                }
            }
            div.head {
                h1 { (load.reference) }
                (status(&load.status))
                @if let Some(at) = ended_at(load) { small { (self.clock.time(at)) } }
                small { "revision " (load.revision) }
                div.actions {
                    @for action in self.actions { (self.button(*action)) }
                    @if self.may_copy {
                        a.btn href=(with_query("/loads/new", &[("copy", &load.id)])) { "Copy to other dates" }
                    }
                    a.btn href={ "/loads/" (segment(&load.id)) "/sheet" } { "Load sheet" }
                }
            }
            (live(Some(&load.id), self.position))
            @if let Some(done) = self.done {
                p.notice role="status" {
                    (done)
                    @if self.can_undo && self.actions.contains(&Action::Reopen) { " " (self.undo()) }
                }
            }
            @for warning in self.warnings { p.notice.bad role="status" { (warning) } }
            @for missing in self.missing { p.notice.bad role="status" { (missing) } }
            div.grid.two {
                div { (self.weights()) (self.history()) }
                div { (self.values()) (self.files()) (self.drivers()) (self.notifications()) }
            }
        }
    }

    fn path(&self, action: Action) -> String {
        format!("/loads/{}/{}", segment(&self.load.id), action.slug())
    }

    fn button(&self, action: Action) -> Markup {
        html! {
            a.btn.danger[action.is_dangerous()] href=(self.list.kept_by(&self.path(action))) { (action.title()) }
        }
    }

    fn undo(&self) -> Markup {
        let fields = [("key", self.key), (LIST, &*self.list.encoded()), ("reason", "Undone at once")];
        html! {
            form.inline method="post" action=(self.path(Action::Reopen)) {
                (form_token(self.user))
                @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
                button { "Undo" }
            }
        }
    }

    fn weights(&self) -> Markup {
        let load = self.load;
        let delivered = if load.status == "completed" { load.weight_net } else { None };
        html! {
            section.card {
                header { h2 { "Weights" } }
                div.pad.ticket {
                    @if let Some(tickets) = tickets(self.files, load) { (tickets) }
                    @else { p.muted { "There is no picture of a ticket." } }
                    div {
                        table.weights {
                            thead { tr { td {} th.num { "Net t" } th.num { "Gross t" } th.num { "Tare t" } } }
                            tbody {
                                (weights_row("Planned", load.weight, None, None))
                                @if let Some(collection) = &load.collection {
                                    (weights_row("Collected", collection.weight_net, collection.weight_gross,
                                        collection.weight_tare))
                                }
                                (weights_row("Delivered", delivered, load.weight_gross, load.weight_tare))
                            }
                        }
                        @if let Some((is_outside, text, than)) = deviation(load) {
                            p.num.late[is_outside] { (text) " against what was " (than) }
                            @if is_outside {
                                p.note { "Outside " (TOLERANCE) " % of what was " (than) "." }
                            }
                        }
                        (quality("Quality at the collection", load.collection.as_ref().map(|c| c.quality.as_slice())))
                        (quality("Quality at the delivery", Some(&load.quality)))
                        (quality("Quality at the rejection", load.rejection.as_ref().map(|r| r.quality.as_slice())))
                    }
                }
            }
        }
    }

    fn values(&self) -> Markup {
        let load = self.load;
        let place = |postcode: Option<&String>| {
            html! {
                @match postcode { Some(postcode) => (postcode), None => "–" }
            }
        };
        let text = |text: Option<&String>| text.cloned().unwrap_or_else(|| "–".to_owned());
        html! {
            section.card {
                header { h2 { "Who and where" } }
                div.pad { dl {
                    dt { "Organiser" } dd { (party(load.organiser.as_ref())) }
                    dt { "Haulier" } dd { (party(load.carrier.as_ref())) }
                    dt { "Commodity" } dd { (load.commodity.name) }
                    dt { "From" } dd { (place(load.pickup_postcode.as_ref())) }
                    dt { "To" } dd { (place(load.dropoff_postcode.as_ref())) }
                    dt { "Delivery" } dd { (self.clock.delivery(&load.delivery)) }
                    dt { "Vehicle" } dd { (text(load.vehicle_registration.as_ref())) }
                    dt { "Ticket" } dd { (text(load.ticket_number.as_ref())) }
                    @if let Some(collection) = &load.collection {
                        dt { "Collected" } dd {
                            (self.clock.time(&collection.at))
                            @if let Some(ticket) = &collection.ticket_number { ", ticket " (ticket) }
                        }
                    }
                    @if let Some(rejection) = &load.rejection {
                        dt { "Rejected" } dd {
                            (rejection.reason) @if let Some(note) = &rejection.note { ": " (note) }
                        }
                    }
                    @if !load.tags.is_empty() {
                        dt { "Tags" } dd {
                            @for tag in &load.tags {
                                a.chip href=(with_query("/loads", &[("tag", tag)])) { (tag) } " "
                            }
                        }
                    }
                } }
            }
        }
    }

    fn files(&self) -> Markup {
        let all = self.all_files();
        html! {
            section.card {
                header { h2 { "Files" } }
                @if all.is_empty() { p.pad.muted { "The load has no files." } }
                ul.list {
                    @for file in all {
                        li {
                            span { (file_name(file)) " " small { (file.user_name) } }
                            // Files are not shared with drivers.
                            @if self.files.iter().any(|known| known.id == file.id) {
                                a.go href={ "/files/" (segment(&file.id)) } { "Open" }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Returns the files of the load, its collection and its rejection, each once.
    fn all_files(&self) -> Vec<&FileReference> {
        let mut all: Vec<&FileReference> = Vec::new();
        for file in files_of(self.load) {
            if !all.iter().any(|known| known.id == file.id) {
                all.push(file);
            }
        }
        all
    }

    /// Returns the name of a driver, or the id if the address book has no name.
    fn driver_name<'b>(&'b self, id: &'b str) -> &'b str {
        self.names.iter().find(|(known, _)| known == id).map_or(id, |(_, name)| name)
    }

    fn drivers(&self) -> Markup {
        let Some(drivers) = self.drivers else { return html! {} };
        html! {
            section.card {
                header { h2 { "Drivers" } }
                @if drivers.is_empty() { p.pad.muted { "The load was sent to no driver." } }
                ul.list {
                    @for driver in drivers {
                        li { span { (self.driver_name(&driver.driver_id)) } small { "sent " (self.clock.time(&driver.sent_at)) } }
                    }
                }
            }
        }
    }

    fn notifications(&self) -> Markup {
        let Some(notifications) = self.notifications else { return html! {} };
        html! {
            section.card {
                header { h2 { "Notifications" } }
                @if notifications.is_empty() { p.pad.muted { "Nobody was notified." } }
                ul.list { @for notification in notifications { li { (self.notification(notification)) } } }
            }
        }
    }

    fn notification(&self, notification: &Notification) -> Markup {
        let id = &*notification.recipient_id;
        let carrier = self.load.carrier.as_ref().filter(|carrier| carrier.id.as_deref() == Some(id));
        let recipient = match carrier {
            _ if id.is_empty() => "All drivers",
            Some(carrier) => &carrier.name,
            None => self.driver_name(id),
        };
        let kind = notification.event.strip_prefix("load.").unwrap_or(&notification.event);
        let (status, at) = match (notification.status.as_str(), &notification.delivered_at) {
            ("delivered", Some(at)) => ("delivered", at),
            ("failed", _) => ("not delivered, created", &notification.created_at),
            _ => ("waiting, created", &notification.created_at),
        };
        let path = format!(
            "/loads/{}/notifications/{}/redeliver",
            segment(&self.load.id),
            segment(&notification.id)
        );
        html! {
            div { (recipient) span.sub { (kind_name(kind)) ", " (status) " " (self.clock.time(at)) } }
            @if self.user.person.is_admin {
                form.go method="post" action=(path) {
                    (form_token(self.user))
                    input type="hidden" name="key" value={ (self.key) "-" (notification.id) };
                    input type="hidden" name=(LIST) value=(self.list.encoded());
                    button { "Deliver again" span.hidden { " to " (recipient) } }
                }
            }
        }
    }

    fn history(&self) -> Markup {
        html! {
            section.card #history {
                header { h2 { "History" } }
                div.pad {
                    @if self.events.is_empty() { p.muted { "There is no history that you may read." } }
                    ul.line { @for event in self.events.iter().rev() { (self.event(event)) } }
                }
            }
        }
    }

    fn event(&self, event: &Event) -> Markup {
        html! {
            li {
                b { (kind_name(&event.kind)) }
                @if let Some(name) = &event.user_name { " by " (name) }
                @if let Some(text) = &event.text { p.text { (text) } }
                @if let Some(reason) = &event.reason { ": " (reason) }
                @for (name, change) in &event.changes { (self.change(name, change)) }
                " " small { (self.clock.time(&event.at)) }
            }
        }
    }

    fn change(&self, name: &str, change: &Change) -> Markup {
        let [from, to] = [&change.from, &change.to].map(|value| match value.as_str() {
            Some(id) if name == "driverId" => Some(self.driver_name(id).to_owned()),
            _ => member_value(self.clock, name, value),
        });
        html! {
            div {
                (member_name(name)) " "
                @if let Some(from) = from { del { (from) } " " }
                @match to { Some(to) => ins { (to) }, None => { "removed" } }
            }
        }
    }
}

/// Returns how the delivered weight differs from what was collected or else planned: whether it is outside the
/// tolerance, the difference as text, and which of the two it is.
pub(crate) fn deviation(load: &Load) -> Option<(bool, String, &'static str)> {
    let delivered = load.weight_net.filter(|_| load.status == "completed")?;
    let collected = load.collection.as_ref().and_then(|collection| collection.weight_net);
    let (percent, text) = difference(collected.or(load.weight)?, delivered);
    let is_outside = percent.abs() > f64::from(TOLERANCE);
    Some((is_outside, text, if collected.is_some() { "collected" } else { "planned" }))
}

/// Returns a value of the history as people read it; `None` if there is none.
pub(crate) fn member_value(clock: Clock, name: &str, value: &serde_json::Value) -> Option<String> {
    use serde_json::Value;
    Some(match value {
        Value::Null => return None,
        Value::String(text) if name.ends_with("ISO") => clock.delivery(text),
        Value::String(text) if name.ends_with("UTC") => clock.time(text),
        Value::String(text) => text.clone(),
        Value::Number(weight) if name.starts_with("weight") => {
            format!("{} t", number(weight.as_f64().unwrap_or_default()))
        }
        Value::Array(items) if items.is_empty() => return None,
        Value::Array(items) => {
            items.iter().filter_map(|item| member_value(clock, name, item)).collect::<Vec<_>>().join(", ")
        }
        Value::Object(members) => match (members.get("name"), members.get("measure")) {
            // The name of a weight is that of its unit.
            _ if members.contains_key("conversion") => {
                let weight = Weight::deserialize(value).ok()?;
                format!("{} t", number(weight.tonnes()))
            }
            (Some(name), _) => name.as_str()?.to_owned(),
            (None, Some(measure)) => {
                format!("{} {}", measure.as_str()?, members.get("value").unwrap_or(&Value::Null))
            }
            (None, None) => {
                let shown = members.iter().filter_map(|(name, value)| {
                    Some(format!(
                        "{} {}",
                        member_name(name).to_lowercase(),
                        member_value(clock, name, value)?
                    ))
                });
                shown.collect::<Vec<_>>().join(", ")
            }
        },
        other => other.to_string(),
    })
}

/// Returns the pictures of a load, those of tickets first, each of which can be enlarged and turned; `None` if there
/// are none.
pub(crate) fn tickets(files: &[FileInfo], load: &Load) -> Option<Markup> {
    let mut images: Vec<_> = files.iter().filter(|file| file.content_type.starts_with("image/")).collect();
    images.sort_by_key(|file| file.kind != "weighbridge");
    let name = |id: &str| files_of(load).find(|file| file.id == id).map_or("", file_name);
    let path = |image: &FileInfo| format!("/files/{}", segment(&image.id));
    let shown = html! {
        div.tickets {
            @for image in &images {
                figure data-turn="0" {
                    a.zoom href=(path(image)) title="Enlarge" {
                        img src={ (path(image)) "?width=640" } loading="lazy" width="320" height="240"
                            alt={ "Picture " (name(&image.id)) " of the load" };
                    }
                    figcaption {
                        a href=(path(image)) { "In full size" }
                        " " button.plain type="button" hidden { "Turn" }
                    }
                }
            }
        }
    };
    (!images.is_empty()).then_some(shown)
}

fn files_of(load: &Load) -> impl Iterator<Item = &FileReference> {
    let collected = load.collection.iter().flat_map(|collection| &collection.files);
    let rejected = load.rejection.iter().flat_map(|rejection| &rejection.files);
    load.files.iter().chain(collected).chain(rejected)
}

/// Returns the ids of the files of a load.
pub(crate) fn file_ids(load: &Load) -> Vec<&str> {
    files_of(load).map(|file| file.id.as_str()).collect()
}

fn file_name(file: &FileReference) -> &str {
    if file.name.is_empty() { "file" } else { &file.name }
}

/// Returns when a load reached its status.
fn ended_at(load: &Load) -> Option<&str> {
    match load.status.as_str() {
        "completed" => load.completed_at.as_deref(),
        "collected" => load.collection.as_ref().map(|collection| collection.at.as_str()),
        "rejected" => load.rejection.as_ref().map(|rejection| rejection.at.as_str()),
        _ => None,
    }
}

fn party(party: Option<&Party>) -> Markup {
    html! {
        @match party {
            Some(party) => { (party.name) @if party.id.is_none() { " " small { "has no account here" } } }
            None => "–",
        }
    }
}

fn weights_row(name: &str, net: Option<Weight>, gross: Option<Weight>, tare: Option<Weight>) -> Markup {
    html! {
        tr { th scope="row" { (name) } td.num { (tonnes(net)) } td.num { (tonnes(gross)) } td.num { (tonnes(tare)) } }
    }
}

fn quality(title: &str, values: Option<&[Quality]>) -> Markup {
    let values = values.unwrap_or_default();
    html! {
        @if !values.is_empty() {
            p {
                (title) ": "
                @for (index, Quality { measure, value, unit }) in values.iter().enumerate() {
                    @if index > 0 { ", " }
                    (measure_name(measure)) " " (value) " " (unit)
                }
            }
        }
    }
}

fn measure_name(measure: &str) -> String {
    let label =
        crate::loads::MEASURES.iter().find(|(name, _)| *name == measure).map_or(measure, |(_, label)| label);
    label.split(',').next().unwrap_or(label).to_lowercase()
}

pub(super) fn kind_name(kind: &str) -> &str {
    match kind {
        "created" => "Created",
        "updated" => "Changed",
        "cancelled" => "Cancelled",
        "collected" => "Collected",
        "completed" => "Delivered",
        "corrected" => "Proof corrected",
        "rejected" => "Rejected",
        "reopened" => "Reopened",
        "accepted" => "Accepted",
        "sent_to_driver" => "Sent to a driver",
        "sent_to_carrier" => "Sent to the haulier",
        "driver_revoked" => "Driver revoked",
        "noted" => "Note",
        "released" => "Given to another haulier",
        other => other,
    }
}

/// Returns what people read for a member of a load.
pub(crate) fn member_name(name: &str) -> &str {
    match name {
        "reference" => "Reference",
        "deliveryDateISO" => "Delivery",
        "commodityId" => "Commodity",
        "carrierId" => "Haulier",
        "carrierName" => "Name of the haulier",
        "driverId" => "Driver",
        "weight" => "Planned",
        "weightNet" => "Net",
        "weightGross" => "Gross",
        "weightTare" => "Tare",
        "pickupPostcode" => "From",
        "dropoffPostcode" => "To",
        "vehicleRegistration" => "Vehicle",
        "ticketNumber" => "Ticket",
        "completedAtUTC" => "Delivered at",
        "atUTC" => "At",
        "files" => "Files",
        "tags" => "Tags",
        "quality" => "Quality",
        "collection" => "Collection",
        "rejection" => "Rejection",
        other => other,
    }
}
