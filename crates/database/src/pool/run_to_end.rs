//! A future that ends even if its caller drops it.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::runtime::Handle;

/// Polls a future in the task of the caller, which costs less than a task of its own. If this is dropped before the
/// future has ended, a task runs it to its end.
pub(crate) struct RunToEnd<F: Future<Output: Send> + Send + 'static>(Option<Pin<Box<F>>>);

impl<F: Future<Output: Send> + Send + 'static> RunToEnd<F> {
    pub(crate) fn new(future: F) -> Self {
        Self(Some(Box::pin(future)))
    }
}

impl<F: Future<Output: Send> + Send + 'static> Future for RunToEnd<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Some(future) = &mut self.0 else { return Poll::Pending };
        let output = ready!(future.as_mut().poll(context));
        self.0 = None;
        Poll::Ready(output)
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for RunToEnd<F> {
    fn drop(&mut self) {
        if let (Some(future), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(future);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::oneshot;
    use tokio::time::timeout;

    use super::*;

    #[test]
    fn a_dropped_future_runs_to_its_end() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            // Returns a future that waits at a gate, the gate, and the receiver of what it sends at its end.
            let gated = || {
                let (open, gate) = oneshot::channel();
                let (sender, receiver) = oneshot::channel();
                let future = RunToEnd::new(async move {
                    let _ = gate.await;
                    sender.send(1)
                });
                (future, open, receiver)
            };
            let (future, open, mut receiver) = gated();
            let (sent, opened) = tokio::join!(future, async { open.send(()) });
            assert_eq!((sent, opened), (Ok(()), Ok(())));
            assert_eq!(receiver.try_recv(), Ok(1));
            let (future, open, receiver) = gated();
            assert!(timeout(Duration::from_millis(1), future).await.is_err());
            open.send(()).unwrap();
            assert_eq!(receiver.await, Ok(1));
        });
    }
}
