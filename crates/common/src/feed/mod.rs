//! The feed of events: pages, requests that wait for events, and streams (docs/api/events.md).
//!
//! A waiting request or an open stream holds no connection of the database and no queue: it has a place in the feed and
//! reads from there when [`Feed`] reports that its readers have new events. One task of the service finds these.

mod page;
mod requests;

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write;
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::{CACHE_CONTROL, CONTENT_ENCODING, ContentEncoding};
use actix_web::{HttpMessage, HttpRequest, HttpResponse, Responder};
use database::feed::{next_position, settled_position};
use database::{AnyConnection, Database};
use futures_util::stream;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, SemaphorePermit, broadcast};
use tokio::time::{Instant, sleep, timeout_at};

use crate::middleware::activity::{Activity, DrainState};
use crate::response::stream::streaming_body;
use crate::telemetry::metrics::{event_streams, feed_lag_seconds};
use crate::{Caller, Error, IsHead, TenantLimits};

pub use page::{FeedEvents, FeedPage, Place};
pub use requests::{FeedParams, PagingParams, Start};

/// How often the database is asked for new events while somebody waits for them.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// How often the lag of the feed is measured.
const LAG_INTERVAL: Duration = Duration::from_secs(5);
/// The measurements that are kept until the feed has passed their position: an hour.
const LAG_MEASUREMENTS: usize = 720;
/// The longest time between two lines of a stream. A connection that its client has closed is noticed by writing to it.
const COMMENT_INTERVAL: Duration = Duration::from_secs(2);
/// The longest life of a stream.
const STREAM_TIME: Duration = Duration::from_secs(30 * 60);
/// A stream ends if its client reads nothing for this time.
const STREAM_STALL_TIME: Duration = Duration::from_secs(30);
/// The events that a stream reads at a time.
const STREAM_PAGE: usize = 100;
/// The bytes of events that a stream holds, if it is not a single event that is longer.
const STREAM_BYTES: usize = 48 * 1024;
/// The events of a page with their resources, each of which may have hundreds of kilobytes.
pub const MAX_WITH_RESOURCES: usize = 100;
/// The open streams of a user.
const STREAMS_OF_USER: usize = 5;
/// The open streams of an organisation.
const STREAMS_OF_ORGANISATION: usize = 50;
/// The waiting requests of an organisation, or of a user without one.
const WAITING_OF_TENANT: usize = 500;
/// The open streams and waiting requests of the service, each.
const MAX_OPEN: usize = 2_000;

/// What a request reads of a feed: the events of a reader, some of their types.
pub trait FeedSearch: Clone + Send + 'static {
    /// Returns up to `limit` events after a place.
    ///
    /// # Errors
    /// 410 if the place is of a newer database than this one, and those of the database.
    fn page(
        &self,
        c: &mut AnyConnection,
        caller: &Caller,
        after: Place,
        limit: usize,
    ) -> Result<FeedPage, Error>;

    /// Returns the place after all events that are settled.
    ///
    /// # Errors
    /// Those of the database.
    fn end(c: &mut AnyConnection) -> Result<Place, Error>;

    /// Returns the reader, who waits for news.
    fn readers(&self) -> Readers;
}

/// Who reads events: organisations and users by id.
#[derive(Clone, Debug, Default)]
pub struct Readers {
    /// The organisations of the events, or of the reader.
    pub organisations: BTreeSet<String>,
    /// The users of the events, or the reader as a user.
    pub users: BTreeSet<String>,
    /// All events, or events of more readers than are named.
    pub all: bool,
}

impl Readers {
    fn share_events_with(&self, other: &Self) -> bool {
        self.all
            || other.all
            || !self.organisations.is_disjoint(&other.organisations)
            || !self.users.is_disjoint(&other.users)
    }
}

/// New events that the service found: where they end, and their readers.
#[derive(Clone, Debug)]
pub struct NewEvents {
    /// The place of the last event.
    pub end: Place,
    /// Who reads them.
    pub readers: Readers,
}

