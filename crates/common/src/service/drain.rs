//! Stops accepting connections without losing requests.
//!
//! Senders learn late that a service stops: orchestrators request `/readyz` every few seconds, and proxies keep
//! connections open. A proxy may send a POST on a connection that is just being closed, and will not retry it. So for
//! `server.drain_seconds` the service reports that it stops and still answers, and every response closes its
//! connection. Then the listener refuses new connections, and requests on accepted connections are still answered.

use std::net::TcpListener;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::Shutdown;
use tokio::time::sleep;

/// Time for clients whose connections were accepted last to send their requests.
const SETTLE_TIME: Duration = Duration::from_millis(500);
/// The accept queue is polled this many times for a moment in which it is empty,
const MAX_POLLS: u32 = 1000;
/// at this interval.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// A second handle on the listening socket.
pub(super) struct Acceptor(pub(super) TcpListener);

impl Acceptor {
    /// Refuses new connections, so that their clients can use another replica. Accepted connections stay open.
    ///
    /// Closing a listener resets the connections in its accept queue. So this waits until the queue is empty.
    pub(super) async fn close(&self, server: &ServerHandle) {
        for _ in 0..MAX_POLLS {
            if !self.has_pending_connections() {
                break;
            }
            sleep(POLL_INTERVAL).await;
        }
        // Refuses connections at once on Linux. On other systems `pause` closes the listener a little later.
        let _ = rustix::net::shutdown(&self.0, Shutdown::Read);
        server.pause().await;
        sleep(SETTLE_TIME).await;
    }

    fn has_pending_connections(&self) -> bool {
        let mut listener = [PollFd::new(&self.0, PollFlags::IN)];
        matches!(poll(&mut listener, Some(&Timespec::default())), Ok(1..))
    }
}
