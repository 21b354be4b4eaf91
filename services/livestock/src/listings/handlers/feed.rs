//! The operations on the feed of events.

use actix_web::web::Data;
use actix_web::{HttpRequest, get};
use common::feed::{EventStream, FeedParams, PagingParams};
use common::{Caller, Error, ErrorResponses, JsonResponse, Query};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::Livestock;
use crate::listings::feed::{FeedEventType, FeedPageBody, FeedReader, FeedSearch, Scope};

/// Query parameters of the feed and its stream.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct ListingFeedParams {
    #[serde(flatten)]
    #[param(ignore)]
    feed: FeedParams,
    /// Only events of these types; repeated or comma-separated.
    #[serde(rename = "f:type")]
    #[param(inline)]
    types: Vec<FeedEventType>,
    /// `own` (the default): the events of the listings of the caller's organisation, from their publication on, and the
    /// matches of its users' saved searches. `market`: the publishing, editing and closing of all listings that were
    /// ever published, without who did it.
    #[param(inline)]
    scope: Option<Scope>,
}

/// The parameters of the feed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PageParams {
    #[serde(flatten)]
    search: ListingFeedParams,
    #[serde(flatten)]
    paging: PagingParams,
}

impl ListingFeedParams {
    fn search(&self, caller: &Caller) -> FeedSearch {
        FeedSearch {
            reader: FeedReader::new(caller, self.scope.unwrap_or_default(), self.feed.organisation_id()),
            types: self.types.clone(),
            with_listings: self.feed.includes_resource(),
        }
    }
}

/// List events
///
/// What happened to the listings of the caller's organisation, or in the market, oldest first, each event once. Store
/// `cursor` and send it as `after`. `admin` reads the events of all organisations.
#[utoipa::path(operation_id = "list_events", tag = "events", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(PagingParams, FeedParams, ListingFeedParams),
    responses((status = 200, body = FeedPageBody),
        (status = 410, description = "An older database was restored: start without `after`."), ErrorResponses))]
#[get("/events")]
pub(super) async fn list_events(
    caller: Caller,
    query: Query<PageParams>,
    request: HttpRequest,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let (search, start) =
        query.check(|p, errors| (p.search.search(&caller), (p.search.feed.page_start(errors), p.paging)))?;
    service.feed.answer(&service.db, &request, &caller, &search, start).await
}

/// Follow events as a stream
///
/// The events as server-sent events: `id` is the cursor, `event` the type, `data` the event. It begins after
/// `Last-Event-ID`, else after `after`, else now. It ends when the token expires, after 30 minutes, and when the
/// service stops: connect again with the last cursor. A user has up to 5 streams, an organisation 50 (429).
#[utoipa::path(operation_id = "stream_events", tag = "events", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(FeedParams, ListingFeedParams,
        ("Last-Event-ID" = Option<String>, Header, description = "The cursor of the last event")),
    responses((status = 200, content((String = "text/event-stream", example = json!("id: 120.4711\nevent: listing.published\ndata: {\"id\": \"01955bf1-…\", \"type\": \"listing.published\", …}\n\n")))),
        (status = 410, description = "An older database was restored: start without a cursor."),
        (status = 429, description = "The user or the organisation has too many streams."), ErrorResponses))]
#[get("/events/stream")]
pub(super) async fn stream_events(
    caller: Caller,
    query: Query<ListingFeedParams>,
    request: HttpRequest,
    service: Data<Livestock>,
) -> Result<EventStream, Error> {
    let (search, start) =
        query.check(|p, errors| (p.search(&caller), p.feed.stream_start(&request, errors)))?;
    service.feed.follow(&service.db, &request, &caller, search, start).await
}