/// Describes the metrics of the feed and sets them to 0.
pub fn register_metrics() {
    metrics::describe_gauge!("drover_event_streams", "Open streams of events");
    metrics::describe_gauge!(
        "drover_feed_lag_seconds",
        "For how long events have waited for older transactions"
    );
    event_streams().set(0.0);
    feed_lag_seconds().set(0.0);
}

/// Measures for how long events have waited for older transactions of the server, until the service stops.
async fn measure_lag(db: &Database) {
    // When the next position was which. All events of that time are readable once the feed has settled up to there.
    let mut unsettled = VecDeque::<(Instant, i64)>::new();
    loop {
        let now = Instant::now();
        match db.read(|c| Ok::<_, Error>((settled_position(c)?, next_position(c)?))).await {
            Ok((settled, next)) => {
                unsettled.retain(|(_, position)| *position > settled);
                if next > settled && unsettled.len() < LAG_MEASUREMENTS {
                    unsettled.push_back((now, next));
                }
                let oldest = unsettled.front().map_or(now, |(time, _)| *time);
                feed_lag_seconds().set((now - oldest).as_secs_f64());
            }
            Err(error) => tracing::debug!(error = format!("{error:?}"), "the lag of the feed is unknown"),
        }
        sleep(LAG_INTERVAL).await;
    }
}

/// The waiting requests and open streams of the service.
pub struct Feed {
    news: broadcast::Sender<Arc<Readers>>,
    somebody_waits: Notify,
    /// Permits for waiting requests.
    waiting: Semaphore,
    waiting_of_tenants: TenantLimits,
    /// Permits for streams.
    streams: Arc<Semaphore>,
    streams_of_users: TenantLimits,
    streams_of_organisations: TenantLimits,
}

impl Default for Feed {
    fn default() -> Self {
        // Who falls behind reads from its place, so that a short queue is enough.
        let (news, _) = broadcast::channel(16);
        Self {
            news,
            somebody_waits: Notify::new(),
            waiting: Semaphore::new(MAX_OPEN),
            waiting_of_tenants: TenantLimits::new(WAITING_OF_TENANT),
            streams: Arc::new(Semaphore::new(MAX_OPEN)),
            streams_of_users: TenantLimits::new(STREAMS_OF_USER),
            streams_of_organisations: TenantLimits::new(STREAMS_OF_ORGANISATION),
        }
    }
}

impl Feed {
    /// Finds new events while somebody waits for them, and measures the lag of the feed, until the service stops.
    /// `find` returns the events after a place, or `None` if there are none; without a place, the end of the feed,
    /// with all readers. These read again then, because events may have been recorded since they last did.
    pub async fn run<F>(&self, db: &Database, find: F)
    where
        F: Fn(&mut AnyConnection, Option<Place>) -> Result<Option<NewEvents>, Error> + Clone + Send + 'static,
    {
        tokio::join!(self.find_new_events(db, find), measure_lag(db));
    }

