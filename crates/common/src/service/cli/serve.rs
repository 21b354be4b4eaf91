//! The command `serve`.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::config::Log;
use crate::service::{Running, allocator};
use crate::telemetry::logs;

/// Time after the start in which workers and tasks still free what they needed to begin.
const START_DURATION: Duration = Duration::from_secs(1);

/// Runs the service until a signal. A second signal ends the drain.
///
/// # Errors
/// Fails if the service cannot start, or ends by itself.
pub(super) async fn serve(
    log: &Log,
    start: impl Future<Output = anyhow::Result<Running>>,
) -> anyhow::Result<()> {
    logs::init(log);
    let mut signals = Signals::new()?;
    // The start may wait for migrations of another replica. A signal ends it at once: no request is in flight yet.
    let mut running = tokio::select! {
        started = start => started?,
        () = signals.received() => return Ok(()),
    };
    tokio::spawn(async {
        tokio::time::sleep(START_DURATION).await;
        allocator::return_freed_memory();
    });
    tokio::select! {
        error = running.failed() => return Err(error),
        () = signals.received() => {}
    }
    tracing::info!("stopping; requests in flight may finish");
    running.drain_and_stop(signals.received()).await;
    Ok(())
}

/// SIGTERM and SIGINT.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> anyhow::Result<Self> {
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(Self { terminate, interrupt })
    }

    /// Waits for either signal.
    async fn received(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
