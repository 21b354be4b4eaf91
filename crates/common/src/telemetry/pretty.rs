//! A log line for a person, which stays one line: whatever it tells of what clients or servers said, a terminal neither
//! begins another line for it nor obeys it.

use std::fmt;

use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Compact, Format, FormatFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent};
use tracing_subscriber::registry::LookupSpan;

/// tracing-subscriber's compact format, with its control characters escaped.
pub(super) struct OneLine(Format<Compact>);

impl Default for OneLine {
    fn default() -> Self {
        Self(Format::default().compact())
    }
}

impl<S, N> FormatEvent<S, N> for OneLine
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
            // Line and paragraph separators end a line in some viewers.
            if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
                write!(line, "{}", c.escape_default())?;
            } else {
                line.write_char(c)?;
            }
        }
        line.write_char('\n')
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::fmt;

    use super::super::json::tests::Written;
    use super::*;

    #[test]
    fn nothing_begins_another_line() {
        let written = Written::default();
        let writer = written.clone();
        let layer = fmt::fmt().with_ansi(false).event_format(OneLine::default());
        tracing::subscriber::with_default(layer.with_writer(move || writer.clone()).finish(), || {
            let hostile = "a\r\nFORGED\u{1b}[31m\u{2028}b\u{85}\u{9b}c";
            let _span = tracing::error_span!("request", request_id = hostile, method = %hostile).entered();
            tracing::error!(error = %hostile, debug = ?hostile, text = hostile, "told {hostile}");
        });
        let text = written.take();
        assert_eq!(text.matches("FORGED").count(), 6, "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(
            text.ends_with('\n') && !text.trim_end().contains(|c: char| c.is_control() || c == '\u{2028}'),
            "{text}"
        );
    }
}
