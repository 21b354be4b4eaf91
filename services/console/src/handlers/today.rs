//! The page of today.

use actix_web::HttpResponse;
use actix_web::web::Data;
use chrono::{DateTime, Days, NaiveDate, SecondsFormat, TimeDelta, Utc};
use futures_util::future::join_all;
use serde_json::Value;

use super::{html, optional, see_other};
use crate::Console;
use crate::api::model::{FeedEvent, FeedPage, Load, Summary, Sums, Webhook};
use crate::api::{CallError, Caller, Reply, Service, segment, with_query};
use crate::format::{Clock, monday, number};
use crate::user::{Failure, User};
use crate::views::load::{TOLERANCE, deviation};
use crate::views::today::{DAYS, Shown, Tile, TodayView, Waiting};
use crate::views::{Position, Section, page as document};

/// Rejected loads that the page names.
const MAX_REJECTED: &str = "5";
/// The days before today whose deliveries the page searches for weights outside the tolerance, and the most loads: the
/// API has no filter for them.
const PROVEN_DAYS: u64 = 6;
const MAX_PROVEN: &str = "100";
/// Loads outside the tolerance that the page names.
const MAX_OUTSIDE: usize = 5;
/// The newest events that the page shows.
const NEWEST: &str = "5";
/// The newest notes among which the page looks for those of others, their age in days, and the most that it names.
const NEWEST_NOTES: &str = "20";
const NOTED_DAYS: TimeDelta = TimeDelta::days(3);
const MAX_NOTES: usize = 5;

