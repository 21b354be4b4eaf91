//! A connection that times out. actix times the head of the first request and the pause before the next one. It does
//! not time a client that reads nothing of a response, stops within a later head, or keeps sending a refused body; this
//! stream does.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::unparsed::{self, UnparsedRequests};
use crate::config::Timeouts;
use crate::middleware::activity::Activity;

/// A stream that fails with [`ErrorKind::TimedOut`] when its client is too slow.
pub(super) struct Connection<T> {
    io: T,
    timeouts: Timeouts,
    activity: Activity,
    unparsed: UnparsedRequests,
    /// Fires when the connection may have been idle for too long.
    idle_timer: Pin<Box<Sleep>>,
    /// Fires when the client has read nothing for too long; set while `is_write_blocked`.
    stall_timer: Pin<Box<Sleep>>,
    is_write_blocked: bool,
    /// Bytes of the request line that arrives, or of one that is too long. `None` after a line of permitted length,
    /// until its response is sent.
    request_line_bytes: Option<usize>,
}

impl Connection<TcpStream> {
    /// Wraps an accepted connection and sets `TCP_NODELAY`, which actix sets only on streams of its own types. Without
    /// it the end of a chunked response may wait for the client's delayed acknowledgement, 40 ms.
    pub(super) fn accepted(io: TcpStream, timeouts: Timeouts, unparsed: UnparsedRequests) -> Self {
        // A failure means that the connection is closed already.
        let _ = io.set_nodelay(true);
        Self::new(io, timeouts, unparsed)
    }
}

impl<T> Connection<T> {
    fn new(io: T, timeouts: Timeouts, unparsed: UnparsedRequests) -> Self {
        let now = Instant::now();
        Self {
            io,
            timeouts,
            activity: Activity::new(),
            unparsed,
            idle_timer: Box::pin(sleep_until(now + timeouts.idle + timeouts.head)),
            stall_timer: Box::pin(sleep_until(now)),
            is_write_blocked: false,
            request_line_bytes: Some(0),
        }
    }

    /// Counts the bytes of a request line, which may arrive in parts.
    fn count_request_line(&mut self, bytes: &[u8]) {
        let Some(before) = self.request_line_bytes else { return };
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let length = before.saturating_add(end.unwrap_or(bytes.len()));
        let is_short = end.is_some() && length <= unparsed::MAX_LINE_BYTES;
        self.request_line_bytes = (!is_short).then_some(length);
    }

    /// Returns the activity of the connection, which its requests update.
    pub(super) fn activity(&self) -> Activity {
        self.activity.clone()
    }

    /// Returns whether the next request has taken too long: no request was in flight and no byte was sent, or blocked
    /// from being sent, for the time that a request may take to arrive.
    fn is_timed_out(&mut self, cx: &mut Context<'_>) -> bool {
        while self.idle_timer.as_mut().poll(cx).is_ready() {
            let is_active = self.activity.has_requests_in_flight() || self.is_write_blocked;
            let idle_since = if is_active { Instant::now() } else { self.activity.last_active() };
            let deadline = idle_since + self.timeouts.idle + self.timeouts.head;
            if deadline <= Instant::now() {
                return true;
            }
            self.idle_timer.as_mut().reset(deadline);
        }
        false
    }
}

fn timed_out<V>() -> Poll<io::Result<V>> {
    Poll::Ready(Err(ErrorKind::TimedOut.into()))
}

impl<T: AsyncRead + Unpin> AsyncRead for Connection<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_timed_out(cx) {
            return timed_out();
        }
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.io).poll_read(cx, buffer);
        if !self.activity.has_requests_in_flight() {
            self.count_request_line(&buffer.filled()[before..]);
        }
        polled
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Connection<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if let Some(response) = unparsed::response(bytes, self.request_line_bytes.unwrap_or_default()) {
            // It fits into the buffer of the connection, which has sent all earlier responses.
            ready!(Pin::new(&mut self.io).poll_write(cx, &response))?;
            return Poll::Ready(Ok(bytes.len()));
        }
        if let Poll::Ready(written) = Pin::new(&mut self.io).poll_write(cx, bytes) {
            self.is_write_blocked = false;
            self.request_line_bytes = Some(0);
            self.activity.touch();
            if !self.activity.has_had_requests() {
                self.unparsed.record_timeout_response(bytes);
            }
            return Poll::Ready(written);
        }
        if !self.is_write_blocked {
            self.is_write_blocked = true;
            let deadline = Instant::now() + self.activity.stall_limit(self.timeouts.stalled);
            self.stall_timer.as_mut().reset(deadline);
        }
        ready!(self.stall_timer.as_mut().poll(cx));
        timed_out()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Server;

    #[test]
    fn accepted_connections_have_nodelay() {
        testkit::block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap());
            let (client, accepted) = tokio::join!(client, listener.accept());
            let (io, _) = accepted.unwrap();
            assert!(!io.nodelay().unwrap());
            let timeouts = Timeouts::new(&Server::default());
            let connection = Connection::accepted(io, timeouts, UnparsedRequests::default());
            assert!(connection.io.nodelay().unwrap());
            drop(client);
        });
    }
}
