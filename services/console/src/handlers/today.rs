//! The page of today.

use actix_web::HttpResponse;
use actix_web::web::Data;
use chrono::{DateTime, Days, NaiveDate, SecondsFormat, TimeDelta, Utc};
use futures_util::future::join_all;
use serde_json::Value;

use super::extract::Parameters;
use super::loads::borrowed;
use super::{SUMS, html, optional, see_other, sums_in_time};
use crate::Console;
use crate::api::model::{FeedEvent, FeedPage, Load, Summary, Sums, Webhook};
use crate::api::{CallError, Caller, Reply, Service, segment, with_query};
use crate::format::{Clock, monday, number};
use crate::user::{Failure, User};
use crate::views::load::TOLERANCE;
use crate::views::today::{DAYS, Shown, Tile, TodayView, Waiting};
use crate::views::{Position, Section, page as document};

/// Rejected loads that the page names.
const MAX_REJECTED: &str = "5";
/// The days before today whose deliveries count as outside the tolerance, and the most that the page names.
const PROVEN_DAYS: u64 = 6;
const MAX_OUTSIDE: &str = "5";
const OUTSIDE: &str = "Outside tolerance, 7 days";
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

    /// The loads of the last days whose delivered weight is outside the tolerance.
    fn outside(clock: Clock, today: NaiveDate) -> Self {
        let since = today - Days::new(PROVEN_DAYS);
        let (completed, percent) = (|| "completed".to_owned(), TOLERANCE.to_string());
        let list = vec![("status", completed()), ("differs", percent.clone()), ("from", since.to_string())];
        let parameters = vec![
            ("f:status", completed()),
            ("weightDiffersByPercent", percent),
            ("startDateISO", clock.from(since)),
        ];
        Self { label: OUTSIDE, list, parameters }
    }

    async fn sums(&self, caller: &Caller<'_>, further: &[(&str, &str)]) -> Result<Reply<Summary>, CallError> {
        let query = [borrowed(&self.parameters), further.to_vec()].concat();
        caller.get(Service::Logistics, "/v1/loads/summary", &query).await
    }

    fn path(&self) -> String {
        with_query("/loads", &borrowed(&self.list))
    }
}

pub(super) async fn page(
    console: Data<Console>,
    user: User,
    Parameters(parameters): Parameters,
) -> Result<HttpResponse, Failure> {
    if user.is_driver() {
        return Ok(see_other("/driver"));
    }
    let caller = user.caller(&console.api);
    let clock = console.clock;
    let today = clock.today();
    let last_week = (monday(today) - Days::new(7), today - Days::new(7));
    let queries = tiles(clock, today);
    let before = TileQuery::statuses("", &["completed"], (clock, Some(last_week)));
    let days = TileQuery::statuses("", &["completed"], (clock, Some((today - Days::new(DAYS - 1), today))));
    let rejected = [("f:status", "rejected"), ("limit", MAX_REJECTED)];
    let outside = TileQuery::outside(clock, today).parameters;
    let newest_first = [("sortBy", "deliveryDateISO"), ("sortDesc", "true"), ("limit", MAX_OUTSIDE)];
    let outside = [borrowed(&outside), newest_first.to_vec()].concat();

    let at = Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true);
    let noted = [("newest", NEWEST_NOTES), ("f:type", "load.noted")];
    let (sums, before, days, rejected, outside, waiting, newest, noted) = futures_util::join!(
        join_all(queries.iter().map(|query| sums_in_time(&parameters, query.sums(&caller, &[])))),
        sums_in_time(&parameters, before.sums(&caller, &[])),
        sums_in_time(&parameters, days.sums(&caller, &[("groupBy", "day")])),
        caller.get::<Vec<Load>>(Service::Logistics, "/v1/loads", &rejected),
        caller.get::<Vec<Load>>(Service::Logistics, "/v1/loads", &outside),
        sums_in_time(&parameters, find_waiting(&caller, user.person.is_admin)),
        caller.get::<FeedPage>(Service::Logistics, "/v1/events", &[("newest", NEWEST)]),
        caller.get::<FeedPage>(Service::Logistics, "/v1/events", &noted),
    );
    let mut missing = Vec::new();
    let is_late = sums.iter().any(Option::is_none) || before.is_none() || days.is_none() || waiting.is_none();
    let mut sums_of = |found: Option<_>| -> Result<Option<Summary>, Failure> {
        let Some(found) = found else { return Ok(None) };
        Ok(optional(found, &mut missing)?.map(|reply| reply.value))
    };
    let before = sums_of(before)?.map(|sums| sums.total);
    let mut shown = Vec::new();
    for (query, sums) in queries.iter().zip(sums) {
        let sums = sums_of(sums)?.map(|sums| sums.total);
        shown.push(Tile { label: query.label, path: query.path(), sums, shown: kind(query.label, before) });
    }
    let days = sums_of(days)?.map(|sums| sums.groups);
    let rejected = optional(rejected, &mut missing)?.map(|reply| reply.value).unwrap_or_default();
    let outside = optional(outside, &mut missing)?.map(|reply| reply.value).unwrap_or_default();
    let newest = optional(newest, &mut missing)?.map(|reply| reply.value);
    let noted = optional(noted, &mut missing)?.map(|reply| reply.value.events).unwrap_or_default();
    let position = newest.as_ref().map(|page| Position { cursor: page.cursor.clone(), at });
    let mut shown_waiting: Vec<Waiting> = Vec::new();
    for (count, waiting) in waiting.unwrap_or_default() {
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
        sums: is_late.then(|| with_query("/", &[(SUMS, "on")])),
    };
    Ok(html(&document(&user, Section::Today, "Today", &view.markup())))
}

/// Returns the tiles in their order.
fn tiles(clock: Clock, today: NaiveDate) -> [TileQuery; 6] {
    let week = (monday(today), monday(today) + Days::new(6));
    [
        TileQuery::statuses("Due today", &["upcoming", "collected"], (clock, Some((today, today)))),
        TileQuery::statuses("On the road", &["collected"], (clock, None)),
        TileQuery::flag("Overdue", "overdue", "overdue"),
        TileQuery::flag("Awaiting acceptance", "awaiting", "awaitsAcceptance"),
        TileQuery::outside(clock, today),
        TileQuery::statuses("Delivered this week", &["completed"], (clock, Some(week))),
    ]
}

fn kind(label: &str, last_week: Option<Sums>) -> Shown {
    match label {
        "Overdue" | OUTSIDE => Shown::Problem,
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
