//! The page of today: what is due, on the road, late and delivered.

use chrono::{Days, NaiveDate};
use maud::{Markup, html};

use super::layout::{Position, live, status};
use super::load::{deviation, kind_name};
use super::loads::{counted, shortened};
use crate::api::model::{FeedEvent, Group, Load, Sums};
use crate::api::{segment, with_query};
use crate::format::{Clock, monday, number};

/// Days of the chart.
pub(crate) const DAYS: u64 = 28;
const CHART_HEIGHT: f64 = 110.0;
const BAR_STEP: u64 = 23;

/// What the page shows. What is absent is away, or not for its reader.
pub(crate) struct TodayView<'a> {
    pub(crate) clock: Clock,
    pub(crate) today: NaiveDate,
    pub(crate) tiles: &'a [Tile],
    /// Sums of what was delivered, by day.
    pub(crate) days: Option<&'a [Group]>,
    pub(crate) rejected: &'a [Load],
    /// Loads of the last days whose delivered weight is outside the tolerance.
    pub(crate) outside: &'a [Load],
    /// Notes of others that nobody has answered.
    pub(crate) notes: &'a [FeedEvent],
    /// What waits for somebody besides loads.
    pub(crate) waiting: &'a [Waiting],
    /// The newest events of loads.
    pub(crate) newest: Option<&'a [FeedEvent]>,
    /// The position of the feed of events.
    pub(crate) position: Option<&'a Position>,
    pub(crate) missing: &'a [String],
    /// The address of the page with all its sums, if some take longer than the rest.
    pub(crate) sums: Option<String>,
}

/// Something that waits: how many there are, what they are, and the address of their list.
pub(crate) struct Waiting {
    pub(crate) count: u64,
    pub(crate) what: &'static str,
    /// What is said about them after their number and name.
    pub(crate) about: &'static str,
    pub(crate) path: &'static str,
}

/// A number with the list that it counts.
pub(crate) struct Tile {
    pub(crate) label: &'static str,
    pub(crate) path: String,
    pub(crate) sums: Option<Sums>,
    pub(crate) shown: Shown,
}

/// What of the sums a tile shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// The number, and the planned tonnes.
    Count,
    /// As before: a problem if there are any.
    Problem,
    /// The net tonnes, and a sentence.
    Delivered(String),
}

