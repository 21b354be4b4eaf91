//! The operations on the feed of events.

use actix_web::web::Data;
use actix_web::{HttpRequest, get};
use common::feed::{EventStream, FeedParams, PagingParams, Start};
use common::validation::Code;
use common::{Caller, Error, ErrorResponses, JsonResponse, Query};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::Logistics;
use crate::loads::feed::{FeedEventType, FeedPageBody, FeedReader, FeedSearch};

/// Query parameters of the feed and its stream.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct LoadFeedParams {
    #[serde(flatten)]
    #[param(ignore)]
    feed: FeedParams,
    /// Only events of these types; repeated or comma-separated.
    #[serde(rename = "f:type")]
    #[param(inline)]
    types: Vec<FeedEventType>,
    /// `me`: the events of loads that were sent to the caller, a driver, from the sending to the revocation.
    #[serde(rename = "f:driverId")]
    #[param(inline)]
    driver_id: Option<Me>,
}

/// The parameters of the feed.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct PageParams {
    #[serde(flatten)]
    #[param(ignore)]
    search: LoadFeedParams,
    #[serde(flatten)]
    #[param(ignore)]
    paging: PagingParams,
    /// In place of a page: so many of the newest events, newest first, and the cursor after all events. Not together
    /// with `after`; `limit` and `wait` have no effect.
    #[param(minimum = 1, maximum = 20)]
    newest: Option<usize>,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Me {
    Me,
}

impl LoadFeedParams {
    fn search(&self, caller: &Caller) -> FeedSearch {
        FeedSearch {
            reader: FeedReader::new(caller, self.feed.organisation_id(), self.driver_id.is_some()),
            types: self.types.clone(),
            with_loads: self.feed.includes_resource(),
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
    params(PagingParams, FeedParams, LoadFeedParams, PageParams),
    responses((status = 200, body = FeedPageBody),
        (status = 410, description = "An older database was restored: start without `after`."), ErrorResponses))]
#[get("/events")]
pub(super) async fn list(
    caller: Caller,
    query: Query<PageParams>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (search, start, newest) = query.check(|p, errors| {
        let start = p.search.feed.page_start(errors);
        if p.newest.is_some() && !matches!(start, Start::Oldest) {
            errors.push("newest", Code::Inconsistent, "must not be sent together with after");
        }
        (p.search.search(&caller), (start, p.paging), p.newest)
    })?;
    if let Some(newest) = newest {
        let page = app.db.read(move |c| search.newest(c, &caller, newest)).await?;
        return Ok(JsonResponse::raw(page.into_document()));
    }
    app.feed.answer(&app.db, &request, &caller, &search, start).await
}

/// Follow events as a stream
///
/// The events as server-sent events: `id` is the cursor, `event` the type, `data` the event. It begins after
/// `Last-Event-ID`, else after `after`, else now. It ends when the token expires, after 30 minutes, and when the
/// service stops: connect again with the last cursor. A user has up to 5 streams, an organisation 50 (429).
#[utoipa::path(operation_id = "stream_events", tag = "events", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
    params(FeedParams, LoadFeedParams,
        ("Last-Event-ID" = Option<String>, Header, description = "The cursor of the last event")),
    responses((status = 200, content((String = "text/event-stream", example = json!("id: 120.4711\nevent: load.created\ndata: {\"id\": \"01955bf1-…\", \"type\": \"load.created\", …}\n\n")))),
        (status = 410, description = "An older database was restored: start without a cursor."),
        (status = 429, description = "The user or the organisation has too many streams."), ErrorResponses))]
#[get("/events/stream")]
pub(super) async fn stream(
    caller: Caller,
    query: Query<LoadFeedParams>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<EventStream, Error> {
    let (search, start) =
        query.check(|p, errors| (p.search(&caller), p.feed.stream_start(&request, errors)))?;
    app.feed.follow(&app.db, &request, &caller, search, start).await
}
