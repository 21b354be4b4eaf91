//! The events of loads, for pages that are open.

use std::io;

use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::{StreamExt, TryStreamExt};

use super::loads::is_driver;
use crate::Console;
use crate::api::Service;
use crate::user::{Failure, User};

/// Passes the stream of logistics on, until it ends or the console stops.
pub(super) async fn stream(
    console: Data<Console>,
    user: User,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    let last = request.headers().get("last-event-id").and_then(|last| last.to_str().ok());
    let headers: Vec<_> = last.into_iter().map(|last| ("last-event-id", last)).collect();
    let query: &[(&str, &str)] = if is_driver(&user) { &[("f:driverId", "me")] } else { &[] };
    let caller = user.caller(&console.api);
    let reply = caller.open(Service::Logistics, "/v1/events/stream", query, &headers).await?;
    let mut stopping = console.stopping.subscribe();
    let stopped = async move {
        // Without a sender, the console has stopped too.
        let _ = stopping.wait_for(|is_stopping| *is_stopping).await;
    };
    let events = reply.bytes_stream().map_err(|error| io::Error::other(error.without_url()));
    let events = events.take_until(Box::pin(stopped)).map(|part: io::Result<Bytes>| part);
    let mut response = HttpResponse::Ok();
    // Compressed, an event would wait for the next one.
    response.insert_header(("content-encoding", "identity"));
    Ok(response.content_type("text/event-stream").streaming(events))
}
