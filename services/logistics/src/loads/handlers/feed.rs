//! The operations on the feed of events.

use std::time::Duration;

use actix_web::web::Data;
use actix_web::{HttpRequest, get};
use common::feed::{EventStream, FeedPage, Place};
use common::validation::{Code, ValidationErrors};
use common::wire::QueryText;
use common::{Caller, Error, ErrorResponses, JsonResponse, Query};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::Logistics;
use crate::loads::feed::{FeedEventType, FeedPageBody, FeedReader, FeedSearch, feed_end, read_page};

/// Query parameters of the feed and its stream.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct FeedParams {
    /// The `cursor` of an earlier response. `now`: the place after all events. Absent: the feed begins with the oldest
    /// event, a stream with the next one.
    #[param(example = "now")]
    after: Option<QueryText>,
    /// Only events of these types; repeated or comma-separated.
    #[serde(rename = "f:type")]
    #[param(inline)]
    types: Vec<FeedEventType>,
    /// `resource`: each event has the load as it is now, if the caller may still read it.
    #[param(inline)]
    include: Option<Include>,
    /// `me`: the events of loads that were sent to the caller, a driver, from the sending to the revocation.
    #[serde(rename = "f:driverId")]
    #[param(inline)]
    driver_id: Option<Me>,
    /// The events of this organisation. Only `admin` finds those of others.
    #[serde(rename = "f:organisationId")]
    #[param(example = "penybont-farm")]
    organisation_id: Option<QueryText>,
}

/// The parameters that only the feed has.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct PageParams {
    #[serde(flatten)]
    #[param(ignore)]
    feed: FeedParams,
    /// The most events of the page.
    #[param(minimum = 1, maximum = 500, default = 100)]
    limit: usize,
    /// With no event yet, the response waits up to so many seconds for one.
    #[param(minimum = 0, maximum = 30, default = 0)]
    wait: u64,
}

impl Default for PageParams {
    fn default() -> Self {
        Self { feed: FeedParams::default(), limit: 100, wait: 0 }
    }
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Include {
    Resource,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Me {
    Me,
}

/// Where the reader begins.
#[derive(Clone, Copy, Debug)]
enum Begin {
    Oldest,
    Now,
    After(Place),
}

impl FeedParams {
    /// Returns where the reader begins, if it states it, and adds an invalid cursor to `errors`.
    fn begin(&self, errors: &mut ValidationErrors) -> Option<Begin> {
        let after = self.after.as_ref()?;
        if &*after.0 == "now" {
            return Some(Begin::Now);
        }
        let place = Place::decode(&after.0);
        if place.is_none() {
            errors.push("after", Code::Format, "must be a cursor of this feed, or now");
        }
        place.map(Begin::After)
    }

    fn search(&self, caller: &Caller, after: Place, limit: usize) -> FeedSearch {
        let organisation = self.organisation_id.as_ref().map(|id| &*id.0);
        FeedSearch {
            reader: FeedReader::new(caller, organisation, self.driver_id.is_some()),
            after,
            types: self.types.clone(),
            limit,
            with_loads: self.include.is_some(),
        }
    }
}

/// List events
///
/// What happened to the loads of the caller's organisation, oldest first, each event once. Store `cursor` and send it
/// as `after`. An organisation reads what happened while it was organiser, carrier or creator of a load; `admin` reads
/// everything.
#[utoipa::path(operation_id = "list_events", tag = "events", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
    params(PageParams, FeedParams),
    responses((status = 200, body = FeedPageBody),
        (status = 410, description = "An older database was restored: start without `after`."), ErrorResponses))]
#[get("/events")]
pub(super) async fn list(
    caller: Caller,
    query: Query<PageParams>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (begin, wait, search) = query.check(|p, errors| {
        let begin = p.feed.begin(errors).unwrap_or(Begin::Oldest);
        (begin, p.wait, p.feed.search(&caller, Place::START, p.limit))
    })?;
    let after = match begin {
        Begin::Oldest => Place::START,
        Begin::After(place) => place,
        Begin::Now => {
            let end = app.db.read(feed_end).await?;
            return Ok(JsonResponse::raw(FeedPage::empty(end).into_document()));
        }
    };
    let reader = search.reader.readers();
    let read = |after| {
        let (search, caller) = (FeedSearch { after, ..search.clone() }, caller.clone());
        app.db.read(move |c| read_page(c, &caller, &search))
    };
    let page = app.feed.wait(&request, &reader, (after, Duration::from_secs(wait)), read).await?;
    Ok(JsonResponse::raw(page.into_document()))
}

/// Follow events as a stream
///
/// The events as server-sent events: `id` is the cursor, `event` the type, `data` the event. It begins after
/// `Last-Event-ID`, else after `after`, else now. It ends when the token expires, after 30 minutes, and when the
/// service stops: connect again with the last cursor. A user has up to 5 streams, an organisation 50 (429).
#[utoipa::path(operation_id = "stream_events", tag = "events", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
    params(FeedParams, ("Last-Event-ID" = Option<String>, Header, description = "The cursor of the last event")),
    responses((status = 200, content((String = "text/event-stream"))),
        (status = 410, description = "An older database was restored: start without a cursor."),
        (status = 429, description = "The user or the organisation has too many streams."), ErrorResponses))]
#[get("/events/stream")]
pub(super) async fn stream(
    caller: Caller,
    query: Query<FeedParams>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<EventStream, Error> {
    let last =
        request.headers().get("Last-Event-ID").map(|value| value.to_str().unwrap_or_default().to_owned());
    let (begin, search) = query.check(|p, errors| {
        let begin = match last.as_deref().filter(|last| !last.is_empty()) {
            Some(last) => {
                let place = Place::decode(last);
                if place.is_none() {
                    errors.push("Last-Event-ID", Code::Format, "must be a cursor of this feed");
                }
                place.map_or(Begin::Now, Begin::After)
            }
            None => p.begin(errors).unwrap_or(Begin::Now),
        };
        (begin, p.search(&caller, Place::START, 1))
    })?;
    let after = match begin {
        Begin::After(place) => place,
        Begin::Now | Begin::Oldest => app.db.read(feed_end).await?,
    };
    let (db, reader, of) = (app.db.clone(), search.reader.readers(), caller.clone());
    let read = move |after, limit| {
        let (search, caller, db) = (FeedSearch { after, limit, ..search.clone() }, of.clone(), db.clone());
        async move { db.read(move |c| read_page(c, &caller, &search)).await }
    };
    app.feed.stream(&request, &caller, reader, after, read).await
}
