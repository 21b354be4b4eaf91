//! How a service leaves. Whoever sends requests here learns late that it must not: an orchestrator asks `/readyz` every
//! few seconds, and a proxy keeps connections open and may send a POST on one while it is being closed, which it will not
//! send again. So for `server.drain_seconds` the service says that it is stopping and goes on; each answer ends its
//! connection, so that proxies keep none. Then nobody is let in any more, and who was let in is still answered.

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::http::ConnectionType;
use actix_web::{HttpRequest, HttpResponse, web};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::Shutdown;
use tokio::time::sleep;

/// Who was let in last has sent its request by then.
const SETTLE: Duration = Duration::from_millis(500);
/// The door is shut in a moment when nobody stands in it; so often, a millisecond apart, it is waited for.
const MAX_POLLS: u32 = 1000;

/// Whether the service is leaving.
#[derive(Default)]
pub(crate) struct DrainState(AtomicBool);

impl DrainState {
    /// That of the app.
    pub fn of(request: &HttpRequest) -> Option<web::Data<Self>> {
        request.app_data().cloned()
    }

    pub fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn has_begun(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The last answer on its connection, if so.
    pub fn finish(&self, response: &mut HttpResponse) {
        if self.has_begun() {
            response.head_mut().set_connection_type(ConnectionType::Close);
        }
    }
}

/// The way in.
pub(crate) struct Acceptor(pub TcpListener);

impl Acceptor {
    /// Whoever connects is refused from now on, and may go elsewhere with what it has not sent yet. What was let in stays.
    ///
    /// Closing a listener resets those who are connected and not accepted yet, so that is done when there are none.
    pub async fn shut(&self, server: &ServerHandle) {
        for _ in 0..MAX_POLLS {
            if !self.is_waited_at() {
                break;
            }
            sleep(Duration::from_millis(1)).await;
        }
        // Where this is not done (it is on Linux), the server closes its listener a little later.
        let _ = rustix::net::shutdown(&self.0, Shutdown::Read);
        server.pause().await;
        sleep(SETTLE).await;
    }

    fn is_waited_at(&self) -> bool {
        let mut door = [PollFd::new(&self.0, PollFlags::IN)];
        matches!(poll(&mut door, Some(&Timespec::default())), Ok(1..))
    }
}
