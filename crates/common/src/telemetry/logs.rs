//! Logging as JSON or for terminals, with a level that can change while the service runs, and the first failure of
//! several in a row, for tasks that repeat.

use std::sync::OnceLock;
use std::{fmt, panic};

use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Compact, Format, FormatFields, JsonFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, layer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, reload};

use super::json::JsonFormat;
use crate::config::{Log, LogFormat};

static FILTER: OnceLock<reload::Handle<EnvFilter, Registry>> = OnceLock::new();

/// Directives that precede those of the settings. actix logs an error for each request that it cannot parse, which
/// `service::unparsed` logs instead, at `debug`. The security log does not depend on the level.
const DEFAULT_DIRECTIVES: &str = "actix_http::h1::dispatcher=off,security=info";

/// Starts logging to standard output. Only the first call in a process has an effect.
pub(crate) fn init(log: &Log) {
    let (filter, handle) = reload::Layer::new(filter(&log.level, ""));
    let lines = match log.format {
        LogFormat::Json => layer().fmt_fields(JsonFields::new()).event_format(JsonFormat::default()).boxed(),
        LogFormat::Pretty => layer().with_ansi(false).event_format(PrettyFormat::default()).boxed(),
    };
    if tracing_subscriber::registry().with(filter).with(lines).try_init().is_ok() {
        let _ = FILTER.set(handle);
        // Logs the place only, because the message of a panic may contain personal data.
        panic::set_hook(Box::new(|panic| {
            tracing::error!(at = panic.location().map(ToString::to_string), "panic");
        }));
    }
}

/// Replaces the level and the directives that are in force.
pub(crate) fn set_level(level: &str, directives: &str) {
    match FILTER.get().map(|handle| handle.reload(filter(level, directives))) {
        Some(Err(error)) => tracing::error!(%error, "the log level could not be changed"),
        Some(Ok(())) => tracing::debug!(level, "log level changed"),
        None => {}
    }
}

/// Returns whether the text is empty, `*`, or a list of tracing directives such as `logistics=debug,actix_web=warn`.
pub(crate) fn are_directives(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || text == "*" || EnvFilter::builder().parse(text).is_ok()
}

/// Builds the filter. Of several directives for a target the last one counts.
fn filter(level: &str, directives: &str) -> EnvFilter {
    let directives = directives.split(',').filter(|directive| directive.trim() != "*");
    let all: Vec<_> = [level, DEFAULT_DIRECTIVES].into_iter().chain(directives).collect();
    EnvFilter::builder().parse_lossy(all.join(","))
}

/// The compact format of tracing-subscriber with control characters escaped: every event is one line, and text from
/// clients or servers can neither start another line nor control the terminal.
pub(super) struct PrettyFormat(Format<Compact>);

impl Default for PrettyFormat {
    fn default() -> Self {
        Self(Format::default().compact())
    }
}

impl<S, N> FormatEvent<S, N> for PrettyFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut line: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut text = String::new();
        self.0.format_event(context, Writer::new(&mut text), event)?;
        for c in text.trim_end_matches('\n').chars() {
            // Some viewers break lines at line and paragraph separators.
            if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
                write!(line, "{}", c.escape_default())?;
            } else {
                line.write_char(c)?;
            }
        }
        line.write_char('\n')
    }
}

/// Whether the last run of a repeated task failed.
#[derive(Debug, Default)]
pub struct FailureStreak {
    failing: bool,
}

impl FailureStreak {
    /// Records a result. Returns the error if it is the first since the last success, and so is to be logged.
    pub fn first<'r, T, E>(&mut self, result: &'r Result<T, E>) -> Option<&'r E> {
        let was_failing = std::mem::replace(&mut self.failing, result.is_err());
        result.as_ref().err().filter(|_| !was_failing)
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::fmt;

    use super::*;
    use crate::telemetry::json::tests::Written;

    #[test]
    fn repeated_lines_of_libraries_are_logged_only_if_the_filter_names_them() {
        for directives in ["", "*", "common=trace", "actix_http=debug"] {
            let filter = filter("info", directives).to_string();
            assert!(filter.contains("actix_http::h1::dispatcher=off"), "{filter}");
        }
        let filter = filter("info", "actix_http::h1::dispatcher=error,hyper=warn").to_string();
        assert!(filter.contains("actix_http::h1::dispatcher=error"), "{filter}");
        assert!(filter.contains("hyper=warn") && !filter.contains("off"), "{filter}");
    }

    #[test]
    fn the_security_log_is_written_at_every_level_unless_the_filter_names_it() {
        for (level, directives, is_written) in
            [("off", "", true), ("error", "common=trace", true), ("info", "security=off", false)]
        {
            let written = Written::default();
            let writer = written.clone();
            let layer = fmt::layer().with_writer(move || writer.clone());
            let subscriber = tracing_subscriber::registry().with(filter(level, directives)).with(layer);
            tracing::subscriber::with_default(subscriber, || {
                crate::security_event!("settings_changed", "the settings were changed");
            });
            assert_eq!(written.take().contains("settings_changed"), is_written, "{level} {directives}");
        }
    }

    #[test]
    fn escapes_control_characters() {
        let written = Written::default();
        let writer = written.clone();
        let layer = fmt::fmt().with_ansi(false).event_format(PrettyFormat::default());
        tracing::subscriber::with_default(layer.with_writer(move || writer.clone()).finish(), || {
            let hostile = "a\r\nFORGED\u{1b}[31m\u{2028}b\u{85}\u{9b}c";
            let _span = tracing::error_span!("request", request_id = hostile, method = %hostile).entered();
            tracing::error!(error = %hostile, debug = ?hostile, text = hostile, "received {hostile}");
        });
        let text = written.take();
        assert_eq!(text.matches("FORGED").count(), 6, "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(
            text.ends_with('\n') && !text.trim_end().contains(|c: char| c.is_control() || c == '\u{2028}'),
            "{text}"
        );
    }

    #[test]
    fn the_first_failure_after_a_success_is_returned() {
        let mut streak = FailureStreak::default();
        let results = [Ok(()), Err(1), Err(2), Ok(()), Ok(()), Err(3), Err(4)];
        let first: Vec<_> = results.iter().filter_map(|result| streak.first(result)).collect();
        assert_eq!(first, [&1, &3]);
        assert_eq!(FailureStreak::default().first(&Err::<(), _>(5)), Some(&5), "also at the start");
    }
}