    async fn find_new_events<F>(&self, db: &Database, find: F)
    where
        F: Fn(&mut AnyConnection, Option<Place>) -> Result<Option<NewEvents>, Error> + Clone + Send + 'static,
    {
        let mut place = None;
        loop {
            if self.news.receiver_count() == 0 {
                self.somebody_waits.notified().await;
                place = None;
            }
            let find = find.clone();
            match db.read(move |c| find(c, place)).await {
                Ok(Some(found)) => {
                    place = Some(found.end);
                    let _ = self.news.send(Arc::new(found.readers));
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(error = format!("{error:?}"), "new events could not be read");
                }
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    fn subscribe(&self) -> broadcast::Receiver<Arc<Readers>> {
        let news = self.news.subscribe();
        self.somebody_waits.notify_one();
        news
    }

    /// Reads a page. With no event in it, waits up to `wait` for one that `reader` reads. A service that drains, and a
    /// HEAD request, do not wait.
    ///
    /// # Errors
    /// Those of `read`; 429 if 500 requests of the organisation wait, 503 if 2,000 of this replica do.
    async fn wait<R, F>(
        &self,
        request: &HttpRequest,
        (caller, reader): (&Caller, &Readers),
        (mut place, wait): (Place, Duration),
        read: R,
    ) -> Result<FeedPage, Error>
    where
        R: Fn(Place) -> F,
        F: Future<Output = Result<FeedPage, Error>>,
    {
        if wait.is_zero() || request.extensions().contains::<IsHead>() {
            return read(place).await;
        }
        let end = Instant::now() + wait;
        let _waiting = self.begin_waiting(caller)?;
        let mut news = self.subscribe();
        loop {
            let page = read(place).await?;
            // Without events but with `more`, the client asks again at once: no request reads the feed for long.
            if !page.events.is_empty() || page.more {
                return Ok(page);
            }
            place = page.next;
            if Instant::now() >= end || !wait_for_news(&mut news, reader, request, end).await {
                return Ok(page);
            }
        }
    }

    /// Returns a stream of server-sent events from a place on. It ends after 30 minutes, when the token
    /// expires, or when the service drains.
    ///
    /// # Errors
    /// Those of the first `read`; 429 if the user has 5 streams or the organisation has 50, 503 if the replica has
    /// 2,000.
    async fn stream<R, F>(
        self: &Arc<Self>,
        request: &HttpRequest,
        caller: &Caller,
        reader: Readers,
        place: Place,
        read: R,
    ) -> Result<EventStream, Error>
    where
        R: Fn(Place, usize) -> F + 'static,
        F: Future<Output = Result<FeedPage, Error>> + 'static,
    {
        let open = self.open_stream(caller)?;
        Activity::limit_stalls(request, STREAM_STALL_TIME);
        let news = self.subscribe();
        let now = Instant::now();
        let first = Some(read(place, STREAM_PAGE).await?);
        let state = StreamState {
            news,
            reader,
            request: request.clone(),
            place,
            first,
            more: false,
            end: now + STREAM_TIME.min(caller.time_left()),
            _open: open,
        };
        let read = std::rc::Rc::new(read);
        let parts = stream::try_unfold(state, move |mut state| {
            let read = read.clone();
            async move {
                let part = state.next_part(&*read).await?;
                Ok(part.map(|part| (part, state)))
            }
        });
        Ok(EventStream(
            HttpResponse::Ok()
                .content_type("text/event-stream")
                .insert_header((CACHE_CONTROL, "no-store"))
                .insert_header(("x-accel-buffering", "no"))
                // Compression would hold events back.
                .insert_header((CONTENT_ENCODING, ContentEncoding::Identity))
                .body(streaming_body(parts)),
        ))
    }

    fn begin_waiting(&self, caller: &Caller) -> Result<(SemaphorePermit<'_>, OwnedSemaphorePermit), Error> {
        let busy = Error::Busy("2,000 requests wait for events: try again later, or without wait.");
        let of_all = self.waiting.try_acquire().map_err(|_| busy)?;
        let busy =
            Error::TenantBusy("500 requests of the organisation wait for events: end some of them first.");
        let of_tenant = self.waiting_of_tenants.try_acquire(&caller.tenant()).ok_or(busy)?;
        Ok((of_all, of_tenant))
    }

    fn open_stream(&self, caller: &Caller) -> Result<OpenStream, Error> {
        let busy = Error::Busy("2,000 streams are open: try again later.");
        let of_all = self.streams.clone().try_acquire_owned().map_err(|_| busy)?;
        let busy = Error::TenantBusy("5 streams of the user are open: close one of them first.");
        let of_user = self.streams_of_users.try_acquire(&caller.user_id).ok_or(busy)?;
        let busy = Error::TenantBusy("50 streams of the organisation are open: close one of them first.");
        let of_organisation = match &caller.organisation {
            Some(own) => Some(self.streams_of_organisations.try_acquire(&own.id).ok_or(busy)?),
            None => None,
        };
        event_streams().increment(1.0);
        Ok(OpenStream { _permits: (of_all, of_user, of_organisation) })
    }
}

/// The permits of a stream, until it ends.
struct OpenStream {
    _permits: (OwnedSemaphorePermit, OwnedSemaphorePermit, Option<OwnedSemaphorePermit>),
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        event_streams().decrement(1.0);
    }
}

/// Waits for events that `reader` reads, and returns true; or false at the end or if the service drains.
async fn wait_for_news(
    news: &mut broadcast::Receiver<Arc<Readers>>,
    reader: &Readers,
    request: &HttpRequest,
    end: Instant,
) -> bool {
    let drain = DrainState::of(request);
    let drained = async {
        match &drain {
            Some(drain) => drain.begun().await,
            None => pending().await,
        }
    };
    let found = async {
        loop {
            match news.recv().await {
                Ok(found) if !found.share_events_with(reader) => {}
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return true,
                Err(broadcast::error::RecvError::Closed) => return false,
            }
        }
    };
    tokio::select! {
        biased;
        () = drained => false,
        found = timeout_at(end, found) => found.unwrap_or(false),
    }
}

/// An open stream.
struct StreamState {
    news: broadcast::Receiver<Arc<Readers>>,
    reader: Readers,
    request: HttpRequest,
    place: Place,
    /// The first page, which was read before the response began.
    first: Option<FeedPage>,
    /// Whether the next page may have events already.
    more: bool,
    end: Instant,
    _open: OpenStream,
}

impl StreamState {
    /// Returns the next events, or a comment if there are none for a while. `None` at the end.
    async fn next_part<R, F>(&mut self, read: &R) -> Result<Option<Vec<u8>>, Error>
    where
        R: Fn(Place, usize) -> F,
        F: Future<Output = Result<FeedPage, Error>>,
    {
        if let Some(page) = self.first.take() {
            // The client knows at once that the stream is open, and where to continue if it breaks before an event.
            let mut part = format!(": open\nid: {}\n\n", self.place.encode()).into_bytes();
            part.extend(self.write(page));
            return Ok(Some(part));
        }
        loop {
            if Instant::now() >= self.end {
                return Ok(None);
            }
            let comment_at = (Instant::now() + COMMENT_INTERVAL).min(self.end);
            let has_news =
                self.more || wait_for_news(&mut self.news, &self.reader, &self.request, comment_at).await;
            if DrainState::of(&self.request).is_some_and(|drain| drain.has_begun()) {
                return Ok(None);
            }
            if !has_news {
                return Ok((Instant::now() < self.end).then(|| b": alive\n\n".to_vec()));
            }
            let page = read(self.place, STREAM_PAGE).await?;
            let part = self.write(page);
            if !part.is_empty() {
                return Ok(Some(part));
            }
        }
    }

    fn write(&mut self, page: FeedPage) -> Vec<u8> {
        let page = page.cut(STREAM_BYTES);
        self.place = page.next;
        self.more = page.more;
        let mut part = String::new();
        for (place, event_type, data) in page.events.iter() {
            let cursor = place.encode();
            let _ = write!(part, "id: {cursor}\nevent: {event_type}\ndata: {data}\n\n");
        }
        part.into_bytes()
    }
}

/// A response of server-sent events.
pub struct EventStream(HttpResponse);

impl Responder for EventStream {
    type Body = actix_web::body::BoxBody;

    fn respond_to(self, _: &HttpRequest) -> HttpResponse {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_organisation_does_not_take_all_places_of_waiting_requests() {
        let feed = Feed::default();
        let [ruth, owen] = ["haul", "grain"].map(|id| Caller::sample(["1", "A. User", id, id]));
        let waiting: Vec<_> = (0..WAITING_OF_TENANT).map(|_| feed.begin_waiting(&ruth)).collect();
        assert!(waiting.iter().all(Result::is_ok));
        assert!(matches!(feed.begin_waiting(&ruth), Err(Error::TenantBusy(_))));
        assert!(feed.begin_waiting(&owen).is_ok());
        drop(waiting);
        assert!(feed.begin_waiting(&ruth).is_ok());
    }
}
