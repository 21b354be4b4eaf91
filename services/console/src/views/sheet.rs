//! Sheets to print.

use maud::{Markup, html};

use super::layout::status;
use super::loads::counted;
use crate::api::model::{Load, Party, Weight};
use crate::api::segment;
use crate::format::{Clock, number, tonnes};

/// Returns the sheet that goes with a load.
pub(crate) fn load_sheet(load: &Load, clock: Clock) -> Markup {
    let party = |party: Option<&Party>| party.map_or("–", |party| party.name.as_str()).to_owned();
    let text = |text: Option<&String>| text.map_or("–", String::as_str).to_owned();
    let back = format!("/loads/{}", segment(&load.id));
    html! {
        p.trail { a href=(back) { (load.reference) } }
        div.head {
            h1 { "Load " (load.reference) }
            (status(&load.status))
            div.actions { (print_button()) }
        }
        article.card.pad.sheet tabindex="0" {
            dl {
                dt { "Delivery" } dd.big { (clock.delivery(&load.delivery)) }
                dt { "Commodity" } dd { (load.commodity.name) }
                dt { "Planned" } dd { (tonnes(load.weight)) " t" }
                dt { "From" } dd.big { (text(load.pickup_postcode.as_ref())) }
                dt { "To" } dd.big { (text(load.dropoff_postcode.as_ref())) }
                dt { "Organiser" } dd { (party(load.organiser.as_ref())) }
                dt { "Haulier" } dd { (party(load.carrier.as_ref())) }
                dt { "Vehicle" } dd { (text(load.vehicle_registration.as_ref())) }
            }
            table.blank {
                caption { "To fill in at the weighbridge" }
                thead { tr {
                    td {} th.num { "Gross t" } th.num { "Tare t" } th.num { "Net t" } th { "Ticket" } th { "Time" }
                } }
                tbody {
                    @for name in ["Collected", "Delivered"] {
                        tr { th scope="row" { (name) } td {} td {} td {} td {} td {} }
                    }
                }
            }
            div.signs { p { "Driver" } p { "Received by" } }
        }
    }
}

/// A day or week of a haulier or driver.
pub(crate) struct DaySheet<'a> {
    pub(crate) whose: &'a str,
    pub(crate) days: &'a str,
    pub(crate) loads: &'a [Load],
    /// Whether these are all loads of the days.
    pub(crate) is_complete: bool,
    pub(crate) clock: Clock,
    pub(crate) back: &'a str,
}

impl DaySheet<'_> {
    /// Returns the sheet.
    pub(crate) fn markup(&self) -> Markup {
        let planned: f64 = self.loads.iter().filter_map(|load| load.weight).map(Weight::tonnes).sum();
        html! {
            p.trail { a href=(self.back) { "Board" } }
            div.head {
                h1 { (self.whose) ", " (self.days) }
                small { (counted(self.loads.len() as u64, "load")) ", " (number(planned)) " t planned" }
                div.actions { (print_button()) }
            }
            @if !self.is_complete {
                // A notice would not be printed.
                p.late role="status" {
                    "This sheet is cut: it has only the first " (counted(self.loads.len() as u64, "load")) ". Print a day \
                     instead of a week, or take the rest from Loads."
                }
            }
            @if self.loads.is_empty() { p.card.pad { "There is nothing to carry." } } @else {
                div.card.scroll tabindex="0" role="region" aria-label="Loads" { table {
                    thead { tr {
                        th { "Load" } th { "Delivery" } th { "From" } th { "To" } th { "Commodity" } th.num { "Planned t" }
                        th { "Vehicle" } th { "Status" } th { "Ticket" } th.num { "Net t" }
                    } }
                    tbody {
                        @for load in self.loads {
                            tr {
                                td { a.main href={ "/loads/" (segment(&load.id)) } { (load.reference) } }
                                td { (self.clock.delivery(&load.delivery)) }
                                td { (load.pickup_postcode.as_deref().unwrap_or("–")) }
                                td { (load.dropoff_postcode.as_deref().unwrap_or("–")) }
                                td { (load.commodity.name) }
                                td.num { (tonnes(load.weight)) }
                                td { (load.vehicle_registration.as_deref().unwrap_or("–")) }
                                td { (status(&load.status)) }
                                td { (load.ticket_number.as_deref().unwrap_or_default()) }
                                td.num { @if load.weight_net.is_some() { (tonnes(load.weight_net)) } }
                            }
                        }
                    }
                } }
            }
        }
    }
}

/// Returns a button that prints the page, which the module of the console shows.
fn print_button() -> Markup {
    html! { button type="button" data-print hidden { "Print" } }
}
