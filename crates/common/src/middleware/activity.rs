//! The requests in flight on a connection, which is not timed out while there are any, and the drain of the service.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::ServiceRequest;
use actix_web::http::ConnectionType;
use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse};
use metrics::Gauge;
use tokio::sync::watch;
use tokio::time::Instant;

/// The activity on one connection. Clones share their state.
#[derive(Clone)]
pub(crate) struct Activity(Rc<State>);

struct State {
    requests_in_flight: Cell<usize>,
    /// When bytes were sent or a request ended, whichever was later.
    last_active: Cell<Instant>,
    has_had_requests: Cell<bool>,
    /// The longest time in which the client reads nothing of a response, if it is shorter than usual.
    stall_limit: Cell<Option<Duration>>,
}

impl Activity {
    /// Returns the activity of a connection that was just accepted.
    pub(crate) fn new() -> Self {
        Self(Rc::new(State {
            requests_in_flight: Cell::new(0),
            last_active: Cell::new(Instant::now()),
            has_had_requests: Cell::new(false),
            stall_limit: Cell::new(None),
        }))
    }

    /// Counts the request as in flight until the returned guard is dropped. Returns `None` if the request came over no
    /// connection, as in tests.
    pub(super) fn begin(request: &ServiceRequest, in_flight: &Gauge) -> Option<InFlightGuard> {
        let activity = request.conn_data::<Self>()?.clone();
        activity.0.requests_in_flight.set(activity.0.requests_in_flight.get() + 1);
        activity.0.has_had_requests.set(true);
        in_flight.increment(1.0);
        Some(InFlightGuard { activity, gauge: in_flight.clone() })
    }

    /// Limits the time in which the client reads nothing of the responses of the connection.
    pub(crate) fn limit_stalls(request: &HttpRequest, limit: Duration) {
        if let Some(activity) = request.conn_data::<Self>() {
            activity.0.stall_limit.set(Some(limit));
        }
    }

    /// Returns the longest time in which the client may read nothing of a response.
    pub(crate) fn stall_limit(&self, usual: Duration) -> Duration {
        self.0.stall_limit.get().map_or(usual, |limit| limit.min(usual))
    }

    /// Records that bytes were sent.
    pub(crate) fn touch(&self) {
        self.0.last_active.set(Instant::now());
    }

    /// Returns true while a request of the connection is in flight.
    pub(crate) fn has_requests_in_flight(&self) -> bool {
        self.0.requests_in_flight.get() > 0
    }

    /// Returns true if the connection has had a request.
    pub(crate) fn has_had_requests(&self) -> bool {
        self.0.has_had_requests.get()
    }

    /// Returns when a byte of a response was last sent; before that, when the connection was accepted.
    pub(crate) fn last_active(&self) -> Instant {
        self.0.last_active.get()
    }
}

/// Counts one request as in flight while it lives.
pub(super) struct InFlightGuard {
    activity: Activity,
    gauge: Gauge,
}

impl InFlightGuard {
    /// Keeps the guard alive until the response body ends.
    pub(super) fn track(self, body: BoxBody) -> BoxBody {
        BoxBody::new(TrackedBody { body, guard: self })
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let requests = &self.activity.0.requests_in_flight;
        requests.set(requests.get() - 1);
        self.gauge.decrement(1.0);
        self.activity.touch();
    }
}

/// The response body of a request in flight.
struct TrackedBody {
    body: BoxBody,
    guard: InFlightGuard,
}

impl MessageBody for TrackedBody {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        self.body.as_pin_mut().poll_next(cx)
    }

    fn try_into_bytes(self) -> Result<Bytes, Self> {
        let Self { body, guard } = self;
        body.try_into_bytes().map_err(|body| Self { body, guard })
    }
}

/// Whether the service drains: it still answers, but proxies should use another replica.
#[derive(Default)]
pub(crate) struct DrainState(watch::Sender<bool>);

impl DrainState {
    /// Returns the state of the app that serves the request.
    pub(crate) fn of(request: &HttpRequest) -> Option<Data<Self>> {
        request.app_data().cloned()
    }

    /// Begins the drain.
    pub(crate) fn begin(&self) {
        self.0.send_replace(true);
    }

    /// Returns true if the drain has begun.
    pub(crate) fn has_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the drain begins.
    pub(crate) async fn begun(&self) {
        // Fails only if the sender is gone, which is this one.
        let _ = self.0.subscribe().wait_for(|has_begun| *has_begun).await;
    }

    /// Makes the response the last one on its connection if the service drains.
    pub(crate) fn finish(&self, response: &mut HttpResponse) {
        if self.has_begun() {
            response.head_mut().set_connection_type(ConnectionType::Close);
        }
    }
}
