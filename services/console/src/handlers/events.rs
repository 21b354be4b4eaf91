//! The events of loads, for pages that are open.

use std::io;

use actix_web::web::{Bytes, Data, Query};
use actix_web::{HttpRequest, HttpResponse};
use chrono::{SecondsFormat, Utc};
use futures_util::{StreamExt, TryStreamExt};
use serde::Deserialize;

use crate::Console;
use crate::api::model::FeedPage;
use crate::api::{CallError, Caller, Service};
use crate::user::{Failure, User};
use crate::views::Position;

/// Makes a browser connect again after 12 seconds. Streams that were closed count for ten against the limit of a user.
const RETRY: &str = "retry: 12000\n\n";

/// Returns the position of the feed of events: what happens from now on follows it.
pub(super) async fn find_position(caller: &Caller<'_>) -> Option<Position> {
    let at = Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true);
    let page = caller.get::<FeedPage>(Service::Logistics, "/v1/events", &[("after", "now")]).await;
    page.ok().map(|reply| Position { cursor: reply.value.cursor, at })
}

#[derive(Deserialize)]
pub(super) struct StreamParameters {
    after: Option<String>,
}

/// Passes the stream of logistics on, until it ends or the console stops.
pub(super) async fn stream(
    console: Data<Console>,
    user: User,
    request: HttpRequest,
    parameters: Query<StreamParameters>,
) -> Result<HttpResponse, Failure> {
    let last = request.headers().get("last-event-id").and_then(|last| last.to_str().ok());
    let headers: Vec<_> = last.into_iter().map(|last| ("last-event-id", last)).collect();
    let mut query: Vec<_> = parameters.after.iter().map(|after| ("after", after.as_str())).collect();
    if user.is_driver() {
        query.push(("f:driverId", "me"));
    }
    let caller = user.caller(&console.api);
    let mut response = HttpResponse::Ok();
    response.content_type("text/event-stream");
    let reply = match caller.open(Service::Logistics, "/v1/events/stream", &query, &headers).await {
        Ok(reply) => reply,
        // Browsers would not connect again after another status.
        Err(CallError::Refused(_) | CallError::Away { .. }) => return Ok(response.body(RETRY)),
        Err(error) => return Err(error.into()),
    };
    let mut stopping = console.stopping.subscribe();
    let stopped = async move {
        // Without a sender, the console has stopped too.
        let _ = stopping.wait_for(|is_stopping| *is_stopping).await;
    };
    let events = reply.bytes_stream().map_err(|error| io::Error::other(error.without_url()));
    let events = events.take_until(Box::pin(stopped)).map(|part: io::Result<Bytes>| part);
    // Compressed or held back by a proxy, an event would wait for the next one.
    response.insert_header(("x-accel-buffering", "no"));
    response.insert_header(("content-encoding", "identity"));
    Ok(response.streaming(events))
}