impl TodayView<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        html! {
            div.head {
                h1 { "Today, " (self.clock.day(self.today)) }
                @if let Some(sums) = &self.sums {
                    small { "Counting takes long. " a href=(sums) { "Wait for all numbers" } }
                }
            }
            @for missing in self.missing { p.notice.bad role="status" { (missing) } }
            (live(Some("*"), self.position))
            div.tiles { @for tile in self.tiles { (tile.markup()) } }
            div.grid.two {
                div { (self.chart()) (self.events()) }
                div { (self.needs_somebody()) }
            }
        }
    }

    fn chart(&self) -> Markup {
        let Some(groups) = self.days else { return html! {} };
        let first = self.today - Days::new(DAYS - 1);
        let net = |day: NaiveDate| {
            let key = day.to_string();
            groups.iter().find(|group| group.key == key).map_or(0.0, |group| group.sums.weight_net)
        };
        let days: Vec<_> = (0..DAYS).map(|index| (index, first + Days::new(index))).collect();
        let highest = days.iter().map(|(_, day)| net(*day)).fold(0.0, f64::max);
        let step = round_step(highest);
        let height =
            |tonnes: f64| if step == 0.0 { 0.0 } else { tonnes / (step * 2.0) * (CHART_HEIGHT - 10.0) };
        let total: f64 = days.iter().map(|(_, day)| net(*day)).sum();
        html! {
            section.card {
                header { h2 { "Tonnes delivered by delivery date, last " (DAYS) " days" } small { (number(total)) " t" } }
                div.pad {
                    svg.bars viewBox="0 0 690 134" role="group"
                        aria-label={ "Tonnes delivered on each of the last " (DAYS) " days, " (number(total)) " in all" } {
                        line x1="36" y1="110" x2="680" y2="110" {}
                        @if step > 0.0 {
                            @let y = format!("{:.0}", CHART_HEIGHT - height(step));
                            line x1="36" y1=(y) x2="680" y2=(y) {}
                            text x="0" y=(y) dy="-4" { (format!("{step:.0}")) " t" }
                        }
                        @for (index, day) in &days {
                            @let tonnes = net(*day);
                            @let bar = height(tonnes);
                            @if tonnes > 0.0 {
                                @let text = format!("{}: {} t", self.clock.day(*day), number(tonnes));
                                a href=(list_of(*day)) aria-label=(text) {
                                    rect x=(38 + index * BAR_STEP) y=(format!("{:.1}", CHART_HEIGHT - bar)) width="15"
                                        height=(format!("{bar:.1}")) rx="2" { title { (text) } }
                                }
                            }
                            @if monday(*day) == *day {
                                // Below its bar, and not cut at an edge.
                                text x=((45 + index * BAR_STEP).min(645)) y="130" text-anchor="middle" {
                                    tspan.wide { (day.format("%a ")) } (day.format("%-d %b"))
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    fn events(&self) -> Markup {
        let Some(events) = self.newest else { return html! {} };
        html! {
            section.card {
                header { h2 { "What happened last" } }
                @if events.is_empty() { p.pad.muted { "Nothing has happened to loads yet." } }
                ul.list {
                    @for event in events {
                        li {
                            span {
                                a.main href=(history_of(event)) { (event.reference) } " "
                                (kind_name(event.kind.trim_start_matches("load.")))
                                @if let Some(name) = &event.user_name { " by " (name) }
                                @if let Some(text) = &event.text { ": " (shortened(text)) }
                            }
                            span.go { (self.clock.time(&event.at)) }
                        }
                    }
                }
            }
        }
    }

    fn needs_somebody(&self) -> Markup {
        let has_loads = !(self.rejected.is_empty() && self.outside.is_empty() && self.notes.is_empty());
        html! {
            section.card {
                header { h2 { "Needs somebody" } }
                @if !has_loads && self.waiting.is_empty() { p.pad.muted { "Nothing at the moment." } }
                ul.list {
                    @for note in self.notes {
                        li {
                            span {
                                b { (note.reference) } ", note by " (note.user_name.as_deref().unwrap_or("somebody")) ": "
                                (shortened(note.text.as_deref().unwrap_or_default()))
                            }
                            a.go href=(history_of(note)) { "Read" span.hidden { " the note on " (note.reference) } }
                        }
                    }
                    @for load in self.rejected {
                        li {
                            span {
                                b { (load.reference) } " " (status("rejected"))
                                @if let Some(rejection) = &load.rejection {
                                    " " (rejection.reason) @if let Some(note) = &rejection.note { ": " (note) }
                                }
                            }
                            a.go href={ "/loads/" (segment(&load.id)) } { "Decide" span.hidden { " on " (load.reference) } }
                        }
                    }
                    @for load in self.outside {
                        li {
                            span {
                                b { (load.reference) }
                                @if let Some((_, text, than)) = deviation(load) { ", delivered: " span.late { (text) } " against what was " (than) }
                            }
                            a.go href={ "/loads/" (segment(&load.id)) } { "Check" span.hidden { " " (load.reference) } }
                        }
                    }
                    @for waiting in self.waiting {
                        li {
                            span { (counted(waiting.count, waiting.what)) " " (waiting.about) }
                            a.go href=(waiting.path) { "Show" span.hidden { " them: " (waiting.about) } }
                        }
                    }
                }
            }
        }
    }
}

impl Tile {
    fn markup(&self) -> Markup {
        let Some(sums) = self.sums else {
            return html! { div.card.tile { small { (self.label) } b { "–" } small { "not known at the moment" } } };
        };
        let is_bad = self.shown == Shown::Problem && sums.count > 0;
        html! {
            a.card.tile.bad[is_bad] href=(self.path) {
                small { (self.label) }
                @match &self.shown {
                    Shown::Delivered(sentence) => {
                        b { (number(sums.weight_net)) " t" } small { (counted(sums.count, "load")) ", " (sentence) }
                    }
                    Shown::Count | Shown::Problem => {
                        b { (sums.count) } small { (number(sums.weight)) " t planned" }
                    }
                }
            }
        }
    }
}

/// Returns the address of the history of an event's load.
fn history_of(event: &FeedEvent) -> String {
    format!("/loads/{}#history", segment(&event.load_id))
}

/// Returns the address of what was delivered on a day.
fn list_of(day: NaiveDate) -> String {
    let day = day.to_string();
    with_query("/loads", &[("status", "completed"), ("from", &day), ("to", &day)])
}

/// Returns a round number of tonnes, of which twice as many are the height of the chart.
fn round_step(highest: f64) -> f64 {
    if highest <= 0.0 {
        return 0.0;
    }
    let magnitude = 10_f64.powf((highest / 2.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * magnitude);
    steps.into_iter().find(|step| step * 2.0 >= highest).unwrap_or(magnitude * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_round_and_high_enough() {
        for (highest, step) in
            [(0.0, 0.0), (145.0, 100.0), (29.0, 20.0), (200.0, 100.0), (201.0, 200.0), (9.9, 5.0)]
        {
            assert!((round_step(highest) - step).abs() < 1e-9, "{highest}: {}", round_step(highest));
        }
    }
}
