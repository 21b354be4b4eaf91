//! The timeouts for clients.

use std::time::Duration;

use actix_web::{HttpRequest, web};

use super::Server;

/// How long the service waits for a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// For the head of the first request on a connection.
    pub(crate) head: Duration,
    /// For the next request to begin. Its head must be complete within the sum of `idle` and `head`, counted from the
    /// end of the previous response.
    pub(crate) idle: Duration,
    /// While the client accepts no bytes of a response, or sends almost nothing of a body.
    pub(crate) stalled: Duration,
}

impl Timeouts {
    /// Returns the configured timeouts.
    pub(crate) fn new(server: &Server) -> Self {
        let [head, idle, stalled] =
            [server.head_seconds, server.idle_seconds, server.stalled_seconds].map(Duration::from_secs);
        Self { head, idle, stalled }
    }

    /// Returns the timeouts of the app that serves the request; the defaults if it has none.
    pub(crate) fn of(request: &HttpRequest) -> Self {
        let configured = request.app_data::<web::Data<Self>>().map(|timeouts| ***timeouts);
        configured.unwrap_or_else(|| Self::new(&Server::default()))
    }
}