/// A tile: its label, and its filters as the list of loads has them and as the API does.
struct TileQuery {
    label: &'static str,
    list: Vec<(&'static str, String)>,
    parameters: Vec<(&'static str, String)>,
}

impl TileQuery {
    fn statuses(
        label: &'static str,
        statuses: &[&str],
        (clock, dates): (Clock, Option<(NaiveDate, NaiveDate)>),
    ) -> Self {
        let mut list: Vec<_> = statuses.iter().map(|status| ("status", (*status).to_owned())).collect();
        let mut parameters = vec![("f:status", statuses.join(","))];
        if let Some((from, to)) = dates {
            list.extend([("from", from.to_string()), ("to", to.to_string())]);
            parameters.extend([("startDateISO", clock.from(from)), ("endDateISO", clock.until(to))]);
        }
        Self { label, list, parameters }
    }

    fn flag(label: &'static str, name: &'static str, parameter: &'static str) -> Self {
        let on = |name| vec![(name, "true".to_owned())];
        Self { label, list: on(name), parameters: on(parameter) }
    }

    async fn sums(&self, caller: &Caller<'_>, further: &[(&str, &str)]) -> Result<Reply<Summary>, CallError> {
        let own = self.parameters.iter().map(|(name, value)| (*name, value.as_str()));
        let query: Vec<_> = own.chain(further.iter().copied()).collect();
        caller.get(Service::Logistics, "/v1/loads/summary", &query).await
    }

    fn path(&self) -> String {
        let list: Vec<_> = self.list.iter().map(|(name, value)| (*name, value.as_str())).collect();
        with_query("/loads", &list)
    }
}

pub(super) async fn page(console: Data<Console>, user: User) -> Result<HttpResponse, Failure> {
    if user.is_driver() {
        return Ok(see_other("/driver"));
    }
    let caller = user.caller(&console.api);
    let clock = console.clock;
    let today = clock.today();
    let week = (monday(today), monday(today) + Days::new(6));
    let last_week = (week.0 - Days::new(7), today - Days::new(7));
    let queries = [
        TileQuery::statuses("Due today", &["upcoming", "collected"], (clock, Some((today, today)))),
        TileQuery::statuses("On the road", &["collected"], (clock, None)),
        TileQuery::flag("Overdue", "overdue", "overdue"),
        TileQuery::flag("Awaiting acceptance", "awaiting", "awaitsAcceptance"),
        TileQuery::statuses("Delivered this week", &["completed"], (clock, Some(week))),
    ];
    let before = TileQuery::statuses("", &["completed"], (clock, Some(last_week)));
    let days = TileQuery::statuses("", &["completed"], (clock, Some((today - Days::new(DAYS - 1), today))));
    let rejected = [("f:status", "rejected"), ("limit", MAX_REJECTED)];
    let since = clock.from(today - Days::new(PROVEN_DAYS));
    let proven = [
        ("f:status", "completed"),
        ("startDateISO", since.as_str()),
        ("sortBy", "deliveryDateISO"),
        ("sortDesc", "true"),
        ("limit", MAX_PROVEN),
    ];

    let at = Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true);
    let noted = [("newest", NEWEST_NOTES), ("f:type", "load.noted")];
    let (tiles, before, days, rejected, proven, waiting, newest, noted) = futures_util::join!(
        join_all(queries.iter().map(|query| query.sums(&caller, &[]))),
        before.sums(&caller, &[]),
        days.sums(&caller, &[("groupBy", "day")]),
        caller.get::<Vec<Load>>(Service::Logistics, "/v1/loads", &rejected),
        caller.get::<Vec<Load>>(Service::Logistics, "/v1/loads", &proven),
        find_waiting(&caller, user.person.is_admin),
        caller.get::<FeedPage>(Service::Logistics, "/v1/events", &[("newest", NEWEST)]),
        caller.get::<FeedPage>(Service::Logistics, "/v1/events", &noted),
    );
    let mut missing = Vec::new();
    let before = optional(before, &mut missing)?.map(|reply| reply.value.total);
    let mut shown = Vec::new();
    for (query, sums) in queries.iter().zip(tiles) {
        let sums = optional(sums, &mut missing)?.map(|reply| reply.value.total);
        shown.push(Tile { label: query.label, path: query.path(), sums, shown: kind(query.label, before) });
    }
    let days = optional(days, &mut missing)?.map(|reply| reply.value.groups);
    let rejected = optional(rejected, &mut missing)?.map(|reply| reply.value).unwrap_or_default();
    let mut outside = optional(proven, &mut missing)?.map(|reply| reply.value).unwrap_or_default();
    outside.retain(|load| deviation(load).is_some_and(|(percent, ..)| percent.abs() > TOLERANCE));
    outside.truncate(MAX_OUTSIDE);
    let newest = optional(newest, &mut missing)?.map(|reply| reply.value);
    let noted = optional(noted, &mut missing)?.map(|reply| reply.value.events).unwrap_or_default();
    let position = newest.as_ref().map(|page| Position { cursor: page.cursor.clone(), at });
    let mut shown_waiting: Vec<Waiting> = Vec::new();
    for (count, waiting) in waiting {
        let count = optional(count, &mut missing)?.and_then(|reply| reply.total).unwrap_or_default();
        match shown_waiting.iter_mut().find(|known| known.what == waiting.what) {
            Some(known) => known.count += count,
            None => shown_waiting.push(Waiting { count, ..waiting }),
        }
    }
    shown_waiting.retain(|waiting| waiting.count > 0);
    let view = TodayView {
        clock,
        today,
        tiles: &shown,
        days: days.as_deref(),
        rejected: &rejected,
        outside: &outside,
        notes: &unanswered(noted, &user),
        waiting: &shown_waiting,
        newest: newest.as_ref().map(|page| page.events.as_slice()),
        position: position.as_ref(),
        missing: &missing,
    };
    Ok(html(&document(&user, Section::Today, "Today", &view.markup())))
}

fn kind(label: &str, last_week: Option<Sums>) -> Shown {
    match label {
        "Overdue" => Shown::Problem,
        "Delivered this week" => Shown::Delivered(
            last_week
                .map_or_else(String::new, |sums| format!("last week by now {} t", number(sums.weight_net))),
        ),
        _ => Shown::Count,
    }
}

/// Returns the notes of the last days that are the newest of their load and of somebody else, newest first.
fn unanswered(noted: Vec<FeedEvent>, user: &User) -> Vec<FeedEvent> {
    let oldest = Utc::now() - NOTED_DAYS;
    let mut newest: Vec<FeedEvent> = Vec::new();
    for note in noted {
        if newest.iter().all(|newer| newer.load_id != note.load_id) {
            newest.push(note);
        }
    }
    newest.retain(|note| {
        let is_new = DateTime::parse_from_rfc3339(&note.at).is_ok_and(|at| at >= oldest);
        is_new && !user.wrote(note.user_id.as_deref())
    });
    newest.truncate(MAX_NOTES);
    newest
}

/// Counts what waits for somebody besides loads, the same thing perhaps in several parts.
async fn find_waiting(
    caller: &Caller<'_>,
    is_admin: bool,
) -> Vec<(Result<Reply<Value>, CallError>, Waiting)> {
    let count = async |service, path: String, waiting| {
        let counted = caller.get(service, &path, &[("count", "true"), ("limit", "1")]).await;
        (counted, waiting)
    };
    let waiting = |what, about, path| Waiting { count: 0, what, about, path };
    let mut calls = Vec::new();
    let path = "/v1/enquiries?scope=received&f:status=open".to_owned();
    let about = "about your listings without an answer";
    calls.push((Service::Livestock, path, waiting("enquiry", about, "/market/enquiries")));
    let services = [Service::Logistics, Service::Livestock];
    let listed = services.map(|service| caller.get::<Vec<Webhook>>(service, "/v1/webhooks", &[]));
    let mut switched_off = 0;
    for (service, webhooks) in services.into_iter().zip(join_all(listed).await) {
        for webhook in webhooks.map(|reply| reply.value).unwrap_or_default() {
            switched_off += u64::from(webhook.status == "disabled");
            let path = format!("/v1/webhooks/{}/deliveries?f:status=failed", segment(&webhook.id));
            calls.push((service, path, waiting("delivery", "to webhooks failed", "/connections")));
        }
    }
    if is_admin {
        let path = "/v1/reports?f:status=open".to_owned();
        calls.push((Service::Livestock, path, waiting("report", "of listings to decide", "/moderation")));
    }
    let counted = join_all(calls.into_iter().map(|(service, path, waiting)| count(service, path, waiting)));
    let mut counted = counted.await;
    let webhooks = Reply { value: Value::Null, total: Some(switched_off), next: None };
    counted.push((Ok(webhooks), waiting("webhook", "switched off", "/connections")));
    counted
}
