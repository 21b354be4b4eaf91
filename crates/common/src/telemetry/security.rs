//! The security log: log lines with the target `security`, each with the name of its event
//! (`docs/operations/logs.md`).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;

/// Writes an event to the security log: its name, then what [`tracing::info!`] takes.
///
/// The members contain no names and no ids of users, and only suspensions name an organisation (SECURITY.md).
#[macro_export]
macro_rules! security_event {
    ($event:literal, $($members:tt)+) => {
        ::tracing::info!(target: "security", event = $event, $($members)+)
    };
}

/// How long refusals are counted together.
const PERIOD: Duration = Duration::from_secs(60);
/// The most lines on refusals in a [`PERIOD`].
const MAX_LINES: usize = 100;
/// The most lines on refusals of one client in a [`PERIOD`].
const MAX_LINES_OF_CLIENT: usize = 10;

/// Decides which refusals get a line in the security log, so that no client can fill the log. Others are counted.
#[derive(Default)]
pub struct RefusalLog(Mutex<Refusals>);

/// The refusals of a [`PERIOD`].
#[derive(Default)]
struct Refusals {
    lines: usize,
    /// By client: the name of the event, and the reason.
    logged: HashMap<Option<IpAddr>, HashSet<(&'static str, String)>>,
    /// The number of refusals without a line, by event.
    omitted: BTreeMap<&'static str, u64>,
}

impl RefusalLog {
    /// Returns true if a refusal gets a line: the first one of a client for a reason in a minute. Counts it otherwise.
    pub fn admits(&self, client: Option<IpAddr>, event: &'static str, reason: &str) -> bool {
        let mut refusals = self.0.lock();
        let Refusals { lines, logged, omitted } = &mut *refusals;
        let has_room = |of_client: &HashSet<_>| of_client.len() < MAX_LINES_OF_CLIENT;
        if *lines < MAX_LINES && logged.get(&client).is_none_or(has_room) {
            let of_client = logged.entry(client).or_default();
            if of_client.insert((event, reason.to_owned())) {
                *lines += 1;
                return true;
            }
        }
        *omitted.entry(event).or_default() += 1;
        false
    }

    /// Logs the number of refusals that got no line, and begins the next period.
    fn end_period(&self) {
        let ended = std::mem::take(&mut *self.0.lock());
        for (of, count) in ended.omitted {
            security_event!("refusals_omitted", of, count, "more requests were refused in this minute");
        }
    }

    /// Ends periods while the service runs.
    pub(crate) async fn run(&self) {
        loop {
            tokio::time::sleep(PERIOD).await;
            self.end_period();
        }
    }
}

/// Returns a text that a client sent if it looks like an id or a URL without a query, and is no longer than these are.
/// Anything else may be a secret in the wrong place.
pub(crate) fn plain_id(text: String) -> String {
    const MAX_BYTES: usize = 200;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:/-".contains(&byte);
    if text.len() <= MAX_BYTES && text.bytes().all(is_plain) { text } else { "not shown".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::json::tests::Written;

    fn client(n: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, n])
    }

    #[test]
    fn a_client_gets_a_line_for_each_reason_and_no_more_than_ten() {
        let log = RefusalLog::default();
        let admitted = |n: u8, reason: &str| log.admits(Some(client(n)), "token_refused", reason);
        assert!(admitted(1, "a") && !admitted(1, "a") && admitted(1, "b") && admitted(2, "a"));
        assert!(log.admits(Some(client(1)), "access_refused", "a"), "another event");
        let lines = (0..1000).filter(|n| admitted(1, &n.to_string())).count();
        assert_eq!(lines, MAX_LINES_OF_CLIENT - 3);
        assert!(admitted(3, "a"), "others get theirs");
    }

    #[test]
    fn many_clients_get_a_hundred_lines_and_the_rest_is_counted() {
        let written = Written::default();
        let writer = written.clone();
        let subscriber = tracing_subscriber::fmt().json().with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(subscriber, || {
            let log = RefusalLog::default();
            let admitted = |n: u8| log.admits(Some(client(n)), "token_refused", "a");
            assert_eq!((0..=255).filter(|n| admitted(*n)).count(), MAX_LINES);
            assert!(log.0.lock().logged.len() <= MAX_LINES, "memory is limited too");
            log.end_period();
            assert!(admitted(0), "another period");
            log.end_period();
        });
        let lines = written.take();
        let lines: Vec<serde_json::Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
        let fields = &lines[0]["fields"];
        assert_eq!((&lines[0]["target"], &fields["event"]), (&"security".into(), &"refusals_omitted".into()));
        assert_eq!((&fields["of"], &fields["count"]), (&"token_refused".into(), &156.into()));
    }

    #[test]
    fn only_ids_are_shown() {
        for id in ["", "key-1", "https://login.example:8443/realms/drover", "2026.11_a"] {
            assert_eq!(plain_id(id.to_owned()), id);
        }
        for other in ["a b", "ann@farm.example", "https://x/?key=1", "a\n", "é", &"x".repeat(201)] {
            assert_eq!(plain_id(other.to_owned()), "not shown");
        }
    }
}
